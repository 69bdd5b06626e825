//! Lists that are followed: decisions, section 9 (`follow`). Whoever polls one misses nothing, whenever the transactions of others commit.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::{id, uuid};

const WRITERS: usize = 8;
const ORDERS_OF_EACH: usize = 50;

/// One page: the ids of its records, and where the next one begins.
async fn page(world: &World, list: &str, after: Option<&str>) -> (Vec<String>, String) {
    let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
    let page = world.fleet_list(&format!("{list}&follow=true{after}")).await;
    let records = page.as_object().unwrap().values().next().unwrap().as_array().unwrap();
    (
        records.iter().map(|record| id(record).to_owned()).collect(),
        page["meta"]["next"].as_str().expect("there is always a next page").to_owned(),
    )
}

#[tokio::test]
async fn whoever_polls_beside_eight_who_write_sees_every_order() {
    let world = World::new().await;
    let written = AtomicBool::new(false);
    let writers = (0..WRITERS).map(|_| async {
        let mut own = Vec::new();
        for _ in 0..ORDERS_OF_EACH {
            // Minutes pass for all of them together, so that most of the list is settled before the last one is done.
            world.pass(TimeDelta::milliseconds(400));
            own.push(id(&world.order(json!({})).await).to_owned());
        }
        own
    });
    let writing = async {
        let made: HashSet<_> = join_all(writers).await.into_iter().flatten().collect();
        written.store(true, Ordering::SeqCst);
        made
    };
    let polling = async {
        let (mut seen, mut next) = (HashSet::new(), None::<String>);
        loop {
            let is_last = written.load(Ordering::SeqCst);
            loop {
                let (records, after) = page(&world, "orders?limit=20", next.as_deref()).await;
                next = Some(after);
                let is_full = records.len() == 20;
                seen.extend(records);
                if !is_full {
                    break;
                }
            }
            if is_last {
                return seen;
            }
        }
    };
    let (made, seen) = futures::join!(writing, polling);
    assert_eq!(made.len(), WRITERS * ORDERS_OF_EACH);
    assert_eq!(seen, made);
}

#[tokio::test]
async fn an_order_whose_transaction_lasts_appears_behind_nobody() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let mut busy = world.hold().await;
    sqlx::query("select from drivers where id = $1 for update").bind(uuid(&driver)).execute(&mut *busy).await.unwrap();
    // It has the instant of its beginning, and waits for its driver.
    let held = world.fleet(Method::POST, "orders").json(&json!({ "driver": id(&driver) })).send();
    let meanwhile = async {
        world.somebody_waits().await;
        world.pass(TimeDelta::seconds(10));
        let newer = world.order(json!({})).await;
        let (seen, next) = page(&world, "orders?limit=10", None).await;
        assert_eq!(seen, [id(&newer)]);
        let (seen, behind_full) = page(&world, "orders?limit=1", None).await;
        assert_eq!(seen, [id(&newer)]);
        busy.rollback().await.unwrap();
        (id(&newer).to_owned(), next, behind_full)
    };
    let (held, (newer, next, behind_full)) = futures::join!(held, meanwhile);
    let held = id(&held.ok(201)["order"]).to_owned();
    let (mut seen, mut after) = (Vec::new(), behind_full);
    for _ in 0..4 {
        let (records, next) = page(&world, "orders?limit=1", Some(&after)).await;
        seen.push(records);
        after = next;
    }
    assert_eq!(seen, [vec![], vec![held.clone()], vec![newer.clone()], vec![]], "behind a full page, an empty one leads back");
    // It is older than what was seen before it. What was seen comes again.
    let (seen, next) = page(&world, "orders?limit=10", Some(&next)).await;
    assert_eq!(seen, [held, newer]);
    world.pass(TimeDelta::minutes(2));
    let (_, settled) = page(&world, "orders?limit=10", Some(&next)).await;
    assert_eq!(page(&world, "orders?limit=10", Some(&settled)).await.0, [""; 0], "what is settled comes once");
    assert_eq!(world.order(json!({})).await["id"], page(&world, "orders?limit=10", Some(&settled)).await.0[0]);
}

#[tokio::test]
async fn who_reads_several_pages_goes_back_to_where_the_list_was_settled() {
    let world = World::new().await;
    let mut orders = Vec::new();
    for _ in 0..5 {
        world.pass(TimeDelta::seconds(1));
        orders.push(id(&world.order(json!({})).await).to_owned());
    }
    let (mut seen, mut next) = (Vec::new(), None::<String>);
    for _ in 0..6 {
        let (records, after) = page(&world, "orders?limit=2", next.as_deref()).await;
        seen.extend(records);
        next = Some(after);
    }
    assert_eq!(seen, [orders.clone(), orders].concat());
}

#[tokio::test]
async fn who_asks_for_as_many_as_there_are_is_told_to_wait() {
    let world = World::new().await;
    let mut orders = Vec::new();
    for _ in 0..10 {
        world.pass(TimeDelta::milliseconds(100));
        orders.push(id(&world.order(json!({})).await).to_owned());
    }
    for sort in ["created_at", "updated_at"] {
        for limit in [1, 2, 5, 10] {
            let (list, mut next) = (format!("orders?limit={limit}&sort={sort}"), None::<String>);
            for round in 1..=2 {
                // The guide says to wait after a page that is not full, so each round needs one.
                for expected in orders.chunks(limit).chain(std::iter::once::<&[String]>(&[])) {
                    let (records, after) = page(&world, &list, next.as_deref()).await;
                    assert_eq!(records, expected, "{list}, round {round}");
                    next = Some(after);
                }
            }
        }
    }
}

#[tokio::test]
async fn changes_are_followed_as_what_is_new_is() {
    let world = World::new().await;
    let first = world.driver("Ada").await;
    world.pass(TimeDelta::seconds(1));
    let second = world.driver("Bob").await;
    world.pass(TimeDelta::minutes(5));
    let list = "drivers?limit=10&sort=updated_at";
    let (seen, next) = page(&world, list, None).await;
    assert_eq!(seen.len(), 2);
    assert_eq!(page(&world, list, Some(&next)).await.0, [""; 0]);
    world.change_driver(&first, json!({ "name": "Ada L." })).await;
    world.pass(TimeDelta::seconds(1));
    // Somebody who moves every second is not overlooked.
    for step in 0..3 {
        world.pass(TimeDelta::seconds(1));
        let position = json!({ "latitude": step, "longitude": 1 });
        world.fleet(Method::POST, &format!("drivers/{}/track", id(&second))).json(&position).send().await.ok(200);
        assert_eq!(page(&world, list, Some(&next)).await.0, [id(&first), id(&second)]);
    }
    let changed_since = async |instant: &str| world.listed(&format!("drivers?updated_after={instant}&sort=created_at")).await;
    assert_eq!(changed_since("2026-05-21T10:15:00Z").await, [id(&first), id(&second)]);
    assert_eq!(changed_since("2026-05-21T10:20:01.000%2B00:00").await, [id(&second)]);
    assert_eq!(world.listed("drivers?updated_before=2026-05-21T10:20:02Z").await, [id(&first)]);
    assert_eq!(world.listed("drivers?sort=-updated_at").await, [id(&second), id(&first)]);
}

#[tokio::test]
async fn what_is_narrowed_by_changes_reads_so_many_records_for_a_page_and_goes_on() {
    let world = World::new().await;
    sqlx::query(
        "insert into fleets (id, company_id, version, created_at, updated_at, name, status, meta)
         select gen_random_uuid(), $1, 1, now() - number * interval '1 second', case number when 5500 then now() else now() - interval '1 day' end,
                'Fleet', 'active', '{}'
         from generate_series(1, 6000) as number",
    )
    .bind(world.company.uuid())
    .execute(&world.pool)
    .await
    .unwrap();
    let since: String = sqlx::query_scalar("select to_char(now() - interval '1 hour', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    let first = world.fleet_list(&format!("fleets?updated_after={since}")).await;
    assert_eq!(first["fleets"], json!([]));
    let next = first["meta"]["next"].as_str().unwrap();
    let second = world.fleet_list(&format!("fleets?updated_after={since}&after={next}")).await;
    assert_eq!((second["fleets"].as_array().unwrap().len(), &second["meta"]["next"]), (1, &Value::Null));
    let sorted = world.fleet_list(&format!("fleets?updated_after={since}&sort=updated_at")).await;
    assert_eq!((&sorted["fleets"], &sorted["meta"]["next"]), (&second["fleets"], &Value::Null));
}

#[tokio::test]
async fn only_what_grows_at_its_end_is_followed() {
    let world = World::new().await;
    world.driver("Ada").await;
    world.driver("Bob").await;
    let next = world.fleet_list("drivers?limit=1").await["meta"]["next"].as_str().unwrap().to_owned();
    for (parameters, name) in [
        ("follow=true&sort=-created_at".to_owned(), "follow"),
        ("follow=true&sort=-updated_at".to_owned(), "follow"),
        (format!("follow=true&after={next}"), "follow"),
        ("follow=always".to_owned(), "follow"),
        (format!("sort=updated_at&after={next}"), "after"),
        ("updated_after=today".to_owned(), "updated_after"),
    ] {
        let refusal = world.fleet(Method::GET, &format!("drivers?{parameters}")).send().await.refused(422, "parameter_invalid");
        assert_eq!(refusal["parameter"], name, "{parameters}");
    }
}
