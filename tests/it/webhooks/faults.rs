//! At least once, whatever fails: the worker, the database, and what endpoints answer (architecture, An event).

use std::collections::BTreeSet;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portico::kernel::lifecycle::Lifecycle;
use portico::kernel::secrets::random_bytes;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tokio::process::Child;

use crate::support::World;
use crate::support::http2::{Refusal, refusing};
use crate::support::program::portico;
use crate::support::receiver::{Received, Receiver, Reply, authority};
use crate::support::subscribers::last_attempt;

fn ids(posts: &[Received]) -> BTreeSet<String> {
    posts.iter().map(|post| post.header("webhook-id").to_owned()).collect()
}

/// A worker on the world's database, in a process of its own.
fn worker(world: &World) -> Child {
    let settings = [
        ("application_key", world.application_key_setting.as_str()),
        ("database.url", &world.database),
        ("webhooks.allowed_networks", "127.0.0.0/8"),
        ("webhooks.extra_root_certificates", authority().certificate_path().to_str().unwrap()),
    ];
    portico(&["serve"], &settings).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[tokio::test]
async fn a_worker_killed_twenty_times_in_a_drain_delivers_everything_and_claims_nothing_that_did_not_arrive() {
    const EVENTS: usize = 5_000;
    let world = World::new().await;
    world.names.point("localhost", &["127.0.0.1".parse().unwrap()]);
    let receiver = Receiver::start_for_many("localhost").await;
    world.subscribe(&receiver, json!({})).await;
    let published = world.publish_many(EVENTS).await;
    for _ in 0..20 {
        let [more] = random_bytes();
        let mut killed = worker(&world);
        receiver.waits_for((receiver.count() + 100 + usize::from(more % 125)).min(EVENTS)).await;
        killed.kill().await.unwrap();
        // A minute passes, and its leases with it.
        sqlx::query("update in_flight set claimed_at = claimed_at - interval '1 minute'").execute(&world.pool).await.unwrap();
    }
    let mut last = worker(&world);
    receiver.waits_until(|posts| posts.len() >= EVENTS && ids(posts) == published).await;
    kill(Pid::from_raw(last.id().unwrap().cast_signed()), Signal::SIGTERM).unwrap();
    assert!(last.wait().await.unwrap().success(), "it finishes what is in flight and ends");

    let delivered: Vec<uuid::Uuid> =
        sqlx::query_scalar("select event_id from deliveries where state = 'delivered'").fetch_all(&world.pool).await.unwrap();
    assert_eq!(delivered.len(), EVENTS, "each is delivered, and is so once");
    let interrupted = world.count("select count(*) from attempts where error = 'interrupted'").await;
    let duplicates = receiver.count() - EVENTS;
    assert!(interrupted > 0, "it was killed in the middle of something");
    assert!(duplicates as i64 <= interrupted, "{duplicates} arrived twice, {interrupted} attempts were interrupted");
    assert_eq!(world.count("select count(*) from attempts where error is distinct from 'interrupted' and status <> 200").await, 0);
    assert_eq!(world.count("select sum(in_flight) from endpoints").await, 0);
}

#[tokio::test]
async fn a_full_disk_and_serialization_failures_hold_up_deliveries_and_lose_none() {
    for code in ["53100", "40001"] {
        let world = World::with(&[("webhooks.endpoint_concurrency", "15")]).await;
        let (receiver, _) = world.subscriber("shop.test").await;
        let published = world.publish_many(30).await;
        // Of what is fanned out, of what is claimed and of what is recorded, every third batch is refused, the first one included.
        let refuse = format!(
            "create sequence refused_in_outbox;
             create sequence refused_in_in_flight;
             create sequence refused_in_attempts;
             create function refuse() returns trigger language plpgsql as $$
             begin
                 if nextval(('refused_in_' || tg_table_name)::regclass) % 3 = 1 then raise exception 'refused' using errcode = '{code}'; end if;
                 return null;
             end $$;
             create trigger refuse before delete on outbox for each statement execute function refuse();
             create trigger refuse before insert on in_flight for each statement execute function refuse();
             create trigger refuse before insert on attempts for each statement execute function refuse();"
        );
        sqlx::raw_sql(AssertSqlSafe(refuse)).execute(&world.pool).await.unwrap();
        let lifecycle = Lifecycle::default();
        world.state.webhooks.start_worker(&lifecycle);
        receiver.waits_until(|posts| ids(posts) == published).await;
        lifecycle.stop().await;
        for table in ["outbox", "in_flight", "attempts"] {
            let asked = AssertSqlSafe(format!("select last_value from refused_in_{table}"));
            let asked: i64 = sqlx::query_scalar(asked).fetch_one(&world.pool).await.unwrap();
            assert!(asked > 1, "what was refused in {table} was done again");
        }
        sqlx::query("drop function refuse() cascade").execute(&world.pool).await.unwrap();
        // What could not be recorded before it stopped is still leased.
        world.pass(chrono::TimeDelta::minutes(1));
        world.deliver().await;
        assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 30, "{code}");
    }
}

/// One event for one endpoint that answers with `reply` within a timeout of a second.
async fn answered_with(reply: Reply) -> Value {
    let world = World::new().await;
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "timeout": 1 })).await;
    receiver.will([reply]);
    world.publish("order.created").await;
    assert_eq!(world.deliver().await, 1);
    world.last_delivery().await
}

#[tokio::test]
async fn ten_gigabytes_of_an_answer_are_not_read() {
    let delivery = answered_with(Reply::Flood).await;
    assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("delivered"), (Some(200), None)), "before its deadline");
    assert_eq!(delivery["attempts"][0]["response_body"].as_str().unwrap().len(), 16 * 1024);
}

#[tokio::test]
async fn an_answer_is_never_unpacked() {
    // 10 MiB of zeros make ten kilobytes; we ask for no such thing and look at it no further.
    let packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xed, 0xc1, 1, 1];
    let delivery = answered_with(Reply::Answer(200, vec![("content-encoding", "gzip".to_owned())], packed.clone())).await;
    assert_eq!(last_attempt(&delivery), (Some(200), None));
    assert_eq!(delivery["attempts"][0]["response_body"], String::from_utf8_lossy(&packed).as_ref());
    assert_eq!(delivery["attempts"][0]["request_headers"].get("accept-encoding"), None);
}

#[tokio::test]
async fn a_connection_that_ends_within_a_header_is_a_failure() {
    let delivery = answered_with(Reply::BreakOffEarly).await;
    assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("retrying"), (None, Some("closed"))));
}

#[tokio::test]
async fn interim_answers_are_waited_out_until_the_deadline() {
    let delivery = answered_with(Reply::Interim(Some(3))).await;
    assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("delivered"), (Some(200), None)));
    let delivery = answered_with(Reply::Interim(None)).await;
    assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("retrying"), (None, Some("timeout"))));
}

#[tokio::test]
async fn a_stream_that_is_reset_and_a_connection_that_is_sent_away_are_failures() {
    for refusal in [Refusal::Reset, Refusal::GoAway] {
        let world = World::new().await;
        world.names.point("shop.test", &["127.0.0.1".parse().unwrap()]);
        let url = refusing("shop.test", refusal).await;
        world.developers(Method::POST, "webhooks", json!({ "url": url, "timeout": 5 })).await.ok(201);
        world.publish("order.created").await;
        assert_eq!(world.deliver().await, 1);
        let delivery = world.last_delivery().await;
        assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("retrying"), (None, Some("closed"))), "{refusal:?}");
    }
}
