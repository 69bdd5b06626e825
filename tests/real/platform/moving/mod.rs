//! Companies move from one cell to another (docs/scaling.md#moving-a-company).

mod interrupted;
mod under_way;
mod used;

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use portico::app::{Move, Moved, Side};
use portico::companies::Stage;
use portico::companies::moving;
use portico::kernel::crypto::ApplicationKey;
use portico::kernel::ids::CompanyId;
use portico::operators::Role;
use portico::webhooks;
use reqwest::{Method, StatusCode};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::platform::cells::two;
use crate::platform::companies::{fill, rows};
use crate::support::customers::{EMAIL, PASSWORD, PHONE, login, me, token};
use crate::support::gateways::paid;
use crate::support::program::{printed, refused};
use crate::support::receiver::Reply;
use crate::support::{World, console, database, socket_server};

/// The move of the company of `from` to the cell of `to`, which is called `b`.
pub(super) fn the_move(from: &World, to: &World) -> Move {
    let side = |name: &str, world: &World| Side { name: name.parse().unwrap(), pool: world.pool.clone() };
    Move { company: from.company, from: side("main", from), to: side("b", to), clock: from.clock.clone() }
}

pub(super) async fn moved(moving: &Move) -> Moved {
    let moved = moving.run(&mut |_, _| {}).await.unwrap();
    moving.clear(&moved, Duration::ZERO, &mut |_, _| {}).await.unwrap();
    moved
}

async fn stages(moving: &Move) -> (Option<Stage>, Option<Stage>) {
    let of = async |side: &Side| {
        let step = moving::find_step(&mut side.pool.acquire().await.unwrap(), moving.company).await.unwrap();
        step.map(|step| step.stage)
    };
    (of(&moving.from).await, of(&moving.to).await)
}

/// The rows of a company in a cell, by table, but for what its move adds.
pub(super) async fn belongings(world: &World, company: CompanyId) -> Vec<(&'static str, i64)> {
    rows(world, company).await.into_iter().filter(|(table, _)| !["changes", "company_moves"].contains(table)).collect()
}

#[tokio::test]
async fn everything_that_belongs_to_a_company_moves_with_it() {
    let (a, b, _) = two(&[("socket.key", socket_server::KEY)]).await;
    fill(&a).await;
    // A delivery that waits for its second attempt, and events that wait for the first fan-out.
    let (receiver, _) = a.subscriber("retry.test").await;
    receiver.will([Reply::status(500)]);
    a.publish("order.created").await;
    a.deliver().await;
    let waiting = a.get("deliveries?status=retrying").await["deliveries"][0].take();
    let (first, last) = (a.publish("driver.online").await, a.publish("order.updated").await);
    let customer = token(&login(&a, EMAIL, PASSWORD).await.ok(200));
    let socket = a.socket_token(&customer).await;
    let (before, of_others) = (belongings(&a, a.company).await, belongings(&b, b.company).await);
    assert!(before.iter().filter(|(_, count)| *count > 0).count() >= 30, "{before:?}");

    let moving = the_move(&a, &b);
    let report = moved(&moving).await;
    assert!(report.rows > 50 && report.log_rows > 10 && report.paused.is_some(), "{report:?}");

    assert_eq!(belongings(&b, a.company).await, before);
    assert_eq!(belongings(&b, b.company).await, of_others);
    assert!(rows(&a, a.company).await.iter().all(|(_, count)| *count == 0), "{:?}", rows(&a, a.company).await);
    assert_eq!((stages(&moving).await, a.count("select count(*) from companies").await), ((None, None), 0));
    // Everything works at the same address, with what was given out before.
    a.pass(TimeDelta::seconds(2));
    let listed = a.get("webhooks").await;
    assert_eq!(listed["webhooks"].as_array().unwrap().len(), 2, "{listed}");
    me(&a, &customer).await;
    login(&a, EMAIL, PASSWORD).await.ok(200);
    let channel = format!("customer.{}", me(&a, &customer).await["id"].as_str().unwrap());
    assert_eq!(a.ask(&socket, &channel).await["reason"], "own_customer");
    let gateways = a.ledger(Method::GET, "gateways").send().await.ok(200);
    a.call_back(&gateways["gateways"][0], &paid("evt_1")).await.ok(200);
    a.payment().await;
    let changes = a.get(&format!("changes?kind=company&record={}", a.company)).await;
    assert_eq!(changes["changes"][0]["fields"], json!(["cell"]), "{changes}");
    // What waited is sent when it is due, and nothing that was sent before is sent again.
    let received = receiver.received().len();
    b.deliver().await;
    let posts = receiver.received();
    let names: Vec<_> = posts[received..].iter().map(|post| post.header("x-service-event").to_owned()).collect();
    assert_eq!(BTreeSet::from_iter(names), BTreeSet::from(["driver.online", "order.updated"].map(str::to_owned)));
    a.pass(TimeDelta::minutes(6));
    assert_eq!(b.deliver().await, 1);
    let id = waiting["id"].as_str().unwrap();
    let again = a.get(&format!("deliveries/{id}")).await["delivery"].take();
    assert_eq!((&again["status"], again["attempts"].as_array().unwrap().len()), (&json!("delivered"), 2), "{again}");
    // Whoever reads along goes on behind the last event that it has seen.
    let mut stream = a.stream("", Some(&first.to_string())).await;
    assert_eq!(stream.next().await.unwrap().id, last.to_string());
    let new = b.publish_for(a.company, "order.created").await;
    b.everything_is_fanned_out().await;
    assert_eq!(stream.next().await.unwrap().id, new.to_string());
}

#[tokio::test]
async fn requests_wait_while_a_company_moves_and_are_answered_if_it_does_not() {
    let (a, b, _) = two(&[("socket.key", socket_server::KEY)]).await;
    let (receiver, _) = a.subscriber("shop.test").await;
    let card = a.card().await;
    let customer = token(&a.register(PHONE).await);
    let socket = a.socket_token(&customer).await;
    let channel = format!("customer.{}", me(&a, &customer).await["id"].as_str().unwrap());
    let mut tab = a.signed_in(Role::Owner).await;
    let moving = the_move(&a, &b);
    let conn = &mut a.pool.acquire().await.unwrap();
    webhooks::prepare_move(conn, a.company, "b", a.clock.now()).await.unwrap();
    // Until it leaves, deliveries wait and requests do not.
    a.publish("order.created").await;
    assert_eq!(a.deliver().await, 0);
    a.get("webhooks").await;
    webhooks::freeze_for_move(conn, a.company, a.clock.now()).await.unwrap();
    a.pass(TimeDelta::seconds(1));

    let list = async || a.api(Method::GET, "/developers/int/v1/webhooks").send().await;
    let refusal = list().await;
    assert_eq!(refusal.headers["retry-after"], "2");
    refusal.refused(503, "company_moving");
    a.storefront_get("customers/me").token(&customer).send().await.refused(503, "company_moving");
    a.call_back(&card, &paid("evt_1")).await.refused(503, "company_moving");
    a.question(&json!({ "token": socket, "channel": channel })).send().await.refused(503, "company_moving");
    let page = tab.open("/console").await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE, "{}", page.html);
    b.get("webhooks").await;
    let settings = [("database.url", a.database.as_str())];
    for command in ["suspend", "resume"] {
        let complaint = refused(&["company", command, &a.company.to_string()], &settings).await;
        assert!(complaint.contains("on its way to or from the cell b"), "{complaint}");
    }

    moving.undo().await.unwrap();
    assert_eq!(stages(&moving).await, (None, None));
    a.pass(TimeDelta::seconds(1));
    list().await.ok(200);
    me(&a, &customer).await;
    a.call_back(&card, &paid("evt_1")).await.ok(200);
    a.deliver().await;
    assert!(receiver.received().iter().any(|post| post.header("x-service-event") == "order.created"));
}

#[tokio::test]
async fn a_suspended_company_is_suspended_where_it_has_gone() {
    let (a, b, _) = two(&[]).await;
    a.subscriber("shop.test").await;
    let settings = [("database.url", a.database.as_str())];
    printed(&["company", "suspend", "Acme"], &settings).await;
    a.pass(TimeDelta::seconds(1));
    moved(&the_move(&a, &b)).await;
    a.pass(TimeDelta::seconds(1));
    a.api(Method::GET, "/developers/int/v1/webhooks").send().await.refused(403, "company_suspended");
    assert_eq!(b.count("select count(*) from endpoints where paused").await, 1);
    let settings = [("database.url", b.database.as_str())];
    printed(&["company", "resume", &a.company.to_string()], &settings).await;
    a.pass(TimeDelta::seconds(1));
    a.get("webhooks").await;
    assert_eq!(b.count("select count(*) from endpoints where paused").await, 0);
}

#[tokio::test]
async fn what_needs_the_whole_log_waits_until_it_has_arrived() {
    let (a, b, _) = two(&[]).await;
    let (_, webhook) = a.subscriber("shop.test").await;
    let customer = a.register(PHONE).await["customer"]["id"].as_str().unwrap().to_owned();
    let seen: Vec<_> = a.publish_many(3).await.into_iter().collect();
    a.deliver().await;
    a.everything_is_fanned_out().await;
    let moving = the_move(&a, &b);
    let (mut source, mut target) = (a.pool.acquire().await.unwrap(), b.pool.acquire().await.unwrap());
    webhooks::prepare_move(&mut source, a.company, "b", a.clock.now()).await.unwrap();
    webhooks::freeze_for_move(&mut source, a.company, a.clock.now()).await.unwrap();
    moving::transfer(&mut source, &mut target, a.company, "main", a.clock.now(), &mut |_| {}).await.unwrap();
    webhooks::arrive(&mut target, a.company, a.clock.now()).await.unwrap();
    a.pass(TimeDelta::seconds(2));

    let replay = async || {
        let path = format!("webhooks/{}/replay", webhook["id"].as_str().unwrap());
        a.developers(Method::POST, &path, json!({ "since": "2026-01-01T00:00:00Z", "status": "delivered" })).await
    };
    let erase = async || a.api(Method::POST, &format!("/storefront/int/v1/customers/{customer}/erase")).json(&json!({})).send().await;
    let stream = async || a.stream_of(&a.api_key, "", Some(&seen[0])).await.status().as_u16();
    replay().await.refused(503, "company_moving");
    erase().await.refused(503, "company_moving");
    assert_eq!(stream().await, 503);
    // New events are published and read meanwhile.
    let mut news = a.stream("", None).await;
    let new = b.publish_for(a.company, "driver.online").await;
    b.everything_is_fanned_out().await;
    assert_eq!(news.next().await.unwrap().id, new.to_string());
    moved(&moving).await;
    assert_eq!(stream().await, 200);
    replay().await.ok(202);
    erase().await.ok(200);
}

#[tokio::test]
async fn operators_move_companies_and_drain_cells_by_commands() {
    let (first, second, third) = (database::fresh().await, database::fresh().await, database::fresh().await);
    let key = ApplicationKey::generate();
    let settings = [("database.url", first.as_str()), ("database.cells.b.url", &second), ("application_key", key.expose_secret())];
    printed(&["migrate"], &settings).await;
    printed(&["company", "create", "Acme", "--cell", "main"], &settings).await;
    printed(&["company", "create", "Other", "--cell", "main"], &settings).await;
    let moved = printed(&["company", "move", "Acme", "--to", "b", "--grace", "0"], &settings).await;
    assert!(moved.contains("cell") && moved.contains("paused_ms"), "{moved}");
    let again = refused(&["company", "move", "Acme", "--to", "b"], &settings).await;
    assert!(again.contains("Acme is in the cell b already"), "{again}");
    let unknown = refused(&["company", "move", "Nobody", "--to", "b"], &settings).await;
    assert!(unknown.contains("there is no company Nobody"), "{unknown}");
    let nowhere = refused(&["company", "move", "Acme", "--to", "c"], &settings).await;
    assert!(nowhere.contains("there is no cell c"), "{nowhere}");
    // Names are not unique.
    printed(&["company", "create", "Acme", "--cell", "main"], &settings).await;
    let ambiguous =
        refused(&["company", "move", "Acme", "--to", "c"], &[&settings[..], &[("database.cells.c.url", &third)]].concat()).await;
    assert!(ambiguous.contains("several companies are named Acme"), "{ambiguous}");
    let drained: Value = serde_json::from_str(&printed(&["cell", "drain", "b", "--grace", "0", "--json"], &settings).await).unwrap();
    assert_eq!((&drained["companies"][0]["name"], &drained["companies"][0]["cell"]), (&json!("Acme"), &json!("main")));
    let listed: Value = serde_json::from_str(&printed(&["company", "list", "--json"], &settings).await).unwrap();
    let cells: Vec<_> = listed["companies"].as_array().unwrap().iter().map(|company| company["cell"].as_str().unwrap()).collect();
    assert_eq!(cells, ["main"; 3], "{listed}");
}

#[tokio::test]
async fn a_company_goes_where_its_operator_works_for_another_one() {
    let (a, b, _) = two(&[]).await;
    for world in [&a, &b] {
        world.operator("boss@acme.example", Role::Owner).await;
    }
    moved(&the_move(&a, &b)).await;
    // Both companies are called Acme. The operator has the same password in both.
    let asked = b.tab().sign_in("boss@acme.example", console::PASSWORD).await;
    assert_eq!(asked.address, "/console/sign-in/company?then=%2Fconsole");
    assert_eq!(asked.html.matches("name=\"operator\"").count(), 2, "{}", asked.html);
}
