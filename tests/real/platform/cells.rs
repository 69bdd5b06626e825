//! Cells: several databases behind one address (docs/scaling.md).

use std::iter::repeat_n;
use std::net::TcpListener;

use futures::future::join_all;
use portico::app::{self, Cell, Cells, Metrics};
use portico::callers::Scope;
use portico::config::Config;
use portico::kernel::crypto::ApplicationKey;
use portico::kernel::http_server;
use portico::operators::Role;
use reqwest::{Method, StatusCode};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::console::PASSWORD;
use crate::support::customers::{PHONE, token};
use crate::support::own_postgres::OwnPostgres;
use crate::support::program::{Service, printed, refused};
use crate::support::receiver::Reply;
use crate::support::waiting::until;
use crate::support::{Answer, World, database, request, socket_server};

/// Serves the cells of these worlds at one address, to which all their requests go from now on.
pub(super) fn behind_one_address(worlds: &mut [(&str, &mut World)]) -> Cells {
    let cells = worlds.iter().map(|(name, world)| Cell { name: name.parse().unwrap(), state: world.state.clone() });
    let cells = Cells::new(cells.collect());
    let config = Config::with(&[("environment", "development"), ("http.trusted_proxies", "127.0.0.1/32")]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let lifecycle = worlds[0].1.lifecycle.clone();
    let answering = http_server::serve(listener, app::router(cells.clone(), &config), config.http.limits(), lifecycle.stopping().clone());
    lifecycle.spawn(async move { answering.await.unwrap().end().await });
    for (_, world) in worlds {
        world.address = address;
    }
    cells
}

pub(super) async fn two(changes: &[(&str, &str)]) -> (World, World, Cells) {
    let mut a = World::with(changes).await;
    let mut b = a.in_another_cell().await;
    let cells = behind_one_address(&mut [("main", &mut a), ("b", &mut b)]);
    (a, b, cells)
}

#[tokio::test]
async fn every_company_is_served_from_its_cell_at_one_address() {
    let (a, b, _) = two(&[]).await;
    for world in [&a, &b] {
        let customer = token(&world.register(PHONE).await);
        world.storefront_get("customers/me").token(&customer).send().await.ok(200);
        let (receiver, webhook) = world.subscriber("shop.test").await;
        let sample = &world.state.developers.catalogue.find("order.created").unwrap().sample;
        world.developers(Method::POST, "events", json!({ "event": "order.created", "data": sample })).await.ok(201);
        world.deliver().await;
        assert!(receiver.received().iter().any(|post| post.header("x-service-event") == "order.created"));
        let listed = world.get("webhooks").await;
        assert_eq!(listed["webhooks"].as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(listed["webhooks"][0]["id"], webhook["id"]);
    }
    // A customer's token means nothing in another cell, whatever number it has.
    let of_a = token(&a.register("+12015550143").await);
    b.storefront_get("customers/me").token(&of_a).send().await.refused(401, "customer_token_invalid");
    // Nobody knows these.
    a.request(Method::GET, "/developers/int/v1/webhooks")
        .key(&"key_x".replace('x', &"a".repeat(40)))
        .send()
        .await
        .refused(401, "api_key_invalid");
    a.request(Method::GET, "/storefront/v1/customers/me")
        .key("store_00000000000000000000000000000000")
        .send()
        .await
        .refused(401, "store_key_invalid");
    a.request(Method::GET, "/developers/int/v1/webhooks").send().await.refused(401, "api_key_invalid");
    a.request(Method::GET, "/nowhere").send().await.refused(404, "route_unknown");
    a.request(Method::GET, "/healthz").send().await.ok(200);
}

#[tokio::test]
async fn a_key_that_is_revoked_and_one_that_is_new_are_seen_in_every_cell() {
    let (a, b, _) = two(&[]).await;
    let key = b.key_of(b.company, &Scope::ALL).await;
    let list = async || a.request(Method::GET, "/developers/int/v1/webhooks").key(&key).send().await;
    list().await.ok(200);
    sqlx::query("update api_keys set revoked_at = to_timestamp(0)").execute(&b.pool).await.unwrap();
    b.pass(chrono::TimeDelta::seconds(1));
    list().await.refused(401, "api_key_invalid");
}

/// How often the client asks at once: as often as all cells are asked for one client at the same time.
const AT_ONCE: usize = 8;

/// Asks until the client has asked too often, which takes more tries than `allowed` and at most `most`: it regains ten a second, which is more than
/// a busy machine answers one after the other. `ask` returns the status.
async fn until_limited((allowed, most): (usize, usize), ask: impl AsyncFn(usize) -> u16) {
    let mut answered = 0;
    for first in (0..most).step_by(AT_ONCE) {
        let statuses = join_all((0..AT_ONCE).map(|place| ask(first + place))).await;
        let limited = statuses.iter().filter(|status| StatusCode::TOO_MANY_REQUESTS == **status).count();
        answered += AT_ONCE - limited;
        if limited > 0 {
            assert!(answered >= allowed, "only {answered} are allowed");
            return;
        }
    }
    panic!("{most} are allowed");
}

#[tokio::test]
async fn what_no_cell_knows_is_looked_up_in_them_only_so_often() {
    let (a, b, _) = two(&[]).await;
    let key = b.key_of(b.company, &Scope::ALL).await;
    let (villain, other, http) = ("203.0.113.66", "203.0.113.67", request::client());
    let list = async |key: &str, from: &str| a.request(Method::GET, "/developers/int/v1/webhooks").key(key).from(from).send().await;
    list(&key, villain).await.ok(200);
    until_limited((600, 5_000), async |number| list(&format!("key_{number:040}"), villain).await.status).await;
    // What else no cell knows counts together with keys: the gateway of a callback, the address of an operator, the key of a link.
    let gateway = async |number: usize| {
        let path = format!("/webhooks/{}", Uuid::from_u128(1 + number as u128));
        a.request(Method::POST, &path).from(villain).body("{}").send().await.status
    };
    until_limited((0, 200), gateway).await;
    for (page, form) in [("/console/sign-in", "email=nobody@acme.example&password=x"), ("/portal/open", "key=x")] {
        let send = async |_: usize| {
            let request = http.post(format!("http://{}{page}", a.address)).header("x-forwarded-for", villain);
            let answer = request.header("content-type", "application/x-www-form-urlencoded").body(form).send().await.unwrap();
            match answer.status() {
                StatusCode::TOO_MANY_REQUESTS => Answer::read(answer).await.status,
                // A page, which says that the form is from elsewhere.
                other => other.as_u16(),
            }
        };
        until_limited((0, 200), send).await;
    }
    // A key whose cell is known, and other clients, are served.
    list(&key, villain).await.ok(200);
    list(&format!("key_{:040}", 1), other).await.refused(401, "api_key_invalid");
    // A key that was revoked is unknown like any other.
    sqlx::query("update api_keys set revoked_at = to_timestamp(0)").execute(&b.pool).await.unwrap();
    b.pass(chrono::TimeDelta::seconds(1));
    until_limited((0, 200), async |_| list(&key, villain).await.status).await;
}

#[tokio::test]
async fn what_comes_without_a_key_reaches_the_cell_that_it_is_for() {
    let (a, b, _) = two(&[("socket.key", socket_server::KEY)]).await;
    for world in [&a, &b] {
        // A gateway calls back by its path.
        let card = world.card().await;
        let event = crate::support::gateways::paid("evt_1");
        world.call_back(&card, &event).await.ok(200);
        world.payment().await;
        // A socket server asks about a token.
        let customer = token(&world.register(PHONE).await);
        let me = world.storefront_get("customers/me").token(&customer).send().await.ok(200);
        let socket = world.socket_token(&customer).await;
        let channel = format!("customer.{}", me["id"].as_str().unwrap());
        assert_eq!(world.ask(&socket, &channel).await["reason"], "own_customer");
    }
}

#[tokio::test]
async fn operators_and_visitors_of_the_portal_are_led_to_their_cell() {
    let (a, b, _) = two(&[]).await;
    a.operator("ada@acme.example", Role::Owner).await;
    b.operator("grace@other.example", Role::Owner).await;
    a.endpoint("a.test").await;
    b.subscriber("b.test").await;
    let mut tab = a.tab();
    assert_eq!(tab.sign_in("grace@other.example", PASSWORD).await.address, "/console");
    tab.open("/console/records/developers/webhooks").await.says("b.test");
    let mut tab = b.tab();
    assert_eq!(tab.sign_in("ada@acme.example", PASSWORD).await.address, "/console");
    tab.open("/console/records/developers/webhooks").await.says_nothing_of("b.test");
    // Whoever is refused does not learn where there is an operator with an address.
    for email in ["grace@other.example", "nobody@acme.example"] {
        let mut stranger = a.tab();
        assert_ne!(stranger.sign_in(email, "wrong password").await.address, "/console");
        stranger.send("/console/forgot", &[("email", email)]).await;
        assert!(!stranger.cookies.contains_key("portico-cell"), "{email}");
    }

    let link = b.developers(Method::POST, "portal-links", json!({ "owner": "7" })).await.ok(201)["portal_link"].take();
    let mut visitor = a.tab();
    visitor.open("/portal/open").await;
    let shown = visitor.send("/portal/open", &[("key", link["key"].as_str().unwrap())]).await;
    assert_eq!((shown.status, shown.address.as_str()), (200, "/portal/records/developers/webhooks"), "{}", shown.html);
    visitor.open("/portal").await.says("register the address that it listens at");
    // A link of another cell takes the place of what is open there after a click only.
    let link = a.developers(Method::POST, "portal-links", json!({ "owner": "7" })).await.ok(201)["portal_link"].take();
    let (key, before) = (("key", link["key"].as_str().unwrap()), visitor.cookies.clone());
    assert_eq!(visitor.send("/portal/open", &[key]).await.says("Open these instead").status, 409);
    assert_eq!(visitor.cookies, before);
    visitor.send("/portal/open", &[key, ("instead", "yes")]).await;
    assert_ne!(visitor.cookies, before);
    assert_eq!(visitor.open("/portal").await.status, 200);
}

#[tokio::test]
async fn nobody_is_kept_out_by_a_company_elsewhere_that_invites_the_same_address() {
    let (a, b, _) = two(&[]).await;
    b.operator("boss@acme.example", Role::Owner).await;
    // That operator has another password.
    sqlx::query("update operators set password_hash = replace(password_hash, 'a', 'b')").execute(&b.pool).await.unwrap();
    a.operator("boss@acme.example", Role::Owner).await;
    a.subscriber("a.test").await;
    let mut tab = b.tab();
    assert_eq!(tab.sign_in("boss@acme.example", PASSWORD).await.address, "/console");
    tab.open("/console/records/developers/webhooks").await.says("a.test");
}

#[tokio::test]
async fn an_operator_can_name_the_cell() {
    let (a, b, _) = two(&[]).await;
    b.operator("grace@other.example", Role::Owner).await;
    let mut tab = a.tab();
    tab.open("/console/sign-in?cell=b").await;
    assert_eq!(tab.cookies["portico-cell"], "b");
    assert_eq!(tab.sign_in("grace@other.example", PASSWORD).await.address, "/console");
    tab.open("/console?cell=main").await;
    assert_eq!(tab.cookies["portico-cell"], "b", "no other page moves anybody");
    // A name that is none changes nothing.
    tab.open("/console/sign-in?cell=nowhere").await;
    assert_eq!(tab.open("/console").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_cell_that_is_away_is_missed_by_its_own_companies_only() {
    let mut database = OwnPostgres::start().await;
    let mut a = World::new().await;
    database::migrate(&database.url()).await;
    let mut b = a.in_cell_at(&database.url()).await;
    behind_one_address(&mut [("main", &mut a), ("b", &mut b)]);
    let ready = async || a.request(Method::GET, "/readyz").send().await;
    let list = async |world: &World| world.api(Method::GET, "/developers/int/v1/webhooks").send().await;
    list(&b).await.ok(200);
    assert_eq!(ready().await.ok(200)["cells_away"], json!({}));

    database.go_away().await;
    b.pass(chrono::TimeDelta::seconds(2));
    list(&b).await.refused(503, "database_unavailable");
    a.register(PHONE).await;
    list(&a).await.ok(200);
    until("the cell is missed", async || ready().await.ok(200)["cells_away"].get("b").is_some()).await;
    // A key that nobody knows may be one of the cell that is away.
    let unknown = format!("key_{}", "a".repeat(40));
    a.request(Method::GET, "/developers/int/v1/webhooks").key(&unknown).send().await.refused(503, "database_unavailable");

    database.come_back().await;
    until("the cell is back", async || list(&b).await.status == StatusCode::OK).await;
    until("the cell is not missed", async || ready().await.ok(200)["cells_away"] == json!({})).await;
    a.request(Method::GET, "/developers/int/v1/webhooks").key(&unknown).send().await.refused(401, "api_key_invalid");
    database.end(b).await;
}

#[tokio::test]
async fn a_cell_whose_endpoints_are_slow_leaves_permits_for_the_others() {
    let settings = [("webhooks.concurrency", "20"), ("webhooks.endpoint_concurrency", "20"), ("webhooks.poll_interval", "1h")];
    let (a, b, _) = two(&settings).await;
    a.silent_subscribers(4).await;
    let (prompt, _) = b.subscriber("prompt.test").await;
    a.make_deliveries(30).await;
    for world in [&a, &b] {
        world.state.webhooks.start_worker(&a.lifecycle);
    }
    until("the slow ones have their share", async || a.count("select count(*) from in_flight").await == 16).await;
    for count in 1..=10 {
        b.publish("order.created").await;
        prompt.waits_for(count).await;
    }
    assert_eq!(a.count("select count(*) from in_flight").await, 16, "four times what is free");
}

#[tokio::test]
async fn what_waits_for_permits_is_sent_once_deliveries_of_another_cell_have_ended() {
    let settings = [("webhooks.concurrency", "4"), ("webhooks.endpoint_concurrency", "4"), ("webhooks.poll_interval", "1h")];
    let (a, b, _) = two(&settings).await;
    let (busy, answers) = (a.endpoint("busy.test").await, CancellationToken::new());
    busy.will(repeat_n(Reply::When(answers.clone()), 4));
    a.subscribe(&busy, json!({ "timeout": 30 })).await;
    a.make_deliveries(4).await;
    a.state.webhooks.start_worker(&a.lifecycle);
    until("all permits are taken", async || a.count("select count(*) from in_flight").await == 4).await;

    let (prompt, _) = b.subscriber("prompt.test").await;
    b.make_deliveries(1).await;
    b.state.webhooks.start_worker(&a.lifecycle);
    // The last statement before it looks for a permit.
    let looked = "select count(*) from pg_stat_activity
                  where datname = current_database() and pid <> pg_backend_pid() and state = 'idle' and query like '%as stays%'";
    until("the other cell has found no permit", async || b.count(looked).await == 1).await;
    assert_eq!(prompt.received().len(), 0);
    answers.cancel();
    prompt.waits_for(1).await;
}

#[tokio::test]
async fn metrics_tell_the_cells_apart() {
    let (_a, _b, cells) = two(&[]).await;
    let text = Metrics::new(cells).render();
    for series in [
        "portico_database_up{cell=\"main\"}",
        "portico_database_up{cell=\"b\"}",
        "portico_streams_open{cell=\"b\"} 0",
        "portico_build_info{version",
    ] {
        assert!(text.contains(series), "{series}: {text}");
    }
    assert_eq!(text.matches("# TYPE portico_streams_open ").count(), 1);
}

#[tokio::test]
async fn commands_know_the_cells() {
    let (first, second) = (database::fresh().await, database::empty().await);
    let settings =
        |weight| [("database.url", first.as_str()), ("database.cells.b.url", second.as_str()), ("database.cells.b.weight", weight)];
    let migrated = printed(&["migrate"], &settings("3")).await;
    assert!(migrated.contains("main: All migrations were already applied.") && migrated.contains("b: "), "{migrated}");
    let migrated = printed(&["migrate", "--json"], &settings("3")).await;
    let migrated: Value = serde_json::from_str(&migrated).unwrap();
    assert_eq!(migrated, json!({ "cells": [{ "cell": "main", "applied": 0 }, { "cell": "b", "applied": 0 }] }));
    // Three of four new companies go where three quarters of the weight are.
    let mut cells = Vec::new();
    for number in 0..4 {
        let made = printed(&["company", "create", &format!("Shop {number}"), "--json"], &settings("3")).await;
        cells.push(serde_json::from_str::<Value>(&made).unwrap()["company"]["cell"].as_str().unwrap().to_owned());
    }
    cells.sort_unstable();
    assert_eq!(cells, ["b", "b", "b", "main"]);
    let named = printed(&["company", "create", "Named", "--cell", "b", "--json"], &settings("0")).await;
    assert!(named.contains("Named"), "{named}");
    let listed = printed(&["company", "list"], &settings("0")).await;
    assert!(listed.contains("cell") && listed.contains("Named") && listed.matches("Shop").count() == 4, "{listed}");
    let cells = printed(&["cell", "list"], &settings("1")).await;
    assert!(cells.contains("main") && cells.contains("ready"), "{cells}");

    let unsaid = refused(&["keys", "rotate"], &settings("1")).await;
    assert!(unsaid.contains("there are several cells (main, b): say which with --cell"), "{unsaid}");
    let unknown = refused(&["company", "list", "--cell", "c"], &settings("1")).await;
    assert!(unknown.contains("there is no cell c"), "{unknown}");
    let reserved = refused(&["company", "list"], &[("database.url", first.as_str()), ("database.cells.main.url", second.as_str())]).await;
    assert!(reserved.contains("main is the cell of database.url"), "{reserved}");
}

#[tokio::test]
async fn the_program_serves_every_cell_or_those_that_are_named() {
    let (first, second, key) = (database::fresh().await, database::empty().await, ApplicationKey::generate());
    let settings = [("database.url", first.as_str()), ("database.cells.b.url", &second), ("application_key", key.expose_secret())];
    printed(&["migrate"], &settings).await;
    let made = async |arguments: &[&str]| {
        let printed = printed(&[arguments, &["--cell", "b", "--json"]].concat(), &settings).await;
        serde_json::from_str::<Value>(&printed).unwrap()
    };
    let company = made(&["company", "create", "Shop"]).await["company"]["id"].take();
    let key = made(&["key", "create", "--company", company.as_str().unwrap(), "--scopes", "read"]).await["key"]["key"].take();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let list = async |service: &Service| {
        let address = format!("http://{}/developers/int/v1/webhooks", service.address);
        http.get(address).bearer_auth(key.as_str().unwrap()).send().await.unwrap().status()
    };
    let mut every = Service::start(&settings).await;
    assert_eq!(list(&every).await, StatusCode::OK);
    assert!(every.log().contains("serving several cells") && every.terminate().await);
    let mut main = Service::start_with(&["--no-worker", "--cells", "main"], &settings).await;
    assert_eq!(list(&main).await, StatusCode::UNAUTHORIZED);
    assert!(main.terminate().await);
    let unknown = refused(&["serve", "--cells", "main,c"], &settings).await;
    assert!(unknown.contains("there is no cell c"), "{unknown}");
}
