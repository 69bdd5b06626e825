//! A reverse proxy that follows the readiness of the instances behind it, as a load balancer does.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use futures::future::join_all;
use reqwest::Client;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How often the instances are asked: more often than every `http.shutdown_delay`.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// The header of a response that an instance owed: its number.
pub const BROKEN_BY: &str = "x-broken-by";
/// The timeout of a response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A running proxy; it stops when this value is dropped.
pub struct Proxy {
    pub address: SocketAddr,
    _running: DropGuard,
}

impl Proxy {
    pub fn before(instances: [SocketAddr; 2]) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (address, stopping) = (listener.local_addr().unwrap(), CancellationToken::new());
        let running = stopping.clone().drop_guard();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(stopping.run_until_cancelled(serve(listener, instances)));
        });
        Self { address, _running: running }
    }
}

async fn serve(listener: std::net::TcpListener, instances: [SocketAddr; 2]) {
    let balancer = Arc::new(Balancer {
        client: Client::builder().no_proxy().timeout(TIMEOUT).build().unwrap(),
        instances: instances.map(|address| Instance { address, is_ready: AtomicBool::new(true) }),
        turn: AtomicUsize::new(0),
    });
    let listener = tokio::net::TcpListener::from_std(listener).unwrap().tap_io(|stream| stream.set_nodelay(true).unwrap());
    let serving = axum::serve(listener, Router::new().fallback(pass).with_state(Arc::clone(&balancer))).into_future();
    let (served, ()) = tokio::join!(serving, balancer.follow_readiness());
    served.unwrap();
}

struct Balancer {
    client: Client,
    instances: [Instance; 2],
    turn: AtomicUsize,
}

struct Instance {
    address: SocketAddr,
    is_ready: AtomicBool,
}

impl Balancer {
    async fn follow_readiness(&self) {
        loop {
            join_all(self.instances.iter().map(async |instance| {
                let asking = self.client.get(format!("http://{}/readyz", instance.address)).timeout(PROBE_TIMEOUT).send();
                let is_ready = asking.await.is_ok_and(|answer| answer.status() == StatusCode::OK);
                instance.is_ready.store(is_ready, Ordering::Relaxed);
            }))
            .await;
            tokio::time::sleep(PROBE_INTERVAL).await;
        }
    }

    /// The instances that a request may be sent to, the one whose turn it is first.
    fn in_turn(&self) -> impl Iterator<Item = (usize, &Instance)> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let all = (0..self.instances.len()).map(move |next| (first + next) % self.instances.len());
        all.map(|number| (number, &self.instances[number])).filter(|(_, instance)| instance.is_ready.load(Ordering::Relaxed))
    }
}

/// Sends a request to an instance. One that cannot be connected to has not got it, so another one gets it; a request that was sent is not
/// repeated, because it may have had its effect.
async fn pass(State(balancer): State<Arc<Balancer>>, head: Parts, body: Bytes) -> Response {
    let (path, mut headers) = (head.uri.path_and_query().map_or("/", |path| path.as_str()), head.headers);
    headers.insert("x-forwarded-for", HeaderValue::from_static("198.51.100.7"));
    for (number, instance) in balancer.in_turn() {
        let url = format!("http://{}{path}", instance.address);
        let sending = balancer.client.request(head.method.clone(), url).headers(headers.clone()).body(body.clone()).send();
        match answer(sending.await).await {
            Ok(answer) => return answer,
            Err(error) if error.is_connect() => instance.is_ready.store(false, Ordering::Relaxed),
            Err(error) => return (StatusCode::BAD_GATEWAY, [(BROKEN_BY, number.to_string())], format!("{error:?}")).into_response(),
        }
    }
    (StatusCode::BAD_GATEWAY, "no instance can be connected to").into_response()
}

async fn answer(sent: reqwest::Result<reqwest::Response>) -> reqwest::Result<Response> {
    let mut sent = sent?;
    let (status, headers): (_, HeaderMap) = (sent.status(), std::mem::take(sent.headers_mut()));
    let mut answer = Response::new(Body::from(sent.bytes().await?));
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    answer.headers_mut().remove(header::TRANSFER_ENCODING);
    Ok(answer)
}
