//! The floor of the latency of a delivery: what has to happen one after the other whoever delivers. A row is made durable, and then a
//! request is posted on a connection that is kept alive.

use std::thread::sleep;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use reqwest::{Certificate, Client};
use tokio::runtime::Runtime;

use super::database::Database;
use super::service::Service;
use super::sink::Sink;

/// Inserts and posts this body at a fixed rate; returns the times until the receiver had it, shortest first.
pub fn times(service: &Service, sink: &Sink, body: &Bytes, per_second: u32, time: Duration) -> Vec<Duration> {
    let mut database = Database::of(service);
    database.execute("create table if not exists floor (id bigint generated always as identity primary key, body bytea not null)");
    let runtime = Runtime::new().unwrap();
    let authority = Certificate::from_pem_bundle(&std::fs::read(&service.demo.authority).unwrap()).unwrap();
    let client = Client::builder().https_only(true).no_proxy().tls_certs_merge(authority).build().unwrap();
    let (pause, begin, mut next, mut sent) = (Duration::from_secs(1) / per_second, Instant::now(), Instant::now(), Vec::new());
    while next < begin + time {
        sleep(next.saturating_duration_since(Instant::now()));
        let (id, at) = (format!("floor_{per_second}_{}", sent.len()), Instant::now());
        database.with(async |conn| {
            sqlx::query("insert into floor (body) values ($1)").bind(&body[..]).execute(conn).await.unwrap();
        });
        let post = client.post(&sink.urls[0]).header("webhook-id", &id).body(body.clone());
        let answer = runtime.block_on(async { post.send().await.unwrap() });
        assert!(answer.status().is_success());
        sent.push((id, at));
        next += pause;
    }
    let arrivals = sink.arrivals();
    let mut times: Vec<_> = sent.iter().map(|(id, at)| arrivals[id].saturating_duration_since(*at)).collect();
    times.sort_unstable();
    times
}
