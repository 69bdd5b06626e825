//! A webhook receiver: HTTPS on loopback, one thread, minimal work per delivery.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use portico::dev::authority::Authority;
use portico::kernel::clock::Clock;

use super::service::Service;

/// How an endpoint responds.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    AtOnce,
    After(Duration),
    /// With a body of this many MiB.
    Long(usize),
}

/// A running receiver; it stops when this value is dropped.
pub struct Sink {
    /// The URLs of its endpoints.
    pub urls: Vec<String>,
    received: Arc<Mutex<Received>>,
    stop: Handle<SocketAddr>,
}

/// What has arrived.
#[derive(Default)]
pub struct Received {
    /// What is noted of every delivery, usually its `webhook-id`, and when its headers and body were complete.
    pub arrivals: Vec<(String, Instant)>,
    /// The headers and body of the first delivery.
    pub first: Option<(HeaderMap, Bytes)>,
}

/// How long to wait for another arrival after the last one.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Sink {
    /// Opens this many endpoints, which respond at once.
    pub fn open(service: &Service, endpoints: usize) -> Self {
        Self::answering(service, &vec![Answer::AtOnce; endpoints])
    }

    /// Opens endpoints that respond in different ways.
    pub fn answering(service: &Service, answers: &[Answer]) -> Self {
        Self::noting(service, answers, |headers, _| {
            headers.get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned()
        })
    }

    /// Opens endpoints, each on its own port, with certificates that the service trusts. Of every delivery, they note what `mark` says.
    pub fn noting(service: &Service, answers: &[Answer], mark: fn(&HeaderMap, &[u8]) -> String) -> Self {
        let authority = Authority::open(service.directory()).unwrap();
        let issued = authority.issue(&["localhost", "127.0.0.1", "::1"], Clock::System.now()).unwrap();
        let listeners: Vec<_> = answers.iter().map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
        let answers = answers.to_vec();
        let urls = listeners.iter().map(|listener| format!("https://localhost:{}/", listener.local_addr().unwrap().port())).collect();
        let this = Self { urls, received: Arc::default(), stop: Handle::new() };
        let (received, stop) = (Arc::clone(&this.received), this.stop.clone());
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let tls = RustlsConfig::from_pem(issued.chain_pem.into(), issued.key_pem.into()).await.unwrap();
                let serving = listeners.into_iter().zip(answers).map(|(listener, answer)| {
                    listener.set_nonblocking(true).unwrap();
                    let routes = Router::new().fallback(receive).with_state((Arc::clone(&received), answer, mark));
                    let tls = RustlsAcceptor::new(tls.clone()).acceptor(NoDelayAcceptor::new());
                    let server = axum_server::from_tcp(listener).unwrap().acceptor(tls);
                    server.handle(stop.clone()).serve(routes.into_make_service())
                });
                futures::future::join_all(serving).await;
            });
        });
        this
    }

    /// What has arrived so far.
    pub fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap()
    }

    /// Waits until `count` deliveries have arrived.
    pub fn await_arrivals(&self, count: usize) {
        let (mut seen, mut since) = (0, Instant::now());
        while seen < count {
            thread::sleep(Duration::from_millis(2));
            let now = self.received().arrivals.len();
            if now > seen {
                (seen, since) = (now, Instant::now());
            }
            assert!(since.elapsed() < TIMEOUT, "{seen} of {count} deliveries have arrived");
        }
    }

    /// Clears the arrivals.
    pub fn forget(&self) {
        *self.received() = Received::default();
    }

    /// The arrival time of each event by id; the first one if an event arrived repeatedly.
    pub fn arrivals(&self) -> HashMap<String, Instant> {
        let mut arrivals = HashMap::new();
        for (id, at) in &self.received().arrivals {
            arrivals.entry(id.clone()).or_insert(*at);
        }
        arrivals
    }

    /// The times of the first and the last arrival.
    pub fn span(&self) -> (Instant, Instant) {
        let received = self.received();
        let times = || received.arrivals.iter().map(|(_, at)| *at);
        (times().min().unwrap(), times().max().unwrap())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.stop.shutdown();
    }
}

/// What an endpoint needs to receive a delivery.
type Receiving = (Arc<Mutex<Received>>, Answer, fn(&HeaderMap, &[u8]) -> String);

async fn receive(State((received, answer, mark)): State<Receiving>, headers: HeaderMap, body: Bytes) -> Body {
    let (at, mark) = (Instant::now(), mark(&headers, &body));
    {
        let mut received = received.lock().unwrap();
        received.arrivals.push((mark, at));
        received.first.get_or_insert((headers, body));
    }
    match answer {
        Answer::AtOnce => Body::empty(),
        Answer::After(wait) => {
            tokio::time::sleep(wait).await;
            Body::empty()
        }
        Answer::Long(mebibytes) => {
            let chunk = Bytes::from(vec![b'x'; 1 << 20]);
            Body::from_stream(futures::stream::iter((0..mebibytes).map(move |_| Ok::<_, Infallible>(chunk.clone()))))
        }
    }
}
