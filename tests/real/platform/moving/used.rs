//! A company is moved by the command while everybody uses it: customers sign in, its systems publish and create orders, and a subscriber
//! gets the events.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use portico::kernel::crypto::ApplicationKey;
use portico::kernel::ids::OrderId;
use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tokio::time::sleep;

use crate::support::customers::{EMAIL, MOVED_HASH, MOVED_PASSWORD};
use crate::support::database;
use crate::support::program::{Service, printed};
use crate::support::receiver::{Receiver, authority, event_ids};

/// What each client has done at least when it stops.
const AT_LEAST: usize = 20;

/// The shop that uses its company.
struct Shop {
    client: Client,
    address: String,
    api_key: String,
    is_moving: AtomicBool,
    had_to_wait: AtomicBool,
}

impl Shop {
    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.address)).bearer_auth(&self.api_key).json(body)
    }

    /// Sends a request again while it is told that the company moves.
    async fn succeeds(&self, request: RequestBuilder) -> Value {
        loop {
            let answer = request.try_clone().unwrap().send().await.unwrap();
            let (status, waits) = (answer.status(), answer.headers().contains_key("retry-after"));
            let body: Value = answer.json().await.unwrap();
            if status.is_success() {
                return body;
            }
            assert_eq!((status, &body["code"], waits), (StatusCode::SERVICE_UNAVAILABLE, &json!("company_moving"), true), "{body}");
            self.had_to_wait.store(true, Ordering::Relaxed);
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// What is acknowledged until the company has moved.
    async fn until_it_has_moved(&self, mut act: impl AsyncFnMut(usize) -> String) -> Vec<String> {
        let mut acknowledged = Vec::new();
        while self.is_moving.load(Ordering::Relaxed) || acknowledged.len() < AT_LEAST {
            acknowledged.push(act(acknowledged.len()).await);
        }
        acknowledged
    }
}

#[tokio::test]
async fn nothing_that_was_acknowledged_is_lost_or_sent_twice_while_a_company_moves() {
    let (first, second, key) = (database::fresh().await, database::fresh().await, ApplicationKey::generate());
    let receiver = Receiver::start("localhost", Some("localhost")).await;
    let settings = [
        ("database.url", first.as_str()),
        ("database.cells.b.url", &second),
        ("application_key", key.expose_secret()),
        ("storefront.requests_per_minute", "100000"),
        ("http.trusted_proxies", "127.0.0.0/8"),
        ("webhooks.allowed_networks", "127.0.0.0/8"),
        ("webhooks.extra_root_certificates", authority().certificate_path().to_str().unwrap()),
    ];
    printed(&["migrate"], &settings).await;
    let made = async |arguments: &[&str], kind: &str, member: &str| {
        let printed = printed(&[arguments, &["--cell", "main", "--json"]].concat(), &settings).await;
        serde_json::from_str::<Value>(&printed).unwrap()[kind][member].as_str().unwrap().to_owned()
    };
    let company = made(&["company", "create", "Shop"], "company", "id").await;
    let store = made(&["store", "create", "Shop", "--company", &company], "store", "id").await;
    let store_key = made(&["key", "create", "--store", &store], "key", "key").await;
    let api_key = made(&["key", "create", "--company", &company, "--scopes", "admin,events,read,write"], "key", "key").await;
    let mut service = Service::start_with(&[], &settings).await;
    let shop = Shop {
        client: Client::builder().no_proxy().build().unwrap(),
        address: format!("http://{}", service.address),
        api_key,
        is_moving: AtomicBool::new(true),
        had_to_wait: AtomicBool::new(false),
    };
    let webhook = json!({ "url": receiver.url(), "events": ["driver.online", "order.created"] });
    shop.succeeds(shop.post("/developers/int/v1/webhooks", &webhook)).await;
    let types = shop.client.get(format!("{}/developers/int/v1/event-types", shop.address)).bearer_auth(&shop.api_key);
    let types = shop.succeeds(types).await;
    let online = types["event_types"].as_array().unwrap().iter().find(|kind| kind["name"] == "driver.online").unwrap();
    let online = json!({ "event": "driver.online", "data": online["sample"]["data"] });
    let customer = json!({ "external_id": "17", "email": EMAIL, "password_hash": MOVED_HASH }).to_string();
    let import = shop.client.post(format!("{}/storefront/int/v1/customers/import?store={store}", shop.address));
    let import = import.bearer_auth(&shop.api_key).header("content-type", "application/x-ndjson").body(customer);
    let imported = shop.succeeds(import).await;
    assert_eq!(imported["import"]["created"], 1, "{imported}");

    let id = |answer: &Value, kind: &str| answer[kind]["id"].as_str().unwrap().to_owned();
    let orders = async |number: usize| {
        let order = json!({ "notes": number.to_string() });
        id(&shop.succeeds(shop.post("/fleet/int/v1/orders", &order)).await, "order")
    };
    let publishes = async |_| id(&shop.succeeds(shop.post("/developers/int/v1/events", &online)).await, "event");
    let signs_in = async |number: usize| {
        let login = shop.client.post(format!("{}/storefront/v1/customers/login", shop.address)).bearer_auth(&store_key);
        let login = login.header("x-forwarded-for", format!("10.0.{}.{}", number / 250, number % 250));
        let login = login.json(&json!({ "identity": EMAIL, "password": MOVED_PASSWORD }));
        shop.succeeds(login).await["token"].as_str().unwrap().to_owned()
    };
    let moves = async {
        receiver.waits_for(AT_LEAST).await;
        printed(&["company", "move", "Shop", "--to", "b", "--grace", "0"], &settings).await;
        shop.is_moving.store(false, Ordering::Relaxed);
    };
    let (ordered, ordered_too, published, tokens, ()) = futures::join!(
        shop.until_it_has_moved(orders),
        shop.until_it_has_moved(orders),
        shop.until_it_has_moved(publishes),
        shop.until_it_has_moved(signs_in),
        moves
    );
    assert!(shop.had_to_wait.load(Ordering::Relaxed));

    // Every token works, and every event has arrived, once.
    for token in &tokens {
        let me = shop.client.get(format!("{}/storefront/v1/customers/me", shop.address)).bearer_auth(&store_key);
        let me = shop.succeeds(me.header("customer-token", token)).await;
        assert_eq!(me["email"], EMAIL, "{me}");
    }
    let (pool_a, pool_b) = (database::pool(&first), database::pool(&second));
    let orders: Vec<OrderId> = sqlx::query_scalar("select id from orders").fetch_all(&pool_b).await.unwrap();
    let orders: BTreeSet<_> = orders.iter().map(ToString::to_string).collect();
    assert_eq!(orders, [ordered, ordered_too].concat().into_iter().collect(), "those that were acknowledged, and no other");
    receiver.waits_for(orders.len() + published.len()).await;
    assert!(service.terminate().await, "{}", service.log());
    let posts = receiver.received();
    let arrived = event_ids(&posts);
    assert_eq!(posts.len(), arrived.len(), "an event was sent twice");
    assert!(published.iter().all(|event| arrived.contains(event)));
    assert_eq!(arrived.len(), orders.len() + published.len());

    // The old cell has nothing left, and in the new one the feed goes on without a gap.
    for table in ["orders", "customers", "customer_tokens", "events", "outbox", "waiting", "in_flight", "deliveries", "feed", "companies"] {
        let left: i64 = sqlx::query_scalar(AssertSqlSafe(format!("select count(*) from {table}"))).fetch_one(&pool_a).await.unwrap();
        assert_eq!(left, 0, "{table}");
    }
    let (numbers, last): (i64, i64) =
        sqlx::query_as("select count(distinct number), max(number) from feed").fetch_one(&pool_b).await.unwrap();
    assert_eq!(numbers, last, "the feed has no gap");
}
