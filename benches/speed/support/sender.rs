//! The bare sender: the service's HTTP client, posting equal bytes to the same endpoints without a database. This is the upper
//! limit for deliveries.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::HeaderMap;
use reqwest::{Certificate, Client};

use super::service::Service;
use super::sink::Sink;

/// Posts `count` requests with these headers and body, with `at_once` in flight per endpoint of `sink`; returns the rate.
pub fn requests_per_second(service: &Service, sink: &Sink, count: usize, at_once: usize, (headers, body): (HeaderMap, Bytes)) -> f64 {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let authority = std::fs::read(&service.demo.authority).unwrap();
    runtime.block_on(async {
        let client = Client::builder()
            .https_only(true)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(Duration::from_secs(5))
            .tls_certs_merge(Certificate::from_pem_bundle(&authority).unwrap())
            .build()
            .unwrap();
        let (sent, begin) = (AtomicUsize::new(0), Instant::now());
        let sent = std::sync::Arc::new(sent);
        let senders: Vec<_> = (0..at_once * sink.urls.len())
            .map(|number| {
                let (client, sent, url) = (client.clone(), std::sync::Arc::clone(&sent), sink.urls[number % sink.urls.len()].clone());
                let (headers, body) = (headers.clone(), body.clone());
                runtime.spawn(async move {
                    while sent.fetch_add(1, Ordering::Relaxed) < count {
                        let answer = client.post(&url).headers(headers.clone()).body(body.clone()).send().await.unwrap();
                        assert!(answer.status().is_success());
                        answer.bytes().await.unwrap();
                    }
                })
            })
            .collect();
        for sender in senders {
            sender.await.unwrap();
        }
        count as f64 / begin.elapsed().as_secs_f64()
    })
}
