//! The instances of one version are replaced by those of the next, under load: reliability, "Versions follow each other".

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::join_all;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::database;
use crate::support::program::{Program, Service};
use crate::support::receiver::{Receiver, authority, event_ids};
use crate::support::skipping::skipped;
use crate::support::waiting::until;

/// Clients that each send one request after the other.
const CLIENTS: usize = 4;
/// How often each of them does so between two steps of the upgrade.
const SOME: usize = 5;

/// The program of the previous edition, as `.ci/previous-edition` builds it.
fn previous_edition() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let program = target.join("previous-edition/portico");
    program.exists().then_some(program)
}

#[tokio::test]
async fn while_instances_are_replaced_by_those_of_the_next_version_no_request_fails_and_no_delivery_is_lost() {
    let Some(previous) = previous_edition().map(Program::at) else {
        skipped("the program of the previous edition is not there, see .ci/previous-edition");
        return;
    };
    let (next, database) = (Program::this(), database::empty().await);
    let receiver = Receiver::start("localhost", Some("localhost")).await;
    let settings = [
        ("database.url", database.as_str()),
        ("storefront.requests_per_minute", "100000"),
        ("http.trusted_proxies", "127.0.0.0/8"),
        ("webhooks.allowed_networks", "127.0.0.0/8"),
        ("webhooks.extra_root_certificates", authority().certificate_path().to_str().unwrap()),
    ];
    previous.printed(&["migrate"], &settings).await;
    let made = async |arguments: &[&str], kind: &str, member: &str| {
        let printed = previous.printed(&[arguments, &["--json"]].concat(), &settings).await;
        serde_json::from_str::<Value>(&printed).unwrap()[kind][member].as_str().unwrap().to_owned()
    };
    let company = made(&["company", "create", "My Shop"], "company", "id").await;
    let store = made(&["store", "create", "My Shop", "--company", &company], "store", "id").await;
    let store_key = made(&["key", "create", "--store", &store], "key", "key").await;
    let api_key = made(&["key", "create", "--company", &company, "--scopes", "admin,events,read,write"], "key", "key").await;

    let mut old = Service::start_of(&previous, &[], &settings).await;
    let shop = Shop {
        instances: Arc::new(Mutex::new(vec![old.address])),
        client: Client::builder().no_proxy().build().unwrap(),
        store_key,
        api_key,
        rounds: Default::default(),
    };
    let webhook = json!({ "url": receiver.url(), "events": ["driver.online"] });
    shop.succeeds(201, |shop| shop.developers(Method::POST, "webhooks").json(&webhook)).await;
    let types = shop.succeeds(200, |shop| shop.developers(Method::GET, "event-types")).await;
    let of_drivers = types["event_types"].as_array().unwrap().iter().find(|kind| kind["name"] == "driver.online").unwrap();
    let event = json!({ "event": "driver.online", "data": of_drivers["sample"]["data"] });

    let done = CancellationToken::new();
    let upgrade = async {
        shop.goes_on().await;
        next.printed(&["migrate"], &settings).await;
        shop.goes_on().await;
        let new = Service::start_of(&next, &[], &settings).await;
        shop.instances.lock().unwrap().push(new.address);
        shop.goes_on().await;
        // As a proxy does: nothing new for an instance that is about to end.
        shop.instances.lock().unwrap().retain(|address| *address == new.address);
        shop.goes_on().await;
        assert!(old.terminate().await, "{}", old.log());
        shop.goes_on().await;
        done.cancel();
        new
    };
    let clients = join_all((0..CLIENTS).map(|client| shop.buys(client, &event, &done)));
    let (mut new, published) = tokio::join!(upgrade, clients);
    let published: BTreeSet<_> = published.into_iter().flatten().collect();
    assert!(published.len() > CLIENTS);
    until("everything is delivered", async || event_ids(&receiver.received()) == published).await;
    assert!(new.terminate().await, "{}", new.log());
}

/// The customers and the systems of a shop, and the proxy before the instances.
struct Shop {
    instances: Arc<Mutex<Vec<SocketAddr>>>,
    client: Client,
    store_key: String,
    api_key: String,
    /// How often each client has done everything.
    rounds: [AtomicUsize; CLIENTS],
}

impl Shop {
    /// A request to one of the instances, in turns.
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut instances = self.instances.lock().unwrap();
        instances.rotate_left(1);
        self.client.request(method, format!("http://{}{path}", instances[0]))
    }

    /// Waits until every client has done everything some more times.
    async fn goes_on(&self) {
        let rounds = || self.rounds.iter().map(|rounds| rounds.load(Ordering::Relaxed));
        let enough: Vec<_> = rounds().map(|rounds| rounds + SOME).collect();
        until("every client goes on", async || rounds().zip(&enough).all(|(rounds, enough)| rounds >= *enough)).await;
    }

    fn developers(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, &format!("/developers/int/v1/{path}")).bearer_auth(&self.api_key)
    }

    async fn succeeds(&self, status: u16, request: impl Fn(&Self) -> RequestBuilder) -> Value {
        let answer = request(self).send().await.unwrap();
        let (given, url, body) = (answer.status().as_u16(), answer.url().clone(), answer.text().await.unwrap());
        assert_eq!(given, status, "{url}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Publishes, reads and tries to sign in until it is told to stop; returns the ids of the events.
    async fn buys(&self, client: usize, event: &Value, done: &CancellationToken) -> Vec<String> {
        let mut published = Vec::new();
        while !done.is_cancelled() {
            let answer = self.succeeds(201, |shop| shop.developers(Method::POST, "events").json(event)).await;
            published.push(answer["event"]["id"].as_str().unwrap().to_owned());
            self.succeeds(200, |shop| shop.developers(Method::GET, "deliveries?limit=1")).await;
            // Nobody has this address, which takes as long to find out as for somebody.
            let nobody = json!({ "identity": format!("{}@example.com", published.len()), "password": "wrong password" });
            let network = published.len().to_be_bytes();
            let address = format!("10.{client}.{}.{}", network[6], network[7]);
            let sign_in = |shop: &Self| shop.request(Method::POST, "/storefront/v1/customers/login").bearer_auth(&shop.store_key);
            self.succeeds(401, |shop| sign_in(shop).header("x-forwarded-for", &address).json(&nobody)).await;
            self.rounds[client].fetch_add(1, Ordering::Relaxed);
        }
        published
    }
}
