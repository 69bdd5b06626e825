//! Instances are replaced one after the other behind a proxy that follows their readiness: reliability, "An instance starts or stops".

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use portico::kernel::lifecycle::Lifecycle;
use reqwest::Client;
use serde_json::json;
use tokio::time::sleep;

use crate::support::World;
use crate::support::program::Service;
use crate::support::waiting::until;

/// How often the proxy asks. It sends requests elsewhere after one failure.
const PROBE_INTERVAL: Duration = Duration::from_millis(200);
/// The clients that send one request after the other.
const CLIENTS: usize = 8;

/// What a proxy knows of the instances behind it.
#[derive(Default)]
struct Proxy {
    instances: Mutex<Vec<SocketAddr>>,
    ready: Mutex<Vec<SocketAddr>>,
    turn: AtomicUsize,
    done: AtomicBool,
}

impl Proxy {
    /// Follows the readiness of one instance until it is removed. Each is asked by itself: one that takes long hides nothing of another one.
    async fn follow_readiness(self: Arc<Self>, instance: SocketAddr) {
        let http = Client::builder().no_proxy().build().unwrap();
        while self.instances.lock().unwrap().contains(&instance) {
            let answer = http.get(format!("http://{instance}/readyz")).send().await;
            self.note(instance, answer.is_ok_and(|answer| answer.status() == 200));
            sleep(PROBE_INTERVAL).await;
        }
    }

    fn note(&self, instance: SocketAddr, is_ready: bool) {
        let mut ready = self.ready.lock().unwrap();
        ready.retain(|other| *other != instance);
        if is_ready {
            ready.push(instance);
        }
    }

    fn next(&self) -> Option<SocketAddr> {
        let ready = self.ready.lock().unwrap();
        ready.get(self.turn.fetch_add(1, Ordering::Relaxed) % ready.len().max(1)).copied()
    }

    async fn is_sent_to(&self, instance: SocketAddr) {
        until("the proxy sends requests to an instance", async || self.ready.lock().unwrap().contains(&instance)).await;
    }
}

/// Publishes until the proxy is done. Returns how many were acknowledged, and what failed.
async fn publish(proxy: Arc<Proxy>, key: String, body: serde_json::Value) -> (i64, Vec<String>) {
    let http = Client::builder().no_proxy().build().unwrap();
    let (mut acknowledged, mut failures) = (0, Vec::new());
    while !proxy.done.load(Ordering::Relaxed) {
        let Some(instance) = proxy.next() else {
            failures.push("no instance is ready".to_owned());
            sleep(PROBE_INTERVAL).await;
            continue;
        };
        let request = http.post(format!("http://{instance}/developers/int/v1/events")).bearer_auth(&key).json(&body);
        match request.send().await {
            Ok(answer) if answer.status() == 201 => acknowledged += 1,
            Ok(answer) => failures.push(answer.status().to_string()),
            Err(error) => failures.push(format!("{error:?}")),
        }
        sleep(Duration::from_millis(5)).await;
    }
    (acknowledged, failures)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_instances_are_replaced_behind_a_proxy_that_follows_their_readiness() {
    let world = World::new().await;
    let settings = [("database.url", world.database.as_str()), ("http.shutdown_delay", "5s")];
    let (proxy, following) = (Arc::<Proxy>::default(), Lifecycle::default());
    let start = async || {
        let service = Service::start(&settings).await;
        proxy.instances.lock().unwrap().push(service.address);
        following.spawn(Arc::clone(&proxy).follow_readiness(service.address));
        proxy.is_sent_to(service.address).await;
        service
    };
    let sample = &world.state.developers.catalogue.find("driver.online").unwrap().sample;
    let body = json!({ "event": "driver.online", "data": sample });
    let mut instances = [start().await, start().await];
    let clients = (0..CLIENTS).map(|_| publish(Arc::clone(&proxy), world.api_key.clone(), body.clone()));
    let replacing = async {
        for instance in &mut instances {
            let mut former = std::mem::replace(instance, start().await);
            assert!(former.terminate().await, "{}", former.log());
            proxy.instances.lock().unwrap().retain(|instance| *instance != former.address);
        }
        proxy.done.store(true, Ordering::Relaxed);
    };
    let (answers, ()) = tokio::join!(join_all(clients), replacing);
    let failures: Vec<_> = answers.iter().flat_map(|(_, failures)| failures).collect();
    let acknowledged: i64 = answers.iter().map(|(acknowledged, _)| acknowledged).sum();
    assert!(failures.is_empty() && acknowledged > 100, "{acknowledged} were acknowledged, and these failed: {failures:?}");
    assert_eq!(world.count("select count(*) from events where name = 'driver.online'").await, acknowledged);
}
