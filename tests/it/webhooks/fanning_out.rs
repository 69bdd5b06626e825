//! One event for any number of webhooks: it is fanned out in slices, and the companies take turns.

use futures::future::join_all;
use portico::callers::Scope;
use portico::kernel::ids::CompanyId;
use uuid::Uuid;

use crate::support::World;
use crate::support::waiting::until;

/// More webhooks than one statement makes deliveries for.
const CROWD: i64 = 1_200;

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
