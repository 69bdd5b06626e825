//! What happens beside a move: it fails or is killed, requests come late, deliveries are being cancelled.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use portico::app::{Move, Stuck};
use portico::companies::Stage;
use portico::companies::moving::{self, MoveError};
use portico::kernel::crypto::ApplicationKey;
use portico::webhooks;
use reqwest::StatusCode;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::platform::cells::two;
use crate::platform::companies::{fill, rows};
use crate::platform::moving::{belongings, moved, stages, the_move};
use crate::support::customers::{EMAIL, PASSWORD, login};
use crate::support::program::{Service, printed};
use crate::support::waiting::until;
use crate::support::{World, database};

/// Makes each commit fail that brings a move to a stage, in one of the cells.
async fn refuse_stage(world: &World, stage: &str) {
    let refuse = format!(
        "create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
         create constraint trigger refuse after insert or update on company_moves deferrable initially deferred
         for each row when (new.stage = '{stage}') execute function refuse()"
    );
    sqlx::raw_sql(AssertSqlSafe(refuse)).execute(&world.pool).await.unwrap();
}

async fn accept_stage(world: &World) {
    sqlx::raw_sql("drop trigger refuse on company_moves; drop function refuse").execute(&world.pool).await.unwrap();
}

#[tokio::test]
async fn a_move_that_fails_at_any_point_leaves_a_company_that_is_served_and_goes_on_later() {
    let (a, b, _) = two(&[]).await;
    fill(&a).await;
    let moving = the_move(&a, &b);
    let before = belongings(&a, a.company).await;
    let is_served = async || {
        a.pass(TimeDelta::seconds(2));
        login(&a, EMAIL, PASSWORD).await.ok(200);
    };
    // The new cell refuses the copy; and the old one to delete it, after the new one has it.
    for (cell, stage) in [(&b, "arriving"), (&a, "left")] {
        refuse_stage(cell, stage).await;
        let refusal = moving.run(&mut |_, _| {}).await.unwrap_err();
        assert!(matches!(refusal, Stuck::Stays(_)), "{stage}: {refusal:?}");
        accept_stage(cell).await;
        assert_eq!(stages(&moving).await, (None, None), "{stage}");
        assert!(rows(&b, a.company).await.iter().all(|(_, count)| *count == 0), "{stage}");
        assert_eq!(b.count("select count(*) from companies").await, 1, "{stage}");
        is_served().await;
    }
    // A command that was killed between the two commits leaves a copy that does not count.
    let (conn, now) = (&mut a.pool.acquire().await.unwrap(), a.clock.now());
    webhooks::prepare_move(conn, a.company, "b", now).await.unwrap();
    webhooks::freeze_for_move(conn, a.company, now).await.unwrap();
    refuse_stage(&a, "left").await;
    let transfer = async || {
        let (mut source, mut target) = (a.pool.acquire().await.unwrap(), b.pool.acquire().await.unwrap());
        moving::transfer(&mut source, &mut target, a.company, "main", now, &mut |_| {}).await
    };
    transfer().await.unwrap_err();
    accept_stage(&a).await;
    assert_eq!(stages(&moving).await, (Some(Stage::Leaving), Some(Stage::Arriving)));
    moving.undo().await.unwrap();
    assert_eq!(stages(&moving).await, (None, None));
    is_served().await;
    // One that was killed after them is finished by the next one, and not undone.
    webhooks::prepare_move(conn, a.company, "b", now).await.unwrap();
    webhooks::freeze_for_move(conn, a.company, now).await.unwrap();
    transfer().await.unwrap();
    assert_eq!(stages(&moving).await, (Some(Stage::Left), Some(Stage::Arriving)));
    assert!(matches!(moving.undo().await, Err(Stuck::HasLeft)));
    refuse_stage(&b, "arrived").await;
    moving.run(&mut |_, _| {}).await.unwrap_err();
    accept_stage(&b).await;
    let report = moved(&moving).await;
    assert!(report.rows == 0 && report.log_rows > 0, "{report:?}");
    let signed_in = |rows: &[(&'static str, i64)]| rows.iter().filter(|(table, _)| !table.contains("sign_in")).copied().collect::<Vec<_>>();
    let kept = |rows: &[(&'static str, i64)]| {
        signed_in(rows)
            .into_iter()
            .filter(|(table, _)| !["customer_tokens", "seen_devices", "known_clients"].contains(table))
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(&belongings(&b, a.company).await), kept(&before));
    is_served().await;
}

#[tokio::test]
async fn what_a_late_request_changes_or_adds_moves_too() {
    let (a, b, _) = two(&[]).await;
    let (receiver, _) = a.subscriber("shop.test").await;
    let order = a.order(json!({})).await;
    let moving = the_move(&a, &b);
    let (conn, now) = (&mut a.pool.acquire().await.unwrap(), a.clock.now());
    webhooks::prepare_move(conn, a.company, "b", now).await.unwrap();
    webhooks::freeze_for_move(conn, a.company, now).await.unwrap();
    // A request that was admitted before has changed the order, and commits while the order is being deleted.
    let mut late = a.pool.begin().await.unwrap();
    sqlx::query("update orders set notes = 'late'").execute(&mut *late).await.unwrap();
    let commits = async {
        a.somebody_waits().await;
        late.commit().await.unwrap();
    };
    let (report, ()) = futures::join!(moved(&moving), commits);
    assert!(report.rows > 0);
    let notes: String = sqlx::query_scalar("select notes from orders").fetch_one(&b.pool).await.unwrap();
    assert_eq!(notes, "late", "{order}");

    // Another one is published after the company has left.
    let moving = Move { from: the_move(&a, &b).to, to: the_move(&a, &b).from, ..the_move(&a, &b) };
    let conn = &mut b.pool.acquire().await.unwrap();
    webhooks::prepare_move(conn, a.company, "main", now).await.unwrap();
    webhooks::freeze_for_move(conn, a.company, now).await.unwrap();
    let (mut source, mut target) = (b.pool.acquire().await.unwrap(), a.pool.acquire().await.unwrap());
    moving::transfer(&mut source, &mut target, a.company, "b", now, &mut |_| {}).await.unwrap();
    let late = b.publish_for(a.company, "driver.online").await;
    b.fan_out().await;
    moved(&moving).await;
    a.pass(TimeDelta::seconds(2));
    a.deliver().await;
    let of_late = receiver.received().iter().filter(|post| post.header("x-service-event") == "driver.online").count();
    assert_eq!(of_late, 1, "{}", a.get("deliveries").await);
    a.get(&format!("events/{late}")).await;
    assert_eq!(b.count("select count(*) from outbox").await, 0);
}

#[tokio::test]
async fn what_is_being_cancelled_is_not_made_where_the_company_goes() {
    let (a, b, _) = two(&[]).await;
    let (receiver, webhook) = a.subscriber("shop.test").await;
    a.make_deliveries(3).await;
    assert_eq!(a.count("select count(*) from waiting").await, 3);
    let now = a.clock.now();
    let (mut source, mut target) = (a.pool.acquire().await.unwrap(), b.pool.acquire().await.unwrap());
    webhooks::prepare_move(&mut source, a.company, "b", now).await.unwrap();
    // The webhook is disabled before its company leaves, and the worker has not closed its deliveries.
    sqlx::query("update endpoints set cancelled_before = nextval('waiting_places')").execute(&a.pool).await.unwrap();
    webhooks::freeze_for_move(&mut source, a.company, now).await.unwrap();
    let refusal = moving::transfer(&mut source, &mut target, a.company, "main", now, &mut |_| {}).await.unwrap_err();
    assert!(matches!(refusal, MoveError::Cancelling), "{refusal}");
    drop((source, target));
    assert_eq!(b.count("select count(*) from waiting").await, 0);
    a.close_cancelled().await;
    moved(&the_move(&a, &b)).await;
    a.pass(TimeDelta::seconds(2));
    assert_eq!(b.deliver().await, 0);
    assert!(receiver.received().is_empty());
    let listed = a.get(&format!("deliveries?webhook={}", webhook["id"].as_str().unwrap())).await;
    let states: Vec<_> = listed["deliveries"].as_array().unwrap().iter().map(|delivery| delivery["status"].clone()).collect();
    assert_eq!(states, ["cancelled"; 3], "{listed}");
}

#[tokio::test]
async fn nothing_that_was_acknowledged_is_lost_while_a_company_moves() {
    let (first, second, key) = (database::fresh().await, database::fresh().await, ApplicationKey::generate());
    let settings = [
        ("database.url", first.as_str()),
        ("database.cells.b.url", &second),
        ("application_key", key.expose_secret()),
        ("http.trusted_proxies", "127.0.0.1/32"),
    ];
    printed(&["migrate"], &settings).await;
    let made = async |arguments: &[&str]| {
        serde_json::from_str::<Value>(&printed(&[arguments, &["--cell", "main", "--json"]].concat(), &settings).await).unwrap()
    };
    let company = made(&["company", "create", "Shop"]).await["company"]["id"].as_str().unwrap().to_owned();
    let key =
        made(&["key", "create", "--company", &company, "--scopes", "read,write,events"]).await["key"]["key"].as_str().unwrap().to_owned();
    let mut service = Service::start_with(&[], &settings).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let address = format!("http://{}/fleet/int/v1/orders", service.address);
    let (moving, paused) = (AtomicBool::new(true), AtomicBool::new(false));
    // Four clients create orders and change them, and repeat what has to wait.
    let client = async |number: usize| {
        let (mut acknowledged, mut count) = (Vec::new(), 0);
        while moving.load(Ordering::Relaxed) || count < 20 {
            count += 1;
            let body = json!({ "notes": format!("{number}-{count}") });
            let answer = http.post(&address).bearer_auth(&key).json(&body).send().await.unwrap();
            match answer.status() {
                StatusCode::CREATED => {
                    let order: Value = answer.json().await.unwrap();
                    acknowledged.push(order["order"]["id"].as_str().unwrap().to_owned());
                }
                StatusCode::SERVICE_UNAVAILABLE => {
                    paused.store(true, Ordering::Relaxed);
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
                status => panic!("{status}: {}", answer.text().await.unwrap()),
            }
        }
        acknowledged
    };
    let command = async {
        until("orders are created", async || {
            let pool = database::pool(&first);
            let orders: i64 = sqlx::query_scalar("select count(*) from orders").fetch_one(&pool).await.unwrap();
            orders > 20
        })
        .await;
        printed(&["company", "move", "Shop", "--to", "b"], &settings).await;
        moving.store(false, Ordering::Relaxed);
    };
    let (one, two, three, four, ()) = futures::join!(client(1), client(2), client(3), client(4), command);
    assert!(paused.load(Ordering::Relaxed));
    assert!(service.terminate().await);
    let acknowledged: BTreeSet<_> = [one, two, three, four].concat().into_iter().collect();
    let (pool_a, pool_b) = (database::pool(&first), database::pool(&second));
    let orders: Vec<portico::kernel::ids::OrderId> = sqlx::query_scalar("select id from orders").fetch_all(&pool_b).await.unwrap();
    let orders: BTreeSet<_> = orders.iter().map(ToString::to_string).collect();
    let lost: Vec<_> = acknowledged.difference(&orders).collect();
    assert!(lost.is_empty(), "{lost:?}");
    let created = "select count(*), count(distinct subject_id) from events where name = 'order.created'";
    let (events, about): (i64, i64) = sqlx::query_as(created).fetch_one(&pool_b).await.unwrap();
    assert_eq!((events, about), (orders.len() as i64, orders.len() as i64));
    for table in ["orders", "events", "outbox", "feed", "companies"] {
        let left: i64 = sqlx::query_scalar(AssertSqlSafe(format!("select count(*) from {table}"))).fetch_one(&pool_a).await.unwrap();
        assert_eq!(left, 0, "{table}");
    }
    let (numbers, last): (i64, i64) =
        sqlx::query_as("select count(distinct number), max(number) from feed").fetch_one(&pool_b).await.unwrap();
    assert_eq!(numbers, last, "the feed has no gap");
}
