//! Requests that are under way while their company leaves: they were admitted where it was, and look for it where it is not any more.

use chrono::TimeDelta;
use futures::future::join_all;
use portico::app::{Cells, Metrics, Move, Side};
use portico::companies::Stage;
use portico::kernel::database::Connection;
use reqwest::Method;
use serde_json::json;

use crate::platform::cells::two;
use crate::platform::moving::{moved, stages, the_move};
use crate::support::customers::{EMAIL, PASSWORD, PHONE, login, me, token};
use crate::support::request::Request;
use crate::support::waiting::{in_time, until};
use crate::support::{World, database, socket_server};

/// How many connections a cell has.
const CONNECTIONS: &str = "20";

/// Two cells whose requests wait for a connection for as long as a story wants.
async fn two_patient() -> (World, World, Cells) {
    let settings = [("database.max_connections", CONNECTIONS), ("database.acquire_timeout", "5m"), ("socket.key", socket_server::KEY)];
    two(&settings).await
}

/// Lets an instance know the keys, from now until the time passes. A key whose use is noted would be forgotten.
async fn keys_are_known(world: &World) {
    sqlx::query("update api_keys set last_used_at = $1").bind(world.clock.now()).execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::seconds(1));
    world.get("webhooks").await;
    world.storefront_get("customers/me").token("nobody's").send().await.refused(401, "customer_token_invalid");
}

/// All connections of a cell. Until they are dropped, requests that were admitted wait for one.
async fn all_connections(world: &World) -> Vec<Connection> {
    let mut taken = Vec::new();
    for _ in 0..CONNECTIONS.parse().unwrap() {
        taken.push(world.pool.acquire().await.unwrap());
    }
    taken
}

/// The move of the company of `from`, as another process makes it.
fn move_elsewhere(from: &World, to: &World) -> Move {
    let Move { company, from: Side { name, .. }, to: other, clock } = the_move(from, to);
    let side = |name, world: &World| Side { name, pool: database::pool(&world.database) };
    Move { company, from: side(name, from), to: side(other.name, to), clock }
}

/// How many requests to the old cell wait for a connection.
fn waiting(cells: &Cells) -> usize {
    let series = r#"portico_pool_waiting{cell="main",pool="requests"} "#;
    let text = Metrics::new(cells.clone()).render();
    let value = text.lines().find_map(|line| line.strip_prefix(series)).unwrap_or_else(|| panic!("{text}"));
    value.parse::<f64>().unwrap() as usize
}

#[tokio::test]
async fn what_is_asked_while_a_company_leaves_is_neither_refused_nor_found_to_be_empty() {
    let (a, b, cells) = two_patient().await;
    let customer = token(&a.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    let (_, webhook) = a.subscriber("shop.test").await;
    let webhook = format!("/developers/int/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    let socket = a.socket_token(&customer).await;
    let id = me(&a, &customer).await["id"].as_str().unwrap().to_owned();
    let (channel, profile) = (format!("customer.{id}"), format!("/storefront/v1/customers/{id}"));
    let sample = &a.state.developers.catalogue.find("driver.online").unwrap().sample;
    let event = json!({ "event": "driver.online", "data": sample, "idempotency_key": "7" });
    let published = a.developers(Method::POST, "events", event.clone()).await.ok(201)["event"]["id"].as_str().unwrap().to_owned();
    keys_are_known(&a).await;
    me(&a, &customer).await;

    let taken = all_connections(&a).await;
    let asked = [
        // That there is no such webhook, session or customer would be wrong, and so would an empty list.
        a.api(Method::GET, "/developers/int/v1/webhooks"),
        a.api(Method::GET, &webhook),
        a.api(Method::PUT, &webhook).json(&json!({ "events": ["order.created"] })),
        a.api(Method::DELETE, &webhook),
        a.storefront_get("customers/sessions").token(&customer),
        // None of these finds what it is about, which would be an event that is published twice, a replay for nobody and a sign-out of nobody.
        a.api(Method::POST, "/developers/int/v1/events").json(&event),
        a.api(Method::POST, &format!("/developers/int/v1/events/{published}/replay")),
        a.storefront("customers/logout").token(&customer),
        a.request(Method::PUT, &profile).key(&a.store_key).token(&customer).json(&json!({ "name": "Grace" })),
    ];
    // A socket server names a company, which is looked for anew each time.
    let question = a.question(&json!({ "token": socket, "channel": channel })).send();
    let all = asked.len() + 1;
    let under_way = async {
        until("the question waits", async || waiting(&cells) >= 1).await;
        moved(&move_elsewhere(&a, &b)).await;
        // The time stands still, so the instance admits these as if it had asked a moment ago.
        let requests = join_all(asked.map(Request::send));
        let go_on = async {
            until("all wait", async || waiting(&cells) >= all).await;
            a.pass(TimeDelta::seconds(2));
            drop(taken);
        };
        futures::join!(requests, go_on).0
    };
    let (decision, answers) = futures::join!(question, under_way);
    for answer in answers {
        assert_eq!(answer.header("retry-after"), Some("2"), "{answer:?}");
        answer.refused(503, "company_moving");
    }
    assert_eq!(decision.ok(200)["reason"], "own_customer");
    // Asked again, they are answered.
    assert_eq!(a.get("webhooks").await["webhooks"].as_array().unwrap().len(), 1);
    login(&a, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn a_key_is_found_that_changes_its_cell_while_it_is_looked_for() {
    let (a, b, cells) = two_patient().await;
    let taken = all_connections(&a).await;
    let leaves = async {
        // The new cell has said that it does not know the key, and the old one will say so.
        until("the old cell is asked", async || waiting(&cells) >= 1).await;
        moved(&move_elsewhere(&a, &b)).await;
        drop(taken);
    };
    let (answer, ()) = futures::join!(a.api(Method::GET, "/developers/int/v1/webhooks").send(), leaves);
    answer.ok(200);
}

#[tokio::test]
async fn an_answer_to_a_key_that_is_revoked_meanwhile_counts() {
    let (a, _b, cells) = two_patient().await;
    let revoking = database::pool(&a.database);
    keys_are_known(&a).await;
    let taken = all_connections(&a).await;
    let is_revoked = async {
        until("the request waits", async || waiting(&cells) >= 1).await;
        sqlx::query("update api_keys set revoked_at = to_timestamp(0)").execute(&revoking).await.unwrap();
        a.pass(TimeDelta::seconds(1));
        drop(taken);
    };
    let list = || a.api(Method::GET, "/developers/int/v1/webhooks").send();
    let (answer, ()) = futures::join!(list(), is_revoked);
    answer.ok(200);
    list().await.refused(401, "api_key_invalid");
}

#[tokio::test]
async fn what_is_left_in_the_old_cell_answers_nobody() {
    let (a, b, _) = two(&[("socket.key", socket_server::KEY)]).await;
    let customer = token(&a.register(PHONE).await);
    let socket = a.socket_token(&customer).await;
    let channel = format!("customer.{}", me(&a, &customer).await["id"].as_str().unwrap());
    assert_eq!(a.ask(&socket, &channel).await["reason"], "own_customer");
    let first = a.publish("order.created").await;
    a.everything_is_fanned_out().await;
    let mut stream = a.stream("", None).await;
    a.publish("order.created").await;
    a.everything_is_fanned_out().await;
    stream.next().await.unwrap();

    let moving = the_move(&a, &b);
    moving.run(&mut |_, _| {}).await.unwrap();
    a.pass(TimeDelta::seconds(2));
    assert_eq!(stages(&moving).await, (Some(Stage::Left), None));
    assert_eq!(a.ask(&socket, &channel).await["reason"], "own_customer");
    // Whoever reads along is told to come again, and is led to where the company is.
    assert!(in_time("the stream ends", stream.next()).await.is_none());
    let mut stream = a.stream("", Some(&first.to_string())).await;
    stream.next().await.unwrap();
}
