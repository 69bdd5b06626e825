//! The feed of a company, by which streams read: decisions, section 7, The feed.

use chrono::TimeDelta;
use futures::future::{join, join_all};
use portico::events;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use crate::support::World;

#[tokio::test]
async fn an_event_that_is_committed_late_comes_late_and_holds_up_no_other() {
    let world = World::new().await;
    let start = world.publish("driver.online").await.to_string();
    world.everything_is_fanned_out().await;
    let mut stream = world.stream(&format!("?after={start}"), None).await;
    let mut late = world.hold().await;
    for name in ["order.created", "order.dispatched"] {
        let event = world.new_event(world.company, name, None);
        events::publish(&mut late, event, world.clock.now()).await.unwrap();
    }
    world.publish("order.updated").await;
    assert_eq!(stream.names(1).await, ["order.updated"]);
    late.commit().await.unwrap();
    assert_eq!(stream.names(2).await, ["order.created", "order.dispatched"]);
}

#[tokio::test]
async fn the_feed_of_a_company_has_no_gaps_whoever_fans_out() {
    let world = World::new().await;
    let (other, _) = world.another_company(&[]).await;
    let instances = [world.another_instance(), world.another_instance(), world.another_instance()];
    let publishing = join_all((0..8).map(|_| async {
        for _ in 0..10 {
            world.publish("order.created").await;
            world.publish_for(other, "order.created").await;
        }
    }));
    let fanning_out = join_all(instances.iter().map(|instance| async {
        for _ in 0..20 {
            instance.state.webhooks.fan_out().await.unwrap();
        }
    }));
    join(publishing, fanning_out).await;
    world.state.webhooks.fan_out().await.unwrap();
    let without_gaps = "select count(*) from (select company_id from feed group by company_id
                        having count(*) = 80 and count(distinct number) = 80 and min(number) = 1 and max(number) = 80) as feeds";
    assert_eq!(world.count(without_gaps).await, 2);
}

#[tokio::test]
async fn an_event_from_before_there_were_numbers_is_no_position() {
    let world = World::new().await;
    let first = world.publish("order.created").await;
    world.everything_is_fanned_out().await;
    sqlx::query("delete from feed").execute(&world.pool).await.unwrap();
    world.api(Method::GET, &format!("/developers/int/v1/events/stream?after={first}")).send().await.refused(404, "record_not_found");
}

#[tokio::test]
async fn a_stream_goes_on_behind_a_test_which_is_never_numbered() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    world.publish("driver.online").await;
    world.everything_is_fanned_out().await;
    world.pass(TimeDelta::milliseconds(1));
    let path = format!("webhooks/{}/test", webhook["id"].as_str().unwrap());
    world.developers(Method::POST, &path, json!({ "event": "payment.succeeded" })).await.ok(201);
    let test: Uuid = sqlx::query_scalar("select id from events where addressed_to is not null").fetch_one(&world.pool).await.unwrap();
    world.pass(TimeDelta::seconds(1));
    world.publish("order.created").await;
    assert_eq!(world.stream("", Some(&test.to_string())).await.names(1).await, ["order.created"]);
}
