//! One event for any number of webhooks: it is fanned out in slices, and the companies take turns.

use futures::future::join_all;
use portico::callers::Scope;
use portico::kernel::ids::CompanyId;
use portico::webhooks;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use crate::support::World;
use crate::support::waiting::until;

/// More webhooks than one statement makes deliveries for.
const CROWD: i64 = 1_200;
/// Each event is followed by another one of its company as soon as it is fanned out, until there were five. What is noted of each: its company, and
/// when the statement began that fanned it out.
const FOLLOWED: &str = "
    create table turns (place bigint generated always as identity, company_id uuid not null, began_at timestamptz not null default now());
    create function follow() returns trigger language plpgsql as $$
    begin
        insert into turns (company_id) values (old.company_id);
        insert into outbox (event_id, company_id, name)
        select gen_random_uuid(), old.company_id, old.name where (select count(*) from turns where company_id = old.company_id) < 5;
        return null;
    end $$;
    create trigger follow after delete on outbox for each row execute function follow();";
/// Fan-out stands still at a gate, which is open unless somebody has its row: behind the beginning of the statement, and before it locks an event.
const GATE: &str = "
    create table gate as select 1 as id;
    create function pass() returns boolean language plpgsql as $$ begin perform id from gate for share; return true; end $$;
    create or replace view moving_companies as
    select company_id, stage = 'arrived' as arrived from company_moves where stage <> 'preparing'
    union all select '00000000-0000-0000-0000-000000000000'::uuid, false where pass();";

/// Gives `company` this many webhooks like the only one there is.
pub async fn crowd(world: &World, company: CompanyId, webhooks: i64) {
    let sql = "with made as (
           insert into subscriptions (id, company_id, url, events, api_version, signature_format, headers, timeout, ordering, status, sealed_secret,
                                      created_at, updated_at)
           select overlay(id::text placing right(gen_random_uuid()::text, 12) from 25)::uuid, $1, url, events, api_version, signature_format, headers, timeout,
                  ordering, status, sealed_secret, created_at, updated_at
           from (select * from subscriptions order by created_at, id limit 1) as one, generate_series(1, $2) as n
           returning id
       )
       insert into endpoints (subscription_id) select id from made";
    sqlx::query(sql).bind(company.uuid()).bind(webhooks).execute(&world.pool).await.unwrap();
}

#[tokio::test]
async fn a_company_whose_first_event_another_transaction_has_is_passed_over_and_no_other() {
    let world = World::new().await;
    let (other, _) = world.another_company(&[Scope::Read]).await;
    world.fan_out().await;
    let [first, second] = ["order.created", "order.updated"];
    world.publish(first).await;
    world.publish(second).await;
    world.publish_for(other, first).await;
    // As a fan-out has it, of this version or of the one before.
    let mut fanning_out = world.hold().await;
    sqlx::query("select from outbox where company_id = $1 order by position limit 1 for update")
        .bind(world.company.uuid())
        .execute(&mut *fanning_out)
        .await
        .unwrap();
    world.fan_out().await;
    let left = "select count(*) from outbox";
    assert_eq!(world.count(left).await, 2, "the second event waits for the first");
    drop(fanning_out);
    until("the lock is gone", async || {
        world.fan_out().await;
        world.count(left).await == 0
    })
    .await;
}

#[tokio::test]
async fn an_event_for_more_webhooks_than_one_statement_serves_reaches_each_of_them_once() {
    let world = World::new().await;
    let there = world.another_instance();
    world.subscriber("shop.test").await;
    crowd(&world, world.company, CROWD).await;
    world.publish_many(3).await;
    let flights = join_all((0..6).map(|turn| [&world, &there][turn % 2].state.webhooks.fan_out_and_claim(10))).await;
    world.fan_out().await;
    let made = "select count(*) from (select event_id, subscription_id from waiting union select event_id, subscription_id from in_flight) as made";
    assert_eq!(world.count(made).await, 3 * (CROWD + 1));
    let rows = "select (select count(*) from waiting) + (select count(*) from in_flight)";
    assert_eq!(world.count(rows).await, 3 * (CROWD + 1), "none is made twice");
    assert_eq!(world.count("select count(*) from outbox").await, 0);
    assert!(flights.into_iter().flatten().flatten().count() > 0);
}

#[tokio::test]
async fn a_slice_ends_within_an_event_and_the_next_one_goes_on_behind_it() {
    let world = World::new().await;
    world.subscriber("shop.test").await;
    crowd(&world, world.company, CROWD).await;
    world.publish("order.created").await;
    let made = || world.count("select count(*) from waiting");
    let mut before = 0;
    while world.count("select count(*) from outbox").await > 0 {
        assert!(world.state.webhooks.fan_out_and_claim(0).await.unwrap().is_empty());
        let now = made().await;
        assert!(now - before <= 500, "{now} deliveries after {before}");
        before = now;
    }
    assert_eq!(before, CROWD + 1);
}

#[tokio::test]
async fn slices_keep_the_order_of_events_about_a_record() {
    let world = World::new().await;
    world.subscriber_in_order("shop.test").await;
    crowd(&world, world.company, CROWD).await;
    let record = Uuid::from_u128(7);
    for _ in 0..3 {
        world.publish_about(record, "order.updated").await;
    }
    world.fan_out().await;
    assert_eq!(world.count("select count(*) from waiting where lane = 0 and sequence = 1").await, CROWD + 1);
    assert_eq!(world.count("select count(*) from waiting where lane = 2 and sequence > 1").await, 2 * (CROWD + 1));
}

#[tokio::test]
async fn a_webhook_that_is_disabled_between_two_slices_gets_nothing() {
    let world = World::new().await;
    world.subscriber("shop.test").await;
    crowd(&world, world.company, CROWD).await;
    world.publish("order.created").await;
    world.state.webhooks.fan_out_and_claim(0).await.unwrap();
    let disable = "update subscriptions set status = 'disabled', disabled_at = now(), disabled_reason = 'requested'
                   where id not in (select subscription_id from waiting)";
    assert!(sqlx::query(disable).execute(&world.pool).await.unwrap().rows_affected() > 600);
    world.fan_out().await;
    assert_eq!(world.count("select count(*) from waiting").await, 500);
}

#[tokio::test]
async fn a_webhook_that_is_disabled_while_an_event_is_fanned_out_gets_nothing() {
    let world = World::new().await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    let mut disabling = world.hold().await;
    let disable = "update subscriptions set status = 'disabled', disabled_at = now(), disabled_reason = 'requested'";
    sqlx::query(disable).execute(&mut *disabling).await.unwrap();
    let disabled = async {
        world.somebody_waits().await;
        disabling.commit().await.unwrap();
    };
    let (flown, ()) = tokio::join!(world.state.webhooks.fan_out_and_claim(10), disabled);
    assert_eq!(flown.unwrap().len(), 0);
    assert_eq!(world.count("select (select count(*) from waiting) + (select count(*) from outbox)").await, 0);
}

#[tokio::test]
async fn what_another_has_fanned_out_since_a_statement_began_is_not_fanned_out_again() {
    let world = World::new().await;
    world.subscriber("shop.test").await;
    crowd(&world, world.company, 9).await;
    world.publish("order.created").await;
    sqlx::raw_sql(GATE).execute(&world.pool).await.unwrap();
    let mut gate = world.hold().await;
    sqlx::query("select from gate for update").execute(&mut *gate).await.unwrap();
    let meanwhile = async {
        world.somebody_waits().await;
        // As it is left by a slice that has ended at the fourth webhook.
        let reached = "update outbox set reached = (select id from subscriptions order by id limit 1 offset 3)";
        assert_eq!(sqlx::query(reached).execute(&world.pool).await.unwrap().rows_affected(), 1);
        gate.rollback().await.unwrap();
    };
    let (flown, ()) = tokio::join!(world.state.webhooks.fan_out_and_claim(0), meanwhile);
    assert_eq!(flown.unwrap().len(), 0);
    assert_eq!(world.count("select count(*) from waiting").await, 6);
    assert_eq!(world.count("select count(*) from outbox").await, 0);
}

#[tokio::test]
async fn an_event_for_more_webhooks_than_a_statement_compares_it_with_reaches_all_of_them() {
    const WEBHOOKS: i64 = 4_500;
    let world = World::new().await;
    world.subscriber("shop.test").await;
    crowd(&world, world.company, WEBHOOKS).await;
    world.publish("order.created").await;
    world.fan_out().await;
    assert_eq!(world.count("select count(distinct subscription_id) from waiting").await, WEBHOOKS + 1);
    assert_eq!(world.count("select count(*) from waiting").await, WEBHOOKS + 1);
}

#[tokio::test]
async fn companies_with_much_to_do_share_what_a_statement_makes() {
    let world = World::new().await;
    world.subscriber("shop.test").await;
    let (other, _) = world.another_company(&[]).await;
    for company in [world.company, other] {
        crowd(&world, company, CROWD).await;
        world.publish_for(company, "order.created").await;
    }
    assert!(world.state.webhooks.fan_out_and_claim(0).await.unwrap().is_empty());
    let of_each: Vec<i64> = sqlx::query_scalar("select count(*) from waiting group by company_id").fetch_all(&world.pool).await.unwrap();
    assert_eq!(of_each, [250, 250]);
    world.fan_out().await;
    assert_eq!(world.count("select count(*) from waiting").await, 2 * CROWD + 1);
}

#[tokio::test]
async fn twenty_companies_at_a_time_have_their_turn_and_then_the_next_ones_whatever_the_first_have_meanwhile() {
    let world = World::new().await;
    sqlx::raw_sql(FOLLOWED).execute(&world.pool).await.unwrap();
    for _ in 0..25 {
        let (other, _) = world.another_company(&[]).await;
        world.publish_for(other, "order.created").await;
    }
    world.fan_out().await;
    let most = "select max(companies) from (select count(distinct company_id) as companies from turns group by began_at) as statements";
    assert_eq!(world.count(most).await, 20);
    let by_two = "select count(distinct company_id) from (select company_id from turns order by place limit 40) as first";
    assert_eq!(world.count(by_two).await, 25, "the second statement begins where the first has ended");
    assert_eq!(world.count("select count(*) from turns").await, 25 * 5);
}

#[tokio::test]
async fn a_company_that_is_alone_has_one_turn_after_the_other_without_polling() {
    let world = World::with(&[("webhooks.poll_interval", "1h")]).await;
    let receiver = world.endpoint("shop.test").await;
    // Its events go by the outbox, and wake the dispatcher of this instance once each.
    world.subscribe(&receiver, json!({ "ordering": "resource" })).await;
    world.state.webhooks.start_worker(&world.lifecycle);
    for count in 1..=5 {
        world.developers(Method::POST, "events", world.sample_of("order.created")).await.ok(201);
        receiver.waits_for(count).await;
    }
}

#[tokio::test]
async fn the_events_of_a_company_on_its_way_to_another_cell_stay_in_the_outbox() {
    let world = World::new().await;
    let (other, _) = world.another_company(&[]).await;
    let mut conn = world.pool.acquire().await.unwrap();
    webhooks::prepare_move(&mut conn, world.company, "b", world.clock.now()).await.unwrap();
    assert!(webhooks::freeze_for_move(&mut conn, world.company, world.clock.now()).await.unwrap());
    for company in [world.company, other] {
        world.publish_for(company, "order.created").await;
    }
    world.fan_out().await;
    let left: Vec<Uuid> = sqlx::query_scalar("select company_id from outbox").fetch_all(&world.pool).await.unwrap();
    assert_eq!(left, [world.company.uuid()]);
    webhooks::undo_move(&mut conn, world.company).await.unwrap();
    world.fan_out().await;
    assert_eq!(world.count("select count(*) from outbox").await, 0);
}

#[tokio::test]
async fn no_company_waits_for_the_events_of_another() {
    let world = World::new().await;
    world.subscriber("shop.test").await;
    crowd(&world, world.company, CROWD).await;
    world.publish_many(50).await;
    let mut others = Vec::new();
    for _ in 0..30 {
        let (other, _) = world.another_company(&[]).await;
        crowd(&world, other, 1).await;
        world.publish_for(other, "order.created").await;
        others.push(other.uuid());
    }
    // More companies have events than one statement serves.
    for _ in 0..2 {
        assert!(world.state.webhooks.fan_out_and_claim(0).await.unwrap().is_empty());
    }
    let served: i64 =
        sqlx::query_scalar("select count(*) from waiting where company_id = any($1)").bind(&others).fetch_one(&world.pool).await.unwrap();
    assert!(served >= 20, "{served} of 30 companies are served by the first statements");
    world.fan_out().await;
    assert_eq!(world.count("select count(*) from waiting").await, 50 * (CROWD + 1) + 30);
}
