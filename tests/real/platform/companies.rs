//! The life of a company: it is suspended, resumed and deleted with everything that belongs to it.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use portico::callers::{Caller, Scope};
use portico::companies::{ATTEMPTS, Deletion, TABLES};
use portico::kernel::client_address::ClientAddress;
use portico::kernel::ids::CompanyId;
use portico::kernel::problem::ProblemCode;
use portico::operators::Role;
use portico::portal::LinkKey;
use portico::webhooks;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD};
use crate::support::gateways::paid;
use crate::support::program::{portico, printed};
use crate::support::waiting::until;

/// The tables that stay as they are when a company is deleted, and why.
const KEPT: &[(&str, &str)] = &[
    (ATTEMPTS, "they go with their deliveries"),
    ("_sqlx_migrations", "the history of the schema"),
    ("companies", "the company itself goes last, by a statement of its own"),
    ("declared_schemas", "kinds belong to the deployment"),
    ("declaring_turn", "whose turn it is to declare kinds"),
    ("leases", "which instance keeps house"),
    ("notifying_turn", "whose turn it is to notify of events"),
    ("presented_identity_tokens", "digests, which expire within minutes"),
    ("rate_limits", "counters under digests, which expire within a day"),
    ("schema_compatibility", "what versions can work with the schema"),
    ("sign_ins_counted", "how far all companies' sign-ins are counted"),
    ("texts_counted_until", "how far all companies' texts are counted"),
    ("workers", "the workers of all instances"),
];

#[tokio::test]
async fn every_table_goes_with_a_company_or_stays_for_a_reason() {
    let world = World::new().await;
    let tables = "select relname::text from pg_class
                  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition";
    let exist: BTreeSet<String> = sqlx::query_scalar(tables).fetch_all(&world.pool).await.unwrap().into_iter().collect();
    let told: BTreeSet<String> = TABLES.iter().chain(KEPT).map(|(table, _)| (*table).to_owned()).collect();
    assert_eq!(exist, told, "a table is missing in companies::TABLES, or here with a reason");
    assert_eq!(TABLES.len() + KEPT.len(), told.len(), "a table is told twice");
}

/// How many rows a company has in each table.
pub(super) async fn rows(world: &World, company: CompanyId) -> Vec<(&'static str, i64)> {
    let mut counts = Vec::new();
    for (table, rows) in TABLES {
        let count = sqlx::query_scalar(AssertSqlSafe(format!("select count(*) from {table} where {rows}")));
        counts.push((*table, count.bind(company.uuid()).fetch_one(&world.pool).await.unwrap()));
    }
    counts
}

/// Something of everything that a company has.
pub(super) async fn fill(world: &World) {
    let login = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    world.subscriber("shop.test").await;
    world.order(json!({ "customer": login["customer"]["id"] })).await;
    let card = world.card().await;
    world.call_back(&card, &paid("evt_1")).await;
    world.publish("driver.online").await;
    world.deliver().await;
    world.operator("ada@example.com", Role::Owner).await;
    for (path, body) in [
        ("/fleet/int/v1/fleets", json!({ "name": "North" })),
        ("/fleet/int/v1/drivers", json!({ "name": "Bob" })),
        ("/developers/int/v1/portal-links", json!({ "owner": "7" })),
    ] {
        world.api(Method::POST, path).json(&body).send().await.ok(201);
    }
    let fleet = world.api(Method::GET, "/fleet/int/v1/fleets").send().await.ok(200);
    let part = json!({ "name": "North-East", "parent": fleet["fleets"][0]["id"] });
    world.api(Method::POST, "/fleet/int/v1/fleets").json(&part).send().await.ok(201);
    let keys = world.api(Method::GET, "/developers/int/v1/api-keys").send().await.ok(200);
    let roll = format!("/developers/int/v1/api-keys/{}/roll", keys["api_keys"][0]["id"].as_str().unwrap());
    world.api(Method::POST, &roll).json(&json!({})).send().await.ok(201);
    world.api(Method::DELETE, &format!("/storefront/int/v1/stores/{}", world.another_store().await.0)).send().await.ok(200);
}

#[tokio::test]
async fn a_deleted_company_leaves_no_row_and_the_others_keep_theirs() {
    let world = World::new().await;
    let settings = [("database.url", world.database.as_str())];
    fill(&world).await;
    let (other, key) = world.another_company(&[Scope::Write, Scope::Admin]).await;
    world.request(Method::POST, "/fleet/int/v1/orders").key(&key).json(&json!({})).send().await.ok(201);
    let (of_other, filled) = (rows(&world, other).await, rows(&world, world.company).await);
    assert!(filled.iter().filter(|(_, count)| *count > 0).count() >= 20, "{filled:?}");

    let (id, of_nobody) = (world.company.to_string(), "company_01h455vb4pex5vsknk084sn02q");
    let refused = async |arguments: &[&str]| {
        let output = portico(arguments, &settings).output().await.unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, complaint) = refused(&["company", "delete", &id, "--yes"]).await;
    assert!(code == 1 && complaint.contains("not suspended"), "{complaint}");
    assert_eq!(refused(&["company", "suspend", of_nobody]).await.0, 3);
    printed(&["company", "suspend", "Acme"], &settings).await;
    let (code, complaint) = refused(&["company", "delete", "Acme"]).await;
    assert!(code == 1 && complaint.contains("--yes"), "{complaint}");
    let and_the_suspension = |(table, count): &(&'static str, i64)| (*table, count + i64::from(*table == "changes"));
    assert_eq!(rows(&world, world.company).await, filled.iter().map(and_the_suspension).collect::<Vec<_>>());

    // A deletion that was interrupted is continued by another one.
    let mut conn = world.pool.acquire().await.unwrap();
    let mut interrupted = Deletion::begin(&mut conn, world.company).await.unwrap();
    while interrupted.report().len() < 5 {
        interrupted.next_batch(&mut conn).await.unwrap();
    }
    drop(conn);
    let report: Value = serde_json::from_str(&printed(&["company", "delete", &id, "--yes", "--json"], &settings).await).unwrap();
    let deleted =
        |table: &str| report["tables"].as_array().unwrap().iter().find(|line| line["table"] == table).map(|line| line["rows"].clone());
    assert_eq!((deleted("companies"), deleted("fleets")), (Some(json!(1)), Some(json!(2))));
    assert_eq!((deleted("customers"), deleted("outbox")), (Some(json!(1)), None));

    assert!(rows(&world, world.company).await.iter().all(|(_, count)| *count == 0));
    assert_eq!(rows(&world, other).await, of_other);
    assert_eq!(world.count("select count(*) from companies").await, 1);
    assert_eq!(refused(&["company", "delete", &id, "--yes"]).await.0, 3);
}

#[tokio::test]
async fn a_suspended_company_is_refused_everywhere_and_its_deliveries_wait() {
    let world = World::new().await;
    let settings = [("database.url", world.database.as_str())];
    let (endpoint, _) = world.subscriber("shop.test").await;
    let (paused, webhook) = world.subscriber("paused.test").await;
    let pause = format!("/developers/int/v1/webhooks/{}/pause", webhook["id"].as_str().unwrap());
    world.api(Method::POST, &pause).json(&json!({})).send().await.ok(200);
    let card = world.card().await;
    let mut tab = world.signed_in(Role::Owner).await;
    let link = world.api(Method::POST, "/developers/int/v1/portal-links").json(&json!({ "owner": "7" })).send().await.ok(201);
    let link = LinkKey::claimed(link["portal_link"]["key"].as_str().unwrap());
    let visitor = world.state.portal.open(&link, ClientAddress::of_this_process()).await.unwrap();
    world.deliver().await;
    let before = endpoint.received().len();

    world.publish("order.created").await;
    let suspended = printed(&["company", "suspend", "Acme"], &settings).await;
    assert!(suspended.contains("suspended_at"), "{suspended}");
    assert!(printed(&["company", "list"], &settings).await.contains("suspended_at"));
    world.pass(TimeDelta::seconds(1));
    world.api(Method::GET, "/developers/int/v1/webhooks").send().await.refused(403, "company_suspended");
    let body = json!({ "identity": EMAIL, "password": PASSWORD });
    world.storefront("customers/login").json(&body).send().await.refused(403, "company_suspended");
    world.call_back(&card, &paid("evt_1")).await.refused(403, "company_suspended");
    assert_eq!(tab.open("/console").await.says("The company is suspended.").status, 403);
    let refused = world.state.portal.find_session(&visitor, ClientAddress::of_this_process()).await.unwrap_err();
    assert_eq!(refused.code(), ProblemCode::CompanySuspended);
    world.deliver().await;
    assert_eq!((endpoint.received().len(), paused.received().len()), (before, 0));

    printed(&["company", "resume", "Acme"], &settings).await;
    world.pass(TimeDelta::seconds(1));
    world.deliver().await;
    assert_eq!((endpoint.received().len(), paused.received().len()), (before + 1, 0));
    world.call_back(&card, &paid("evt_1")).await.ok(200);
    world.api(Method::GET, "/developers/int/v1/webhooks").send().await.ok(200);
    assert_eq!(tab.open("/console").await.status, 200);
}

/// The webhooks of the company whose deliveries are not held.
async fn open_endpoints(world: &World) -> i64 {
    world.count("select count(*) from endpoints where not paused").await
}

#[tokio::test]
async fn a_webhook_that_is_added_or_resumed_while_its_company_is_suspended_is_refused() {
    // On a busy machine it takes a while until both wait.
    let world = World::with(&[("database.statement_timeout", "1m")]).await;
    let (caller, endpoint) = (Caller::command_line(world.company), world.endpoint("new.test").await);
    let (held, webhook) = world.subscriber("held.test").await;
    let path = format!("webhooks/{}", webhook["id"].as_str().unwrap());
    world.developers(Method::POST, &format!("{path}/pause"), json!({})).await.ok(200);

    // The requests are admitted, because the suspension is not committed, and then wait for it.
    let mut suspending = world.hold().await;
    assert!(webhooks::suspend_company(&mut suspending, &caller, world.clock.now()).await.unwrap());
    let suspended = async {
        until("both requests wait", async || world.waiting_for_a_lock().await == 2).await;
        suspending.commit().await.unwrap();
    };
    let (resume, new) = (format!("{path}/resume"), json!({ "url": endpoint.url() }));
    let (added, resumed, ()) =
        futures::join!(world.developers(Method::POST, "webhooks", new), world.developers(Method::POST, &resume, json!({})), suspended,);
    added.refused(403, "company_suspended");
    resumed.refused(403, "company_suspended");
    world.publish("order.created").await;
    world.deliver().await;
    assert_eq!((endpoint.received().len(), held.received().len(), open_endpoints(&world).await), (0, 0, 0));
}

#[tokio::test]
async fn however_they_meet_no_webhook_of_a_suspended_company_delivers() {
    let world = World::new().await;
    let caller = Caller::command_line(world.company);
    let (_, webhook) = world.subscriber("shop.test").await;
    let path = format!("webhooks/{}", webhook["id"].as_str().unwrap());
    for _ in 0..10 {
        world.developers(Method::POST, &format!("{path}/pause"), json!({})).await;
        let suspend = async {
            let conn = &mut world.pool.acquire().await.unwrap();
            assert!(webhooks::suspend_company(conn, &caller, world.clock.now()).await.unwrap());
        };
        let (resume, url) = (format!("{path}/resume"), webhook["url"].clone());
        futures::join!(
            world.developers(Method::POST, "webhooks", json!({ "url": url })),
            world.developers(Method::POST, &resume, json!({})),
            suspend,
        );
        assert_eq!(open_endpoints(&world).await, 0);
        let conn = &mut world.pool.acquire().await.unwrap();
        assert!(webhooks::resume_company(conn, &caller, world.clock.now()).await.unwrap());
        world.pass(TimeDelta::seconds(2));
    }
}

#[tokio::test]
async fn a_suspension_and_its_end_are_in_the_audit_trail() {
    let world = World::new().await;
    let settings = [("database.url", world.database.as_str())];
    printed(&["company", "suspend", "Acme"], &settings).await;
    printed(&["company", "resume", "Acme"], &settings).await;
    world.pass(TimeDelta::seconds(1));
    let changes = world.get(&format!("changes?kind=company&record={}", world.company)).await;
    let changes = changes["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 2, "{changes:?}");
    for change in changes {
        assert_eq!((&change["action"], &change["fields"]), (&json!("updated"), &json!(["suspended_at"])));
        assert_eq!((&change["caller"], &change["record"]), (&json!("command_line"), &json!(world.company.to_string())));
    }
}
