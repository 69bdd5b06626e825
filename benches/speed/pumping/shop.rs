//! A shop with its service in this process, whose clock is moved.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use chrono::{DateTime, TimeDelta};
use portico::app::{self, AppState, Dependencies, Process};
use portico::callers::Caller;
use portico::companies;
use portico::config::Config;
use portico::dev::postgres::PrivatePostgres;
use portico::kernel::clock::Clock;
use portico::kernel::crypto::ApplicationKey;
use portico::kernel::database::{Limits, Pool};
use portico::kernel::lifecycle::Lifecycle;
use portico::kernel::migrations;
use portico::kernel::password_hashing::PasswordHashing;
use portico::providers::mailbox::Mailbox;
use portico::resources::{Line, operations};
use portico::storefront::{self, StoreBody, StoreRecord, Stores};
use portico::webhooks::Resolver;
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor};
use tower::ServiceExt;

static POSTGRES: OnceLock<PrivatePostgres> = OnceLock::new();
static SHOPS: AtomicU32 = AtomicU32::new(0);
/// A midnight.
const BEGINNING: i64 = 1_779_321_600;

pub struct Shop {
    router: Router,
    state: AppState,
    clock: Clock,
    mailbox: Mailbox,
    pool: Pool,
    lifecycle: Lifecycle,
    key: String,
}

impl Shop {
    /// Opens a shop that may send so many texts a day, on a database of its own.
    pub async fn open(budget: u32) -> Self {
        let pool = pool(&database().await);
        let clock = Clock::standing_at(DateTime::from_timestamp(BEGINNING, 0).unwrap());
        let company = companies::create_company(&mut pool.acquire().await.unwrap(), "Acme", clock.now()).await.unwrap();
        let caller = Caller::command_line(company);
        let stores = Stores::new(pool.clone(), clock.clone());
        let body = StoreBody::named(Line::try_from("Acme Shop".to_owned()).unwrap());
        let store = operations::create::<StoreRecord>(&stores, &caller, body).await.unwrap().record.id;
        let (_, key) =
            storefront::create_store_key(&mut pool.acquire().await.unwrap(), &caller, store, clock.now()).await.unwrap().unwrap();
        // Everything else is as in a new store, of which a country can have all texts.
        let limits = format!("update stores set texts_per_day = {budget}, texts_per_country_and_day = {budget}");
        pool.execute(AssertSqlSafe(limits)).await.unwrap();

        let config = Config::with(&[("environment", "development"), ("log.access", "false")]).unwrap();
        let (mailbox, lifecycle) = (Mailbox::default(), Lifecycle::default());
        let dependencies = Dependencies {
            clock: clock.clone(),
            application_key: ApplicationKey::parse(&ApplicationKey::generate()).unwrap(),
            resolver: Resolver::fixed(),
            hashing: PasswordHashing::with_threads(const { std::num::NonZeroUsize::new(1).unwrap() }),
            lifecycle: lifecycle.clone(),
            mailbox: Some(mailbox.clone()),
        };
        let state = AppState::new(&Process::new(&config, dependencies).unwrap(), pool.clone());
        let router = app::router(state.clone(), &config);
        Self { router, state, clock, mailbox, pool, lifecycle, key: format!("Bearer {}", key.reveal()) }
    }

    /// Moves the clock on.
    pub fn pass(&self, seconds: f64) {
        self.clock.advance(TimeDelta::milliseconds((seconds * 1_000.0) as i64));
    }

    /// What the service does about once a minute.
    pub async fn sweep(&self) {
        self.state.sweep().await.unwrap();
    }

    pub async fn close(self) {
        self.lifecycle.stop().await;
        self.pool.close().await;
    }

    /// Whether somebody who asks to be registered is texted.
    pub async fn ask_to_register(&self, number: &str, address: &str) -> bool {
        self.post("request-creation-code", address, &json!({ "mode": "sms", "identity": number })).await == 200
    }

    /// Whether a customer who asks to sign in is texted.
    pub async fn ask_to_sign_in(&self, number: &str, address: &str) -> bool {
        self.post("login-with-sms", address, &json!({ "phone": number })).await == 200
    }

    /// Opens an account with the code of the last text to the number.
    pub async fn use_code(&self, number: &str, address: &str) {
        let code = self.mailbox.messages().into_iter().find(|text| text.to == number).and_then(|text| text.code);
        // The mailbox keeps the latest only, which is enough for a minute.
        let Some(code) = code else { return };
        self.post("", address, &json!({ "name": "Ada", "identity": number, "code": code })).await;
    }

    async fn post(&self, path: &str, address: &str, body: &serde_json::Value) -> u16 {
        let peer: SocketAddr = format!("{address}:40000").parse().unwrap();
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        let request = Request::post(format!("/storefront/v1/customers{path}"))
            .header("authorization", &self.key)
            .header("content-type", "application/json")
            .header("host", "shop.test")
            .extension(ConnectInfo(peer))
            .body(Body::from(body.to_string()))
            .unwrap();
        self.router.clone().oneshot(request).await.unwrap().status().as_u16()
    }
}

/// The URL of a new database.
async fn database() -> String {
    let postgres = POSTGRES.get_or_init(|| PrivatePostgres::start_temporary(100).unwrap());
    let (number, first) = (SHOPS.fetch_add(1, Ordering::Relaxed), pool(&postgres.url("postgres")));
    if number == 0 {
        first.execute("create database migrated").await.unwrap();
        let migrated = pool(&postgres.url("migrated"));
        migrations::apply(&migrated).await.unwrap();
        migrated.close().await;
    }
    first.execute(AssertSqlSafe(format!("create database shop_{number} template migrated"))).await.unwrap();
    first.close().await;
    postgres.url(&format!("shop_{number}"))
}

fn pool(url: &str) -> Pool {
    let time = Duration::from_secs(60);
    Pool::new(url.parse().unwrap(), Limits { connections: 8, acquire_timeout: time, statement_timeout: time })
}
