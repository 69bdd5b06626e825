//! What a company may ask for at the same time and in a minute, with its API keys.

use std::collections::BTreeSet;
use std::future::ready;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::future::{join, join_all};
use futures::stream::FuturesUnordered;
use portico::callers::Scope;
use portico::kernel::request_body::BODY_LIMIT;
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::gateways::paid;
use crate::support::routes::{NOBODY, all_routes};
use crate::support::waiting::in_time;
use crate::support::{Answer, World};

/// The bytes of a small body that is announced.
const ANNOUNCED: usize = 100;
/// What is held stands still for as long as the story takes, on a busy machine too.
const PATIENT: (&str, &str) = ("database.statement_timeout", "10m");
/// After so long, a request does not wait for its turn any more.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// Asserts that requests that were sent at this instant were served: those that had a turn at once, and the others unless the story was so slow that
/// they have waited for too long.
fn were_served(answers: Vec<Answer>, sent: Instant, at_once: usize) {
    let is_slow = sent.elapsed() >= LONGEST_WAIT;
    let (served, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    assert!(served.len() >= at_once, "{}", served.len());
    for answer in refused {
        answer.refused(429, "rate_limited");
        assert!(is_slow, "it was refused before it had waited");
    }
}

/// A request whose body does not come.
struct WithoutBody(TcpStream);

impl WithoutBody {
    async fn send(world: &World, method: &Method, path: &str, key: &str) -> Self {
        Self::announce(world, method, path, key, ANNOUNCED).await
    }

    async fn announce(world: &World, method: &Method, path: &str, key: &str, bytes: usize) -> Self {
        Self::open(world, method, path, key, &format!("content-length: {bytes}")).await
    }

    /// One that says nothing of its size.
    async fn of_unknown_size(world: &World, path: &str, key: &str) -> Self {
        Self::open(world, &Method::POST, path, key, "transfer-encoding: chunked").await
    }

    async fn open(world: &World, method: &Method, path: &str, key: &str, header: &str) -> Self {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-type: application/json");
        stream.write_all(format!("{head}\r\n{header}\r\n\r\n").as_bytes()).await.unwrap();
        Self(stream)
    }

    /// The status of the answer.
    async fn status(&mut self) -> String {
        let mut line = [0; 12];
        in_time("the answer", self.0.read_exact(&mut line)).await.unwrap();
        String::from_utf8_lossy(&line[9..]).into_owned()
    }

    /// At last, the body.
    async fn complete(&mut self, body: &str) {
        self.0.write_all(format!("{body:ANNOUNCED$}").as_bytes()).await.unwrap();
    }
}

fn with_bodies() -> impl Iterator<Item = (Method, String)> {
    all_routes(NOBODY).into_iter().filter(|(method, _)| matches!(*method, Method::POST | Method::PUT))
}

#[tokio::test]
async fn a_company_has_so_many_requests_a_minute_with_all_its_keys() {
    let world = World::with(&[("companies.requests_per_minute", "3")]).await;
    let second = world.key_of(world.company, &[Scope::Read]).await;
    let (_, other) = world.another_company(&[Scope::Read]).await;
    let ask = |key: &str| world.request(Method::GET, "/fleet/int/v1/orders").key(key).send();
    for remaining in ["2", "1", "0"] {
        let answer = ask(&second).await;
        assert_eq!((answer.header("ratelimit-limit"), answer.header("ratelimit-remaining")), (Some("3"), Some(remaining)));
        answer.ok(200);
    }
    let refused = ask(&world.api_key).await;
    assert_eq!((refused.header("ratelimit-remaining"), refused.header("retry-after")), (Some("0"), refused.header("ratelimit-reset")));
    refused.refused(429, "rate_limited");
    assert_eq!(ask(&other).await.header("ratelimit-remaining"), Some("2"));
    // An unknown key is nobody's request.
    assert_eq!(ask("key_nobody").await.header("ratelimit-limit"), None);
    // Callbacks have a limit of their own.
    world.request(Method::POST, "/webhooks").key(&world.api_key).json(&paid("evt_1")).send().await.refused(404, "gateway_not_configured");
}

#[tokio::test]
async fn one_key_leaves_requests_of_the_minute_to_the_others_of_its_company() {
    let world = World::with(&[("companies.requests_per_minute", "10")]).await;
    let weak = world.key_of(world.company, &[Scope::Callbacks]).await;
    let ask = |key: &str| world.request(Method::GET, "/fleet/int/v1/orders").key(key).send();
    for _ in 0..8 {
        ask(&weak).await.refused(403, "scope_missing");
    }
    ask(&weak).await.refused(429, "rate_limited");
    // What its scope does not allow took nothing of the company's minute.
    let answer = ask(&world.api_key).await;
    assert_eq!((answer.header("ratelimit-limit"), answer.header("ratelimit-remaining")), (Some("8"), Some("7")));
    for _ in 0..7 {
        ask(&world.api_key).await.ok(200);
    }
    ask(&world.api_key).await.refused(429, "rate_limited");
    let second = world.key_of(world.company, &[Scope::Read]).await;
    for _ in 0..2 {
        ask(&second).await.ok(200);
    }
    ask(&second).await.refused(429, "rate_limited");
}

#[tokio::test]
async fn twelve_bodies_that_do_not_come_stop_nobody() {
    let world = World::new().await;
    let weak = world.key_of(world.company, &[Scope::Callbacks]).await;
    for _ in 0..12 {
        let mut refused = WithoutBody::send(&world, &Method::POST, "/fleet/int/v1/orders", &weak).await;
        assert_eq!(refused.status().await, "403", "before its body");
    }
    let writing = world.key_of(world.company, &[Scope::Write]).await;
    let mut slow = Vec::new();
    for _ in 0..12 {
        slow.push(WithoutBody::send(&world, &Method::POST, "/fleet/int/v1/orders", &writing).await);
    }
    for _ in 0..20 {
        // Without a turn it would be refused after a while.
        in_time("no turn is taken before the body", world.api(Method::GET, "/fleet/int/v1/orders").send()).await.ok(200);
    }
    for one in &mut slow {
        one.complete("{}").await;
        assert_eq!(one.status().await, "201");
    }
}

/// Asserts that the first five answers to requests whose bodies do not come are refusals. `why` says how many have found a place.
async fn five_are_refused(sent: &mut [WithoutBody], why: &str) {
    let mut answers: FuturesUnordered<_> = sent.iter_mut().map(|one| one.status()).collect();
    for _ in 0..5 {
        assert_eq!(answers.next().await.as_deref(), Some("429"), "{why}");
    }
}

/// Asserts that there is a place for a body of this key, though it does not come at once.
async fn another_is_served(world: &World, key: &str) {
    let mut other = WithoutBody::send(world, &Method::POST, "/fleet/int/v1/orders", key).await;
    other.complete("{}").await;
    assert_eq!(other.status().await, "201");
}

#[tokio::test]
async fn one_key_has_so_many_bodies_on_their_way_and_leaves_places_to_others() {
    let world = World::new().await;
    let [first, second] = [world.key_of(world.company, &[Scope::Write]).await, world.key_of(world.company, &[Scope::Write]).await];
    let mut slow = Vec::new();
    for _ in 0..125 {
        slow.push(WithoutBody::send(&world, &Method::POST, "/fleet/int/v1/orders", &first).await);
    }
    five_are_refused(&mut slow, "120 are on their way").await;
    another_is_served(&world, &second).await;
}

#[tokio::test]
async fn a_large_body_takes_several_places() {
    let world = World::new().await;
    let [first, second] = [world.key_of(world.company, &[Scope::Events]).await, world.key_of(world.company, &[Scope::Write]).await];
    let path = "/developers/int/v1/events";
    let mut large = Vec::new();
    for _ in 0..35 {
        large.push(WithoutBody::announce(&world, &Method::POST, path, &first, 1024 * 1024).await);
    }
    five_are_refused(&mut large, "30 are on their way, each in four places").await;
    another_is_served(&world, &second).await;
}

#[tokio::test]
async fn bodies_of_an_unknown_size_that_do_not_come_stop_nobody() {
    let world = World::new().await;
    let orders = "/fleet/int/v1/orders";
    let mut slow = Vec::new();
    for _ in 0..20 {
        let mut stranger = WithoutBody::of_unknown_size(&world, orders, "nobody").await;
        assert_eq!(stranger.status().await, "401", "before its body");
        slow.push(WithoutBody::of_unknown_size(&world, "/storefront/v1/customers/login", &world.store_key).await);
    }
    let mut order = WithoutBody::of_unknown_size(&world, orders, &world.api_key).await;
    order.0.write_all(b"2\r\n{}\r\n0\r\n\r\n").await.unwrap();
    assert_eq!(order.status().await, "201");
}

#[tokio::test]
async fn a_body_of_an_unknown_size_takes_the_places_of_the_largest_one() {
    let world = World::new().await;
    let [first, second] = [world.key_of(world.company, &[Scope::Events]).await, world.key_of(world.company, &[Scope::Write]).await];
    let mut unknown = Vec::new();
    for _ in 0..35 {
        unknown.push(WithoutBody::of_unknown_size(&world, "/developers/int/v1/events", &first).await);
    }
    five_are_refused(&mut unknown, "30 are on their way, each in four places").await;
    another_is_served(&world, &second).await;
}

#[tokio::test]
async fn callbacks_take_places_for_their_bodies_and_leave_some_to_other_gateways() {
    let settings = json!({
        "signature": { "header": "X-Signature" },
        "pointers": { "reference": "/id", "amount": "/amount", "currency": "/currency", "status": null },
        "events": { "paid": "payment.succeeded" },
    });
    for (with_key, sent, bytes, why) in [
        (true, 125, BODY_LIMIT, "120 are on their way"),
        (true, 35, 4 * BODY_LIMIT, "30 are on their way, each in four places"),
        (false, 35, 4 * BODY_LIMIT, "the same without a key"),
    ] {
        let world = World::new().await;
        let card = world.card().await;
        let slow = world.hmac_gateway(&settings).await;
        let path = if with_key { "/webhooks" } else { slow["callback_path"].as_str().unwrap() };
        let key = world.key_of(world.company, &[Scope::Callbacks]).await;
        let mut callbacks = Vec::new();
        for _ in 0..sent {
            callbacks.push(WithoutBody::announce(&world, &Method::POST, path, &key, bytes).await);
        }
        five_are_refused(&mut callbacks, why).await;
        world.call_back(&card, &paid("evt_1")).await.ok(200);
        another_is_served(&world, &world.api_key).await;
    }
}

#[tokio::test]
async fn no_callback_of_a_stranger_is_waited_for() {
    let world = World::new().await;
    let path = format!("/webhooks/{NOBODY}");
    assert_eq!(WithoutBody::send(&world, &Method::POST, &path, "nobody").await.status().await, "404", "no gateway has this id");
    assert_eq!(WithoutBody::send(&world, &Method::POST, "/webhooks", "nobody").await.status().await, "401");
}

#[tokio::test]
async fn no_route_waits_for_the_body_of_a_key_without_its_scope() {
    let world = World::new().await;
    let weak = world.key_of(world.company, &[Scope::Callbacks]).await;
    for (method, path) in with_bodies() {
        let mut refused = WithoutBody::send(&world, &method, &path, &weak).await;
        assert_eq!(refused.status().await, "403", "{method} {path}");
    }
    let reading = world.key_of(world.company, &[Scope::Read]).await;
    assert_eq!(WithoutBody::send(&world, &Method::POST, "/webhooks", &reading).await.status().await, "403");
}

/// They read something else before: the parameters, and the kind of the body.
const EARLY: [&str; 2] = ["/storefront/int/v1/customers/import", "/storefront/int/v1/tokens/introspect"];

#[tokio::test]
async fn no_route_with_a_body_begins_before_its_turn() {
    let world = World::with(&[("companies.concurrent_requests", "1"), PATIENT]).await;
    let mut slow = world.hold().await;
    sqlx::query("lock table fleets").execute(&mut *slow).await.unwrap();
    let meanwhile = async {
        world.somebody_waits().await;
        let mut begun = Vec::new();
        // Two of these are fewer than may wait.
        for routes in with_bodies().collect::<Vec<_>>().chunks(35) {
            let asked = routes.iter().map(async |(method, path)| {
                let answer = world.api(method.clone(), path).json(&json!({})).send().await;
                // Who has waited for too long has not begun.
                (answer.status != 429).then(|| path.clone())
            });
            let mut begin = asked.collect::<FuturesUnordered<_>>().filter_map(ready);
            let early = routes.iter().filter(|(_, path)| EARLY.contains(&path.as_str())).count();
            begun.extend(in_time("they are answered", begin.by_ref().take(early).collect::<Vec<_>>()).await);
            // Another one that begins does so at once.
            begun.extend(timeout(Duration::from_millis(200), begin.next()).await.ok().flatten());
        }
        slow.rollback().await.unwrap();
        begun
    };
    let (served, begun) = join(world.api(Method::GET, "/fleet/int/v1/fleets").send(), meanwhile).await;
    served.ok(200);
    assert_eq!(BTreeSet::from_iter(begun), BTreeSet::from(EARLY.map(str::to_owned)));
}

#[tokio::test]
async fn slow_requests_of_one_key_leave_turns_to_the_others_of_its_company() {
    let world = World::with(&[PATIENT]).await;
    let second = world.key_of(world.company, &[Scope::Read]).await;
    let mut slow = world.hold().await;
    sqlx::query("lock table orders").execute(&mut *slow).await.unwrap();
    let search = || world.api(Method::GET, "/fleet/int/v1/orders?query=nothing").send();
    let (sent, searches) = (Instant::now(), join_all((0..40).map(|_| search())));
    let meanwhile = async {
        world.somebody_waits().await;
        for _ in 0..5 {
            let asked = world.request(Method::GET, "/fleet/int/v1/fleets").key(&second).send();
            in_time("another key has a turn", asked).await.ok(200);
        }
        slow.rollback().await.unwrap();
    };
    let (searched, ()) = join(searches, meanwhile).await;
    were_served(searched, sent, 8);
}

#[tokio::test]
async fn searches_of_one_company_leave_connections_to_others() {
    let world = World::with(&[PATIENT]).await;
    let (_, other) = world.another_company(&[Scope::Read]).await;
    let mut slow = world.hold().await;
    sqlx::query("lock table orders").execute(&mut *slow).await.unwrap();
    let search = || world.api(Method::GET, "/fleet/int/v1/orders?query=nothing").send();
    let (sent, searches) = (Instant::now(), join_all((0..40).map(|_| search())));
    let meanwhile = async {
        world.somebody_waits().await;
        for _ in 0..5 {
            let asked = world.request(Method::GET, "/fleet/int/v1/fleets").key(&other).send();
            in_time("another company finds a connection", asked).await.ok(200);
        }
        slow.rollback().await.unwrap();
    };
    let (searched, ()) = tokio::join!(searches, meanwhile);
    were_served(searched, sent, 8);
}

#[tokio::test]
async fn a_line_has_an_end() {
    let world = World::with(&[("companies.concurrent_requests", "1"), PATIENT]).await;
    let mut slow = world.hold().await;
    sqlx::query("lock table fleets").execute(&mut *slow).await.unwrap();
    let ask = || world.api(Method::GET, "/fleet/int/v1/fleets").send();
    let (sent, mut answers) = (Instant::now(), (0..111).map(|_| ask()).collect::<FuturesUnordered<_>>());
    // One has its turn, and eighty wait. The other places to wait are for other keys.
    for _ in 0..30 {
        in_time("one without a place is refused", answers.next()).await.unwrap().refused(429, "rate_limited");
    }
    slow.rollback().await.unwrap();
    were_served(answers.collect().await, sent, 1);
}

#[tokio::test]
async fn a_search_without_an_index_reads_so_many_records_for_a_page_and_goes_on() {
    let world = World::new().await;
    sqlx::query(
        "insert into fleets (id, company_id, version, created_at, updated_at, name, status, meta)
         select gen_random_uuid(), $1, 1, now() - number * interval '1 second', now(), case number when 5500 then 'Needle' else 'Hay' end,
                'active', '{}'
         from generate_series(1, 6000) as number",
    )
    .bind(world.company.uuid())
    .execute(&world.pool)
    .await
    .unwrap();
    let first = world.api(Method::GET, "/fleet/int/v1/fleets?query=needle").send().await.ok(200);
    assert_eq!(first["fleets"], json!([]));
    let next = first["meta"]["next"].as_str().unwrap();
    let second = world.api(Method::GET, &format!("/fleet/int/v1/fleets?query=needle&after={next}")).send().await.ok(200);
    assert_eq!((&second["fleets"][0]["name"], &second["meta"]["next"]), (&json!("Needle"), &json!(null)));
}
