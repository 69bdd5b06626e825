//! Webhooks and their deliveries, as an operator works with them.

use chrono::TimeDelta;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::id;
use crate::support::page::unescaped;
use crate::support::receiver::{Receiver, Reply};

#[tokio::test]
async fn an_endpoint_is_registered_tested_broken_understood_and_replayed() {
    let world = World::new().await;
    let receiver = world.endpoint("hooks.test").await;
    let mut tab = world.signed_in(Role::Owner).await;

    tab.open("/console/records/developers/webhooks/new").await.says("The URL that events are posted to.").says("order.created");
    let made = tab
        .send("/console/records/developers/webhooks/new", &[("url", &receiver.url()), ("events", "order.*"), ("description", "The shop")])
        .await;
    let secret = made.between("<code data-copy>", "</code>");
    assert!(secret.starts_with("whsec_"), "{secret}");
    let page = made.between("button primary\" href=\"", "\"");

    let shown = tab.open(&page).await;
    shown.says(&receiver.url()).says("The shop").says("order.*").says("Nothing was delivered yet.").says_nothing_of(&secret);

    // A test: the delivery is shown, first waiting, then with the answer.
    let sent = tab.send(&format!("{page}/test"), &[("event", "order.created")]).await;
    sent.says("order.created").says("Sent. The result appears below");
    world.deliver().await;
    let delivery = tab.open(sent.address.split('?').next().unwrap()).await;
    delivery.says("The endpoint accepted it.").says("x-service-signature").says("state good\">200");

    // It breaks.
    receiver.will([Reply::status(401)]);
    world.order(json!({ "internal_id": "A-1" })).await;
    world.deliver().await;
    tab.open(&page).await.says("The last attempt failed just now.").says("retrying");
    let failed = tab.open(&format!("{page}?status=retrying")).await.between("/console/deliveries/", "\"");
    let failed = tab.open(&format!("/console/deliveries/{failed}")).await;
    failed.says("The endpoint refused the request.").says("does it use the secret of this webhook").says("The next attempt is due");

    // It is mended, and what waits is cancelled and sent again.
    let cancelled = tab.send(&format!("{}/cancel", failed.address), &[]).await;
    cancelled.says("cancelled");
    let again = tab.send(&format!("{}/replay", failed.address), &[]).await;
    assert_ne!(again.address, failed.address);
    again.says("Repeats");
    world.deliver().await;
    tab.open(again.address.split('?').next().unwrap()).await.says("The endpoint accepted it.");
    tab.open(&page).await.says("sent again");
}

#[tokio::test]
async fn what_failed_is_counted_before_it_is_sent_again_and_sent_once() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("hooks.test").await;
    for _ in 0..3 {
        world.fail(&receiver, "order.created").await;
    }
    let mut tab = world.signed_in(Role::Support).await;
    let page = format!("/console/webhooks/{}", id(&webhook));
    let shown = tab.open(&page).await;
    shown.says("state bad\">failed");
    let since = world.clock.now() - TimeDelta::days(7);
    let since = since.format("%Y-%m-%dT%H:%M").to_string();
    let counted = tab.send(&format!("{page}/replay"), &[("since", &since)]).await;
    counted.says("3 deliveries failed since").says("Send 3 again");
    counted.says("/developers/webhooks\" data-key=\"g w\" aria-current").says_nothing_of("data-key=\"g h\" aria-current");
    let one = [("since", since.as_str()), ("until", since.as_str()), ("event", "order.created")];
    tab.send(&format!("{page}/replay"), &one).await.says("No delivery has failed since").says("Only those made until");
    let until = world.clock.now().format("%Y-%m-%dT%H:%M").to_string();
    let some = [("since", since.as_str()), ("until", until.as_str()), ("event", "order.created")];
    let narrowed = tab.send(&format!("{page}/replay"), &some).await;
    narrowed.says("Only those made until").says("Only those of the event order.created are counted.").says("Send 3 again");
    let other = [("since", since.as_str()), ("event", "driver.online")];
    tab.send(&format!("{page}/replay"), &other).await.says("No delivery has failed since");
    let key = counted.between("name=\"key\" value=\"", "\"");
    for _ in 0..2 {
        let done = tab.send(&format!("{page}/replay"), &[("since", &since), ("key", &key)]).await;
        done.says("The deliveries are being sent again.");
    }
    world.finish_replays().await;
    assert_eq!(world.count("select count(*) from replays").await, 1);
}

#[tokio::test]
async fn an_attempt_that_failed_in_tls_says_what_is_wrong_and_what_to_do() {
    let world = World::new().await;
    world.resolver.insert("hooks.test", &["127.0.0.1".parse().unwrap()]);
    let receiver = Receiver::start_expired("hooks.test").await;
    world.subscribe(&receiver, json!({})).await;
    world.publish("order.created").await;
    world.deliver().await;
    let page = format!("/console/deliveries/{}", id(&world.last_delivery().await));
    let mut tab = world.signed_in(Role::Developer).await;
    tab.open(&page).await.says("The certificate has expired.").says("Renew the certificate, and let the server load the new one.");
}

#[tokio::test]
async fn an_attempt_says_that_its_request_was_tried_more_than_once() {
    let world = World::new().await;
    let (_receiver, _) = world.subscriber("hooks.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    let page = format!("/console/deliveries/{}", id(&world.last_delivery().await));
    let mut tab = world.signed_in(Role::Developer).await;
    tab.open(&page).await.says_nothing_of("within this attempt");
    sqlx::query("update attempts set resends = 1").execute(&world.pool).await.unwrap();
    tab.open(&page).await.says("It was tried 2 times within this attempt: an old connection ended");
}

#[tokio::test]
async fn a_webhook_says_that_its_endpoint_has_asked_for_silence_also_when_nothing_fails() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("hooks.test").await;
    world.make_deliveries(2).await;
    let mut claimed = world.claim().await;
    let last = claimed.split_off(1);
    receiver.will([Reply::with(429, "retry-after", "600")]);
    world.state.webhooks.send_and_record(claimed).await.unwrap();
    let page = format!("/console/webhooks/{}", id(&webhook));
    let mut tab = world.signed_in(Role::Developer).await;
    let silence = "The endpoint has asked to be left alone and is tried again in ";
    tab.open(&page).await.says("The last attempt failed just now.").says(silence);
    // The other one was in flight, and is accepted.
    world.state.webhooks.send_and_record(last).await.unwrap();
    tab.open(&page).await.says("attempts in this period succeeded").says(silence);
    world.pass(TimeDelta::minutes(10));
    tab.open(&page).await.says("Most attempts are held back until one succeeds.").says_nothing_of(silence);
}

#[tokio::test]
async fn a_delivery_that_is_due_says_what_holds_it() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("hooks.test").await;
    receiver.will([Reply::with(429, "retry-after", "3600")]);
    world.publish("order.created").await;
    world.deliver().await;
    let asked = format!("/console/deliveries/{}", id(&world.last_delivery().await));
    world.pass(TimeDelta::minutes(1));
    world.publish("order.updated").await;
    assert_eq!(world.deliver().await, 0);
    let held = format!("/console/deliveries/{}", id(&world.last_delivery().await));
    world.pass(TimeDelta::minutes(16));
    let mut tab = world.signed_in(Role::Developer).await;
    let silence = "The endpoint has asked to be left alone and is tried again in 43 min.";
    for page in [&asked, &held] {
        tab.open(page).await.says(silence).says_nothing_of("is due");
    }

    // The endpoint has asked to be left alone; nobody knows yet whether it is there again.
    world.pass(TimeDelta::minutes(43));
    tab.open(&held).await.says("Most attempts are held back until one succeeds.").says_nothing_of("is due");
    // One delivery is the trial, and the others follow.
    world.deliver().await;
    world.deliver().await;
    tab.open(&held).await.says("The endpoint accepted it.");

    world.pass(TimeDelta::seconds(1));
    world.publish("order.created").await;
    world.fan_out().await;
    let due = format!("/console/deliveries/{}", id(&world.last_delivery().await));
    tab.open(&due).await.says("It is due and waits for its turn.");
    world.developers(Method::POST, &format!("webhooks/{}/pause", id(&webhook)), json!({})).await.ok(200);
    tab.open(&due).await.says("The webhook is paused. The delivery is held until it is resumed.").says_nothing_of("is due");
}

#[tokio::test]
async fn a_webhook_is_disabled_enabled_and_its_secret_rotated() {
    let world = World::new().await;
    let (_, webhook) = world.subscriber("hooks.test").await;
    let page = format!("/console/webhooks/{}", id(&webhook));
    let mut tab = world.signed_in(Role::Developer).await;
    tab.open(&page).await;
    tab.send(&format!("{page}/disable"), &[]).await.says("Disabled by request.").says("Saved.");
    tab.send(&format!("{page}/enable"), &[]).await.says("Nothing was sent in this period.");
    let asked = tab.open(&format!("{page}/rotate-secret")).await;
    let version = asked.between("name=\"version\" value=\"", "\"").replace("&#34;", "\"").replace("&quot;", "\"");
    let fields = [("overlap", "3600"), ("version", version.as_str())];
    let rotated = tab.send(&format!("{page}/rotate-secret"), &fields).await;
    rotated.says("This is the new secret.").says("whsec_").says_nothing_of(webhook["secret"].as_str().unwrap());
    tab.open(&page).await.says("Two secrets sign at the moment.");
    // Sent once more, it rotates nothing: the secret that is in use would end.
    let again = tab.send(&format!("{page}/rotate-secret"), &fields).await;
    assert_eq!(again.status, 409);
    again.says("Nothing was rotated.").says("An earlier rotation still overlaps.").says_nothing_of("whsec_");
}

#[tokio::test]
async fn a_url_that_cannot_be_delivered_to_is_refused_beside_its_field() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    let fields = [("url", "http://shop.example/hooks"), ("description", "kept")];
    tab.open("/console/records/developers/webhooks/new").await;
    let none = tab.send("/console/records/developers/webhooks/new", &fields).await;
    none.says("Choose at least one event, or all.");
    let fields = [fields[0], fields[1], ("events", "*")];
    let refused = tab.send("/console/records/developers/webhooks/new", &fields).await;
    assert_eq!(refused.status, 422);
    refused.says("This must be an https URL.").says(r#"value="http://shop.example/hooks""#).says(r#"value="kept""#);
    assert_eq!(world.count("select count(*) from subscriptions").await, 0);
}

#[tokio::test]
async fn an_event_shows_its_deliveries_and_why_it_did_not_arrive() {
    let world = World::new().await;
    let (_, all) = world.subscriber("all.test").await;
    let orders = world.endpoint("orders.test").await;
    let orders = world.subscribe(&orders, json!({ "events": ["order.*"] })).await;
    let event = world.publish("driver.online").await;
    world.deliver().await;
    let mut tab = world.signed_in(Role::Developer).await;
    let page = format!("/console/events/{event}");
    tab.open(&page).await.says("driver.online").says("all.test").says("Why did it not arrive?");
    let stopped = tab.open(&format!("{page}?webhook={}", id(&orders))).await;
    stopped.says("was published at").says("The webhook does not want it. It wants order.*.").says_nothing_of("To the delivery");
    tab.open(&format!("{page}?webhook={}", id(&all))).await.says("Delivered at attempt 1").says("To the delivery");
    tab.open(&format!("{page}?webhook=../../x")).await.says_nothing_of("was published at");
}

#[tokio::test]
async fn the_sample_of_any_event_is_shown_edited_and_sent_as_a_test() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("hooks.test").await;
    let page = format!("/console/webhooks/{}", id(&webhook));
    let mut tab = world.signed_in(Role::Developer).await;
    tab.open(&page).await.says(&format!("{page}/test")).says("Edit the sample first");
    tab.open(&format!("{page}/test")).await.says("<option selected>webhook.test</option>");
    let shown = tab.open(&format!("{page}/test?event=order.created")).await;
    shown.says("<option selected>order.created</option>").says("Data of order.created").says("hooks.test");
    let sample = unescaped(&shown.between("aria-describedby=\"data-help\">", "</textarea>"));
    let mut data: Value = serde_json::from_str(&sample).unwrap();

    // What does not fit is told beside the field, with what was entered.
    let path = format!("{page}/test");
    let broken = tab.send(&path, &[("event", "order.created"), ("data", "{\"a\": <b>")]).await;
    assert_eq!(broken.status, 422);
    broken.says("This is not a JSON object.").says("aria-invalid").says_nothing_of("<b>");
    data["status"] = json!("eaten");
    let unfit = tab.send(&path, &[("event", "order.created"), ("data", &data.to_string())]).await;
    assert_eq!(unfit.status, 422);
    unfit.says("id=\"data-error\">status").says("eaten").says("<option selected>order.created</option>");
    assert_eq!(world.deliver().await, 0);

    data["status"] = json!("created");
    data["internal_id"] = json!("A-4711");
    tab.send(&path, &[("event", "order.created"), ("data", &data.to_string())]).await.says("Sent. The result appears below");
    world.deliver().await;
    let sent: Value = serde_json::from_slice(&receiver.only().body).unwrap();
    assert_eq!((&sent["data"]["internal_id"], &sent["data"]["additionalData"]["test"]), (&json!("A-4711"), &json!(true)));

    // The event about the webhook itself is, unedited, about this webhook and not that of the sample.
    let shown = tab.open(&path).await;
    let sample = unescaped(&shown.between("aria-describedby=\"data-help\">", "</textarea>"));
    tab.send(&path, &[("event", "webhook.test"), ("data", &sample.replace('\n', "\r\n"))]).await;
    world.deliver().await;
    let sent: Value = serde_json::from_slice(&receiver.received()[1].body).unwrap();
    assert_eq!(sent["data"]["id"], webhook["id"]);

    // Whoever may not change webhooks tests none.
    assert_eq!(world.signed_in(Role::Viewer).await.open(&path).await.status, 403);
}
