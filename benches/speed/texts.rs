//! Texts: how many per second one store sends through a provider that answers over HTTP. All of them are of one store, so they share its
//! budget and are judged in the same groups.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use serde_json::json;

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::{address_of, request};
use crate::support::customers;
use crate::support::database::Database;
use crate::support::load::load;
use crate::support::service::Service;

const CALLERS: usize = 48;
/// How long texts are sent before. The statistics of tables are made then, as PostgreSQL does by itself within a minute: until then, statements
/// are planned for tables that were empty.
const WARM_UP: u64 = 2;
/// Each asks once: a number gets one text in thirty seconds.
const CUSTOMERS: usize = 60_000;

pub fn measure(figures: &mut Figures) {
    let taken = Arc::new(AtomicU32::new(0));
    let provider = format!("http://{}", answer_texts(Arc::clone(&taken)));
    let service = Service::start(&[
        ("PORTICO_SMS__PROVIDERS", "twilio"),
        ("PORTICO_SMS__TWILIO__BASE_URL", &provider),
        ("PORTICO_SMS__TWILIO__ACCOUNT_SID", "AC0"),
        ("PORTICO_SMS__TWILIO__AUTH_TOKEN", "token"),
        ("PORTICO_SMS__TWILIO__FROM", "+15005550006"),
    ]);
    customers::insert(&service, CUSTOMERS, None);
    Database::of(&service).execute("update stores set texts_per_day = 1000000, texts_per_country_and_day = 1000000");
    let key = service.store_key();
    let ask = |caller: usize, turn: usize| {
        let number = (caller + turn * CALLERS) % CUSTOMERS;
        let headers = [("authorization", key.as_str()), ("x-forwarded-for", &address_of(number))];
        request("POST", "/storefront/v1/customers/login-with-sms", &headers, &json!({ "phone": customers::phone(number) }).to_string())
    };
    let earlier = load(service.address, CALLERS, figures.time(WARM_UP), &[200], ask).count();
    Database::of(&service).execute("analyze");
    taken.store(0, Ordering::Relaxed);
    let asked = load(service.address, CALLERS, figures.time(20), &[200], |caller, turn| ask(caller, earlier / CALLERS + 100 + turn));
    let (p50, p99) = (millis(asked.percentile(0.50)), millis(asked.percentile(0.99)));
    let parts =
        format!("{CALLERS} callers, {} texts arrived at the provider; p50 {p50:.1} ms, p99 {p99:.1} ms", taken.load(Ordering::Relaxed));
    figures.show("texts, of one store per second", asked.per_second, Aim::AtLeast(1_000.0), &parts);
}

/// A stand-in provider that takes every text at once, and counts them.
fn answer_texts(taken: Arc<AtomicU32>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let take = move || {
                taken.fetch_add(1, Ordering::Relaxed);
                async { (StatusCode::CREATED, r#"{"sid":"SM0","status":"queued","error_code":null}"#) }
            };
            let router = Router::new().route("/2010-04-01/Accounts/AC0/Messages.json", post(take));
            axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await.unwrap();
        });
    });
    address
}
