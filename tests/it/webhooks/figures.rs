//! What was sent, by the hour: `GET webhooks/{uuid}/figures`, `GET webhooks/figures` and `GET figures`.

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::id;
use crate::support::receiver::Reply;

impl World {
    async fn figures(&self, of: &str, period: &str) -> Value {
        self.get(&format!("{of}?period={period}")).await["figures"].take()
    }
}

fn numbers(figures: &Value) -> [u64; 3] {
    ["attempts", "succeeded", "failed"].map(|member| figures[member].as_u64().unwrap())
}

#[tokio::test]
async fn attempts_are_counted_in_the_hour_in_which_they_ended() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let of_webhook = format!("webhooks/{}/figures", id(&webhook));
    let none = world.figures(&of_webhook, "24h").await;
    assert_eq!((numbers(&none), &none["success_rate"], &none["latency"]), ([0, 0, 0], &json!(null), &json!([])));
    assert_eq!(none["series"].as_array().unwrap().len(), 24);

    world.publish_many(5).await;
    assert_eq!(world.deliver().await, 5);
    world.pass(TimeDelta::hours(2));
    receiver.will([Reply::status(500)]);
    world.publish_many(2).await;
    assert_eq!(world.deliver().await, 2);

    let day = world.figures(&of_webhook, "24h").await;
    assert_eq!((numbers(&day), &day["step_hours"]), ([7, 6, 1], &json!(1)));
    let at = |hour: usize| &day["series"][hour];
    assert_eq!((numbers(at(21)), numbers(at(22)), numbers(at(23))), ([5, 5, 0], [0, 0, 0], [2, 1, 1]));
    assert_eq!((&at(21)["at"], &at(23)["success_rate"]), (&json!("2026-05-21T10:00:00.000+00:00"), &json!(0.5)));
    let in_buckets = |outcome: &str| day["latency"].as_array().unwrap().iter().map(|bucket| bucket[outcome].as_u64().unwrap()).sum::<u64>();
    assert_eq!((in_buckets("succeeded"), in_buckets("failed")), (6, 1));
    assert!(day["p50_ms"].as_f64().unwrap() <= day["p95_ms"].as_f64().unwrap());

    // Health and figures are the same numbers.
    let health = world.get(&format!("webhooks/{}", id(&webhook))).await["webhook"]["health"].take();
    for member in ["attempts", "success_rate", "p50_ms", "p95_ms", "failing_since", "consecutive_failures", "circuit"] {
        assert_eq!(health[member], day[member], "{member}");
    }

    // The retry is an attempt of its own, in its own hour. A day later, the first hours have left the period.
    world.pass(TimeDelta::hours(22));
    assert_eq!(world.deliver().await, 1);
    assert_eq!(numbers(&world.figures(&of_webhook, "24h").await), [3, 2, 1]);
    let week = world.figures(&of_webhook, "7d").await;
    assert_eq!((numbers(&week), week["series"].as_array().unwrap().len()), ([8, 7, 1], 28));
    let month = world.figures(&of_webhook, "30d").await;
    assert_eq!((numbers(&month), numbers(&month["series"][28]), numbers(&month["series"][29])), ([8, 7, 1], [7, 6, 1], [1, 1, 0]));
}

#[tokio::test]
async fn a_replay_is_no_part_of_the_figures() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    let delivery = world.last_delivery().await;
    world.developers(Method::POST, &format!("deliveries/{}/replay", id(&delivery)), json!({})).await.ok(201);
    assert_eq!(world.deliver().await, 1);
    assert_eq!(numbers(&world.figures(&format!("webhooks/{}/figures", id(&webhook)), "24h").await), [1, 1, 0]);
}

#[tokio::test]
async fn the_figures_of_a_company_are_those_of_its_webhooks_and_its_events() {
    let world = World::new().await;
    let (_one, first) = world.subscriber("one.test").await;
    let (two, second) = world.subscriber("two.test").await;
    let third = world.endpoint("three.test").await;
    let third = world.subscribe(&third, json!({ "events": ["driver.online"] })).await;
    world.publish_many(2).await;
    world.deliver().await;
    world.pass(TimeDelta::minutes(1));
    two.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.deliver().await;
    let company = world.figures("figures", "24h").await;
    assert_eq!((numbers(&company), &company["events"], &company["series"][23]["events"]), ([6, 5, 1], &json!(3), &json!(3)));

    let ids = [id(&second), id(&first), id(&third)].join(",");
    let several = world.get(&format!("webhooks/figures?ids={ids}")).await["figures"].take();
    let told: Vec<_> = several.as_array().unwrap().iter().map(|of| (of["webhook_id"].as_str().unwrap(), numbers(of))).collect();
    assert_eq!(told, [(id(&second), [3, 2, 1]), (id(&first), [3, 3, 0]), (id(&third), [0, 0, 0])]);
    let failing = world.get("webhooks/figures").await["figures"].take();
    assert_eq!((failing.as_array().unwrap().len(), &failing[0]["webhook_id"]), (1, &second["id"]), "without ids: those that are failing");
    assert_eq!((&several[0]["circuit"], &several[1]["failing_since"]), (&json!("closed"), &json!(null)));

    // Another company has its own.
    let (other, _) = world.another_company(&[]).await;
    world.publish_for(other, "order.created").await;
    world.deliver().await;
    assert_eq!(world.figures("figures", "24h").await["events"], 3);
    world.api(Method::GET, "/developers/int/v1/webhooks/figures?ids=order_1").send().await.refused(422, "parameter_invalid");
    world.api(Method::GET, "/developers/int/v1/figures?period=1y").send().await.refused(422, "parameter_invalid");
    let unknown = format!("/developers/int/v1/webhooks/{}/figures", "webhook_01h455vb4pex5vsknk084sn02q");
    world.api(Method::GET, &unknown).send().await.refused(404, "record_not_found");
}

#[tokio::test]
async fn instances_that_record_at_once_count_everything_once() {
    let here = World::new().await;
    let there = here.another_instance();
    let instances = [&here, &there];
    for number in 0..4 {
        here.subscriber(&format!("shop{number}.test")).await;
    }
    for _ in 0..5 {
        here.make_deliveries(20).await;
        join_all((0..8).map(|turn| async move {
            let world = instances[turn % 2];
            let claimed = world.state.webhooks.claim(10).await.unwrap();
            world.state.webhooks.send_and_record(claimed).await.unwrap();
        }))
        .await;
        here.deliver().await;
        assert_eq!(here.count("select count(*) from in_flight").await, 0);
    }
    assert_eq!(numbers(&here.figures("figures", "24h").await), [400, 400, 0]);
    assert_eq!(here.count("select sum(succeeded) from attempt_hours").await, here.count("select count(*) from attempts").await);
}

#[tokio::test]
async fn counts_are_kept_for_the_longest_period() {
    let world = World::new().await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    world.pass(TimeDelta::days(29));
    world.state.webhooks.maintain_partitions().await.unwrap();
    assert_eq!((numbers(&world.figures("figures", "30d").await), world.count("select count(*) from event_hours").await), ([1, 1, 0], 1));
    world.pass(TimeDelta::days(3));
    world.state.webhooks.maintain_partitions().await.unwrap();
    assert_eq!(world.count("select (select count(*) from attempt_hours) + (select count(*) from event_hours)").await, 0);
}
