//! Charts, the list of webhooks, and pausing, as an operator sees them.

use chrono::TimeDelta;
use portico::operators::Role;
use serde_json::json;

use crate::support::World;
use crate::support::fleet::id;
use crate::support::receiver::Reply;

#[tokio::test]
async fn the_overview_opens_with_what_was_published_and_sent() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    tab.open("/console").await.says("Nothing was published or sent in this period.").says_nothing_of("<svg");

    let (receiver, _) = world.subscriber("hooks.test").await;
    world.publish_many(3).await;
    world.deliver().await;
    world.pass(TimeDelta::minutes(1));
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.deliver().await;
    let shown = tab.open("/console").await;
    shown.says("<dt>Events</dt><dd>4</dd>").says("<dt>Success</dt><dd>75.0 %</dd>");
    // Each bar says what it stands for, and the table has the same numbers.
    shown
        .says("<title>2026-05-21 10:00 to 11:00 UTC: 3 succeeded, 1 failed</title>")
        .says("As a table")
        .says(r#"data-label="Failed">1</td>"#);
    assert_eq!(shown.html.matches("<svg viewBox=\"0 0 240 100\"").count(), 3, "events, attempts and latency, by the hour");
    shown.says("Needs a person").says("Failing webhooks").says(&receiver.url());

    let week = tab.open("/console?period=7d").await;
    week.says("viewBox=\"0 0 280 100\"").says(r#"href="/console?period=7d" aria-current="page""#);
    week.says("2026-05-21 06:00 to 12:00 UTC: 4 events");
    shown.says_nothing_of("style=");
}

#[tokio::test]
async fn the_list_shows_the_last_day_of_each_webhook() {
    let world = World::new().await;
    let (good, _) = world.subscriber("good.test").await;
    let (bad, failing) = world.subscriber("bad.test").await;
    let idle = world.endpoint("idle.test").await;
    world.subscribe(&idle, json!({ "status": "paused", "description": "Not yet" })).await;
    bad.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.deliver().await;
    let mut tab = world.signed_in(Role::Support).await;
    let list = "/console/records/developers/webhooks";
    let shown = tab.open(list).await;
    shown.says("aria-label=\"1 succeeded, 0 failed\"").says("aria-label=\"0 succeeded, 1 failed\"").says("100.0 %").says("0.0 %");
    shown.says("state bad\">failing").says("state waiting\">paused").says("Not yet").says_nothing_of("Register a webhook");
    assert!(shown.html.contains(&format!("/console/webhooks/{}", id(&failing))));

    let paused = tab.open(&format!("{list}?status=paused")).await;
    paused.says(&idle.url()).says_nothing_of(&good.url());
    tab.open(&format!("{list}?query=good")).await.says(&good.url()).says_nothing_of(&bad.url());
    tab.open(&format!("{list}?query=none")).await.says("Nothing matches these filters.");

    // Page after page.
    world.pass(TimeDelta::seconds(1));
    for number in 0..30 {
        world.subscriber(&format!("many{number}.test")).await;
    }
    let first = tab.open(list).await;
    let next = first.between("rel=\"next\" href=\"", "\"").replace("&#38;", "&").replace("&amp;", "&");
    tab.open(&next).await.says(&good.url()).says("‹ Newest");
}

#[tokio::test]
async fn deliveries_are_paused_and_resumed_with_a_button() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("hooks.test").await;
    let page = format!("/console/webhooks/{}", id(&webhook));
    let mut tab = world.signed_in(Role::Developer).await;
    tab.open(&page).await.says("Pause deliveries").says("Nothing was sent in this period.");
    tab.send(&format!("{page}/pause"), &[]).await.says("everything else is held").says("state waiting\">paused");
    let event = world.publish("order.created").await;
    world.publish("order.updated").await;
    world.deliver().await;
    world.pass(TimeDelta::minutes(5));
    let shown = tab.open(&page).await;
    shown
        .says("Paused 5 min ago. Deliveries are made and held: 2 wait until you resume.")
        .says(">Resume</button>")
        .says_nothing_of("Send test");
    tab.open(&format!("/console/events/{event}?webhook={}", id(&webhook))).await.says("The webhook is paused since");
    tab.open("/console").await.says("Paused webhooks");
    // What would be lost is counted before.
    tab.open(&format!("{page}/disable")).await.says("2 deliveries wait for it. They are cancelled and not sent.").says("pause it instead");
    tab.open(&format!("{page}/delete")).await.says("Delete this webhook?").says("2 deliveries wait for it.");
    tab.send(&format!("{page}/test"), &[("event", "webhook.test")]).await.says("This webhook is paused. Resume it first.");

    tab.send(&format!("{page}/resume"), &[]).await.says("What was held is being sent.");
    assert_eq!((world.deliver().await, receiver.count()), (2, 2));
    let shown = tab.open(&format!("{page}?period=30d")).await;
    shown.says("All 2 attempts in this period succeeded.").says("Durations").says("viewBox=\"0 0 300 100\"");
    // A choice of the log keeps the period.
    shown.says("period=30d&#38;status=failed");
}

#[tokio::test]
async fn who_may_change_no_webhook_pauses_none() {
    let world = World::new().await;
    let (_, webhook) = world.subscriber("hooks.test").await;
    let page = format!("/console/webhooks/{}", id(&webhook));
    for role in [Role::Support, Role::Viewer] {
        let mut tab = world.signed_in(role).await;
        tab.open(&page).await.says("hooks.test").says_nothing_of("Pause deliveries");
        for act in ["pause", "resume"] {
            let refused = tab.send(&format!("{page}/{act}"), &[]).await;
            assert_eq!(refused.status, 403, "{role:?} {act}");
            refused.says("Your role does not allow this");
        }
        for asked in ["disable", "delete"] {
            assert_eq!(tab.open(&format!("{page}/{asked}")).await.status, 403, "{role:?} {asked}");
        }
    }
    assert_eq!(world.count("select count(*) from subscriptions where status = 'enabled'").await, 1);
}

#[tokio::test]
async fn the_page_of_a_failing_webhook_opens_with_what_failed() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("hooks.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    receiver.will([Reply::status(401)]);
    world.publish("order.updated").await;
    world.deliver().await;
    let page = format!("/console/webhooks/{}", id(&webhook));
    let mut tab = world.signed_in(Role::Owner).await;
    tab.open(&page).await.says("status=retrying\" aria-current=\"page\"").says("order.updated</a>").says_nothing_of("order.created</a>");
    world.pass(TimeDelta::minutes(5));
    assert_eq!(world.deliver().await, 1);
    tab.open(&page).await.says("status=all\" aria-current=\"page\"").says("order.created</a>");
}
