//! Replaying and cancelling: decisions, section 7, Routes beside the five.

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::support::World;
use crate::support::fleet::id;
use crate::support::receiver::{Receiver, Reply};

impl World {
    async fn post(&self, path: &str, body: Value) -> crate::support::Answer {
        self.developers(Method::POST, path, body).await
    }
}

#[tokio::test]
async fn a_failed_delivery_is_repeated_as_a_delivery_of_its_own_signed_with_the_secret_of_now() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let failed = world.fail(&receiver, "order.created").await;
    let rotated = world.post(&format!("webhooks/{}/rotate-secret", id(&webhook)), json!({ "overlap": 0 })).await.ok(200);
    let replay = world.post(&format!("deliveries/{}/replay", id(&failed)), json!({})).await.ok(201)["delivery"].take();
    assert_ne!(replay["id"], failed["id"]);
    assert_eq!((&replay["status"], &replay["replay_of"], &replay["event_id"]), (&json!("pending"), &failed["id"], &failed["event_id"]));

    assert_eq!(world.deliver().await, 1);
    let posts = receiver.received();
    let (first, last) = (&posts[0], posts.last().unwrap());
    assert_eq!((last.header("webhook-id"), &last.body), (first.header("webhook-id"), &first.body));
    assert_eq!((last.header("x-service-delivery"), last.header("x-service-attempt")), (id(&replay), "1"));
    let secret = rotated["webhook"]["secret"].as_str().unwrap();
    let digest = portico::kernel::crypto::hmac_sha256(secret.as_bytes(), &[&last.body]);
    assert_eq!(last.header("x-service-signature"), hex::encode(digest));
    assert_eq!(
        world.get(&format!("deliveries/{}", id(&failed))).await["delivery"]["status"],
        "failed",
        "the replayed delivery does not change"
    );
}

#[tokio::test]
async fn a_replay_goes_to_a_disabled_webhook_and_counts_neither_for_nor_against_it() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let failed = world.fail(&receiver, "order.created").await;
    let path = format!("webhooks/{}", id(&webhook));
    world.post(&format!("{path}/disable"), json!({})).await.ok(200);
    let before = world.get(&path).await["webhook"]["health"].take();
    assert_eq!(before["consecutive_failures"], 5);
    for reply in [Reply::status(500), Reply::status(200)] {
        receiver.will([reply]);
        world.post(&format!("deliveries/{}/replay", id(&failed)), json!({})).await.ok(201);
        assert_eq!(world.deliver().await, 1);
    }
    assert_eq!(world.get(&path).await["webhook"]["health"], before);
}

#[tokio::test]
async fn what_is_still_open_or_not_there_is_not_repeated() {
    let world = World::new().await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.fan_out().await;
    let open = world.last_delivery().await;
    world.post(&format!("deliveries/{}/replay", id(&open)), json!({})).await.refused(409, "delivery_open");
    let unknown = "01890a5d-ac96-774b-bcce-b302099a8057";
    for path in ["deliveries/{}/replay", "deliveries/{}/cancel", "events/{}/replay"] {
        world.post(&path.replace("{}", unknown), json!({})).await.refused(404, "record_not_found");
    }
    let since = json!({ "since": "2026-05-21T00:00:00Z" });
    world.post(&format!("webhooks/{unknown}/replay"), since.clone()).await.refused(404, "record_not_found");

    let (_, theirs) = world.another_company(&[Scope::Write]).await;
    let webhook = open["webhook_id"].as_str().unwrap();
    for (path, body) in [
        (format!("deliveries/{}/replay", id(&open)), json!({})),
        (format!("deliveries/{}/cancel", id(&open)), json!({})),
        (format!("events/{}/replay", open["event_id"].as_str().unwrap()), json!({})),
        (format!("webhooks/{webhook}/replay"), since),
    ] {
        let request = world.request(Method::POST, &format!("/developers/int/v1/{path}")).key(&theirs).json(&body);
        request.send().await.refused(404, "record_not_found");
    }
    for bad in
        [json!({}), json!({ "since": "yesterday" }), json!({ "since": "2026-05-21T00:00:00Z", "status": "pending" }), json!({ "sinse": 1 })]
    {
        world.post(&format!("webhooks/{webhook}/replay"), bad).await.refused(422, "body_invalid");
    }
    assert_eq!(world.count("select (select count(*) from replays) + (select count(*) from waiting)").await, 1, "only the open delivery");
}

#[tokio::test]
async fn a_waiting_delivery_is_cancelled_and_a_closed_one_cannot_be() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.deliver().await;
    let path = format!("deliveries/{}/cancel", id(&world.last_delivery().await));
    let cancelled = world.post(&path, json!({})).await.ok(200);
    assert_eq!((&cancelled["delivery"]["status"], &cancelled["delivery"]["next_attempt_at"]), (&json!("cancelled"), &json!(null)));
    world.pass(TimeDelta::hours(12));
    assert_eq!(world.deliver().await, 0);
    world.post(&path, json!({})).await.refused(409, "delivery_closed");
}

#[tokio::test]
async fn a_delivery_cancelled_in_flight_may_arrive_but_is_not_repeated() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.fan_out().await;
    let claimed = world.state.webhooks.claim(1).await.unwrap().pop().unwrap();
    let path = format!("deliveries/{}/cancel", claimed.delivery);
    assert_eq!(world.post(&path, json!({})).await.ok(200)["delivery"]["status"], "cancelled");
    let attempt = world.state.webhooks.send(claimed).await;
    world.state.webhooks.record(&[attempt]).await.unwrap();
    let delivery = world.last_delivery().await;
    assert_eq!((&delivery["status"], delivery["attempts"].as_array().unwrap().len()), (&json!("cancelled"), 1));
    world.pass(TimeDelta::hours(12));
    assert_eq!(world.deliver().await, 0);
}

#[tokio::test]
async fn a_delivery_cancelled_in_flight_is_repeated_once_its_attempt_has_ended() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    let claimed = world.state.webhooks.fan_out_and_claim(1).await.unwrap();
    let path = |action: &str| format!("deliveries/{}/{action}", claimed[0].delivery);
    let (cancel, replay) = (path("cancel"), path("replay"));
    world.post(&cancel, json!({})).await.ok(200);
    world.post(&replay, json!({})).await.refused(409, "delivery_open");
    world.state.webhooks.send_and_record(claimed).await.unwrap();
    world.post(&replay, json!({})).await.ok(201);
    assert_eq!(world.deliver().await, 1);
}

#[tokio::test]
async fn what_failed_since_a_time_is_counted_first_and_then_repeated() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.fail(&receiver, "order.created").await;
    world.pass(TimeDelta::hours(1));
    let since = world.clock.now();
    let arrived_since = world.fail(&receiver, "order.updated").await;
    world.fail(&receiver, "order.dispatched").await;
    world.pass(TimeDelta::hours(1));
    world.post(&format!("deliveries/{}/replay", id(&arrived_since)), json!({})).await.ok(201);
    world.publish("order.started").await;
    world.deliver().await;
    let before = receiver.received().len();

    let path = format!("webhooks/{}/replay", id(&webhook));
    let counted = world.post(&path, json!({ "since": since, "dry_run": true })).await.ok(200);
    assert_eq!(counted["replay"], json!({ "count": 1, "dry_run": true }), "the second event has been delivered");
    assert_eq!(world.deliver().await, 0);
    let delivered = world.post(&path, json!({ "since": since, "status": "delivered", "dry_run": true })).await.ok(200);
    assert_eq!(delivered["replay"]["count"], 1);

    let replay = world.post(&path, json!({ "since": since })).await.ok(202)["replay"].take();
    assert_eq!((&replay["count"], &replay["made"], &replay["finished_at"]), (&json!(1), &json!(0), &json!(null)));
    assert_eq!(world.deliver().await, 1);
    assert_eq!(receiver.received()[before].header("x-service-event"), "order.dispatched");
    let done = world.get(&format!("replays/{}", id(&replay))).await["replay"].take();
    assert_eq!((&done["made"], done["finished_at"].is_string()), (&json!(1), true));
    assert_eq!(world.get(&format!("replays?webhook={}", id(&webhook))).await["replays"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn many_deliveries_are_repeated_once_at_a_time() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.fail(&receiver, "order.created").await;
    world.publish("order.updated").await;
    world.deliver().await;
    let path = format!("webhooks/{}/replay", id(&webhook));
    let again = |status: &str| world.post(&path, json!({ "since": "2026-05-21T00:00:00Z", "status": status }));
    let asked: Vec<_> = join_all((0..6).map(|_| again("delivered"))).await.iter().map(|answer| answer.status).collect();
    assert_eq!(asked.iter().filter(|status| **status == 202).count(), 1, "{asked:?}");
    again("delivered").await.refused(409, "replay_under_way");
    // Others are not in its way, nor is it once it is finished.
    again("failed").await.ok(202);
    assert_eq!(world.deliver().await, 2);
    again("delivered").await.ok(202);
}

#[tokio::test]
async fn an_outage_with_an_end_is_repeated_up_to_it_and_some_events_alone() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let since = world.clock.now();
    for event in ["order.created", "driver.online"] {
        world.fail(&receiver, event).await;
    }
    let until = world.clock.now();
    world.fail(&receiver, "order.updated").await;
    let path = format!("webhooks/{}/replay", id(&webhook));
    let count = async |until: Option<&str>, events: Value| {
        let mut body = json!({ "since": since, "events": events, "dry_run": true });
        if let Some(until) = until {
            body["until"] = json!(until);
        }
        world.post(&path, body).await.ok(200)["replay"]["count"].clone()
    };
    let end = until.to_rfc3339();
    for (until, events, found) in [
        (None, json!([]), 3),
        (None, json!(["*"]), 3),
        (None, json!(["order.*"]), 2),
        (None, json!(["order.updated", "driver.*"]), 2),
        (Some(end.as_str()), json!([]), 2),
        (Some(end.as_str()), json!(["order.*"]), 1),
        (Some(end.as_str()), json!(["order.updated"]), 0),
        (Some("2027-01-01T00:00:00Z"), json!([]), 3),
    ] {
        assert_eq!(count(until, events.clone()).await, found, "{until:?} {events}");
    }

    let before = receiver.count();
    let body = json!({ "since": since, "until": until, "events": ["order.*"] });
    let replay = world.post(&path, body).await.ok(202)["replay"].take();
    assert_eq!((&replay["count"], &replay["events"]), (&json!(1), &json!(["order.*"])));
    assert_eq!(replay["until"].as_str().unwrap().parse::<DateTime<Utc>>().unwrap(), until);
    assert_eq!(world.deliver().await, 1);
    assert_eq!(receiver.received()[before].header("x-service-event"), "order.created");
    let ends_later = world.post(&path, json!({ "since": since, "until": "2027-01-01T00:00:00Z" })).await.ok(202)["replay"].take();
    assert_eq!(
        ends_later["until"].as_str().unwrap().parse::<DateTime<Utc>>().unwrap(),
        world.clock.now(),
        "what fails later is not replayed"
    );
}

/// Creates `count` failed deliveries of each webhook.
async fn many_failed(world: &World, count: usize) {
    world.make_deliveries(count).await;
    let failed = "with gone as (delete from waiting returning *)
                  insert into deliveries (id, company_id, subscription_id, event_id, event, state, attempts, created_at, closed_at)
                  select id, company_id, subscription_id, event_id, event, 'failed', 5, created_at, updated_at from gone";
    sqlx::query(failed).execute(&world.pool).await.unwrap();
}

/// Replays all failed deliveries.
async fn replay_all(world: &World, webhook: &Value) -> String {
    let body = json!({ "since": "2026-05-21T00:00:00Z" });
    id(&world.post(&format!("webhooks/{}/replay", id(webhook)), body).await.ok(202)["replay"]).to_owned()
}

/// The number of deliveries that a replay has created, and whether it is finished.
async fn made(world: &World, replay: &str) -> (i64, bool) {
    let replay = world.get(&format!("replays/{replay}")).await["replay"].take();
    (replay["made"].as_i64().unwrap(), replay["finished_at"].is_string())
}

#[tokio::test]
async fn a_large_replay_goes_on_where_it_was_whoever_works_on_it() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    many_failed(&world, 2500).await;
    let replay = replay_all(&world, &webhook).await;
    assert!(world.state.webhooks.continue_replays().await.unwrap());
    assert_eq!(made(&world, &replay).await, (1000, false), "the worker stops here");
    let (one, other) = (world.another_instance(), world.another_instance());
    let workers = [&one, &other, &one, &other];
    join_all(workers.map(World::finish_replays)).await;
    one.finish_replays().await;
    assert_eq!(made(&world, &replay).await, (2500, true));
    assert_eq!(world.count("select count(*) from waiting").await, 2500);
    assert_eq!(world.count("select count(distinct replay_of) from waiting").await, 2500, "each delivery is replayed once");
}

#[tokio::test]
async fn a_small_replay_does_not_wait_for_a_large_one() {
    let world = World::new().await;
    let (_large, first) = world.subscriber("large.test").await;
    many_failed(&world, 2500).await;
    let large = replay_all(&world, &first).await;
    let (_small, second) = world.subscriber("small.test").await;
    many_failed(&world, 1).await;
    let small = replay_all(&world, &second).await;
    assert!(world.state.webhooks.continue_replays().await.unwrap());
    assert_eq!((made(&world, &large).await, made(&world, &small).await), ((1000, false), (1, true)));
}

#[tokio::test]
async fn a_replay_that_cannot_go_on_holds_up_neither_other_replays_nor_events() {
    let world = World::new().await;
    let (broken_receiver, first) = world.subscriber("broken.test").await;
    let (sound_receiver, second) = world.subscriber("sound.test").await;
    many_failed(&world, 3).await;
    let (broken, sound) = (replay_all(&world, &first).await, replay_all(&world, &second).await);
    let refuse = format!(
        "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
         create trigger refuse before insert on waiting for each row
         when (new.replay_of is not null and new.subscription_id = '{}') execute function refuse();",
        first["uuid"].as_str().unwrap()
    );
    sqlx::raw_sql(AssertSqlSafe(refuse)).execute(&world.pool).await.unwrap();
    world.publish("order.updated").await;
    world.deliver().await;
    assert_eq!((broken_receiver.count(), sound_receiver.count()), (1, 1 + 3), "both receive the event, and the second one the replays");
    assert_eq!((made(&world, &broken).await, made(&world, &sound).await), ((0, false), (3, true)));
    sqlx::query("drop function refuse() cascade").execute(&world.pool).await.unwrap();
    assert_eq!(world.deliver().await, 3);
    assert_eq!(made(&world, &broken).await, (3, true));
}

#[tokio::test]
async fn disabling_a_webhook_ends_its_replay() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.fail(&receiver, "order.created").await;
    let path = format!("webhooks/{}", id(&webhook));
    let replay = world.post(&format!("{path}/replay"), json!({ "since": "2026-05-21T00:00:00Z" })).await.ok(202)["replay"].take();
    world.post(&format!("{path}/disable"), json!({})).await.ok(200);
    assert_eq!(world.deliver().await, 0);
    let ended = world.get(&format!("replays/{}", id(&replay))).await["replay"].take();
    assert_eq!((&ended["made"], ended["finished_at"].is_string()), (&json!(0), true));
}

#[tokio::test]
async fn what_failed_is_repeated_to_a_webhook_that_is_disabled_already() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.fail(&receiver, "order.created").await;
    let path = format!("webhooks/{}", id(&webhook));
    world.post(&format!("{path}/disable"), json!({})).await.ok(200);
    let since = json!({ "since": "2026-05-21T00:00:00Z" });
    let replay = id(&world.post(&format!("{path}/replay"), since).await.ok(202)["replay"]).to_owned();
    assert_eq!(world.deliver().await, 1);
    assert_eq!(made(&world, &replay).await, (1, true));
    assert_eq!(world.last_delivery().await["status"], "delivered");
    assert_eq!(world.get(&path).await["webhook"]["status"], "disabled");
}

#[tokio::test]
async fn one_event_is_repeated_to_everybody_who_wants_it_and_does_not_wait_for_it() {
    let world = World::new().await;
    let (first, _) = world.subscriber("first.test").await;
    let event = world.publish("order.created").await;
    world.deliver().await;
    let (later, _) = world.subscriber("later.test").await;
    let other = world.endpoint("other.test").await;
    world.subscribe(&other, json!({ "events": ["driver.*"] })).await;
    let (disabled, webhook) = world.subscriber("disabled.test").await;
    world.post(&format!("webhooks/{}/disable", id(&webhook)), json!({})).await.ok(200);

    let path = format!("events/{event}/replay");
    let counted = world.post(&path, json!({ "dry_run": true })).await.ok(200);
    assert_eq!(counted["replay"], json!({ "event_id": event, "count": 2, "dry_run": true }));
    assert_eq!(world.deliver().await, 0);
    assert_eq!(world.post(&path, json!({})).await.ok(201)["replay"]["count"], 2);
    assert_eq!(world.post(&path, json!({})).await.ok(201)["replay"]["count"], 0, "both subscriptions have an open delivery of it");
    assert_eq!(world.deliver().await, 2);
    let arrived = |receiver: &Receiver| receiver.received().len();
    assert_eq!((arrived(&first), arrived(&later), arrived(&other), arrived(&disabled)), (2, 1, 0, 0));
    assert_eq!(later.received()[0].header("webhook-id"), event.to_string());
}
