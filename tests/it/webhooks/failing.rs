//! The notices to operators about failing endpoints: decisions, section 7, Delivery.

use chrono::TimeDelta;
use futures::future::join_all;
use portico::kernel::lifecycle::Lifecycle;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::receiver::{Receiver, Reply};
use crate::support::smtp::SmtpSink;
use crate::support::waiting::until;

impl World {
    /// Lets another delivery fail, `hours` after the last step; then several instances check at once.
    async fn fail_after(&self, receiver: &Receiver, hours: i64) {
        self.pass(TimeDelta::hours(hours));
        receiver.will(std::iter::repeat_n(Reply::status(500), 10));
        self.publish("order.created").await;
        self.deliver().await;
        self.look().await;
    }

    async fn look(&self) {
        for looked in join_all((0..3).map(|_| self.state.webhooks.notify_operators())).await {
            looked.unwrap();
        }
        for sent in join_all((0..3).map(|_| self.state.webhooks.send_letters())).await {
            sent.unwrap();
        }
    }

    /// The events about webhooks, newest first.
    async fn notices(&self) -> Vec<(String, Value)> {
        let mut list = self.get("events").await;
        let events = list["events"].as_array_mut().unwrap();
        events.retain(|event| event["event"].as_str().unwrap().starts_with("webhook."));
        events.iter_mut().map(|event| (event["event"].as_str().unwrap().to_owned(), event["data"].take())).collect()
    }

    async fn webhook(&self, webhook: &Value) -> Value {
        self.get(&format!("webhooks/{}", webhook["id"].as_str().unwrap())).await["webhook"].take()
    }

    fn subjects(&self) -> Vec<String> {
        self.messages().into_iter().filter_map(|mail| mail.subject).collect()
    }
}

#[tokio::test]
async fn operators_are_notified_at_50_70_and_90_percent_of_five_days_and_at_the_end_the_webhook_is_disabled() {
    let world = World::new().await;
    world.operator("ada@example.com", Role::Owner).await;
    world.operator("grace@example.com", Role::Owner).await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let listener = world.endpoint("listener.test").await;
    world.subscribe(&listener, json!({ "events": ["webhook.*"] })).await;
    world.fail_after(&receiver, 0).await;
    world.fail_after(&receiver, 59).await;
    assert_eq!((world.notices().await.len(), world.messages().len()), (0, 0));

    for (hours, percent) in [(1, 50), (24, 70), (24, 90)] {
        world.fail_after(&receiver, hours).await;
        let (name, data) = world.notices().await.remove(0);
        assert_eq!((&*name, &data["additionalData"]["percent"]), ("webhook.failing", &json!(percent)));
        assert_eq!((&data["id"], &data["status"]), (&webhook["id"], &json!("enabled")));
        assert_eq!(data["additionalData"]["failing_since"], "2026-05-21T10:15:00.000+00:00");
        assert_eq!(data["additionalData"]["disabled_from"], "2026-05-26T10:15:00.000+00:00");
        world.fail_after(&receiver, 0).await;
    }
    world.fail_after(&receiver, 12).await;
    let (name, data) = world.notices().await.remove(0);
    assert_eq!((&*name, &data["status"], &data["disabled_reason"]), ("webhook.disabled", &json!("disabled"), &json!("failing")));
    let after = world.webhook(&webhook).await;
    assert_eq!((&after["status"], &after["disabled_reason"]), (&json!("disabled"), &json!("failing")));
    assert_eq!(world.count("select count(*) from waiting").await, 0, "waiting deliveries are cancelled");
    let changes = world.get("changes?caller=service").await["changes"].take();
    assert_eq!(changes.as_array().unwrap().len(), 1, "the audit trail says who disabled it: {changes}");
    assert_eq!((&changes[0]["record"], &changes[0]["action"]), (&webhook["id"], &json!("updated")));
    assert_eq!(changes[0]["fields"], json!(["status", "disabled_reason", "disabled_at"]));
    world.look().await;
    assert_eq!(world.notices().await.len(), 4, "each notice is given once, whichever instance checks");
    world.deliver().await;
    assert_eq!(listener.headers("x-service-event"), ["webhook.failing", "webhook.failing", "webhook.failing", "webhook.disabled"]);

    let url = receiver.url();
    let expected: Vec<_> = ["was disabled", "is failing", "is failing", "is failing"]
        .iter()
        .flat_map(|what| std::iter::repeat_n(format!("A webhook {what}: {url}"), 2))
        .collect();
    assert_eq!(world.subjects(), expected, "both operators receive each mail");
    let text = &world.messages()[2].text;
    assert!(text.contains("90 percent") && text.contains("The latest attempt was answered with status 500."), "{text}");
}

#[tokio::test]
async fn the_mail_says_why_the_latest_attempt_failed() {
    let world = World::new().await;
    world.operator("ada@example.com", Role::Owner).await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    let receiver = Receiver::start_expired("shop.test").await;
    world.subscribe(&receiver, json!({})).await;
    world.fail_after(&receiver, 0).await;
    world.fail_after(&receiver, 60).await;
    let text = &world.messages()[0].text;
    assert!(text.contains("The latest attempt failed. The certificate has expired."), "{text}");
}

#[tokio::test]
async fn operators_are_notified_when_a_delivery_succeeds_after_a_notice() {
    let world = World::new().await;
    world.operator("ada@example.com", Role::Owner).await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.fail_after(&receiver, 0).await;
    world.fail_after(&receiver, 61).await;
    world.look().await;
    assert_eq!(world.notices().await.len(), 1);
    world.pass(TimeDelta::hours(10));
    until("a delivery succeeds", async || {
        world.publish("order.created").await;
        world.deliver().await;
        world.pass(TimeDelta::minutes(10));
        world.webhook(&webhook).await["health"]["consecutive_failures"] == 0
    })
    .await;
    world.look().await;
    let notices = world.notices().await;
    assert_eq!((notices.len(), &*notices[0].0), (2, "webhook.recovered"));
    assert_eq!(notices[0].1["additionalData"]["failing_since"], "2026-05-21T10:15:00.000+00:00");
    assert!(world.subjects()[0].starts_with("A webhook works again"));
    world.look().await;
    assert_eq!(world.notices().await.len(), 2);
}

#[tokio::test]
async fn one_old_failure_disables_nothing_and_neither_does_silence() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.fail_after(&receiver, 0).await;
    let path = format!("deliveries/{}/cancel", world.last_delivery().await["id"].as_str().unwrap());
    world.developers(Method::POST, &path, json!({})).await.ok(200);
    world.pass(TimeDelta::days(30));
    world.look().await;
    assert_eq!((world.notices().await.len(), &world.webhook(&webhook).await["status"]), (0, &json!("enabled")));
}

#[tokio::test]
async fn a_webhook_that_is_enabled_anew_begins_anew() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.fail_after(&receiver, 0).await;
    world.fail_after(&receiver, 121).await;
    assert_eq!(world.notices().await.remove(0).0, "webhook.disabled");
    let path = format!("webhooks/{}/enable", webhook["id"].as_str().unwrap());
    world.developers(Method::POST, &path, json!({})).await.ok(200);
    world.look().await;
    world.fail_after(&receiver, 1).await;
    assert_eq!(
        (world.notices().await.len(), &world.webhook(&webhook).await["status"]),
        (1, &json!("enabled")),
        "enabling the webhook is not a recovery"
    );
    world.fail_after(&receiver, 60).await;
    assert_eq!(world.notices().await.remove(0).1["additionalData"]["percent"], 50, "a new episode has its own notices");
}

#[tokio::test]
async fn a_failing_webhook_that_listens_for_such_notices_goes_round_in_no_circle() {
    let world = World::new().await;
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "events": ["webhook.*", "order.created"] })).await;
    world.fail_after(&receiver, 0).await;
    for _ in 0..14 {
        world.fail_after(&receiver, 12).await;
    }
    let names: Vec<_> = world.notices().await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["webhook.disabled", "webhook.failing", "webhook.failing", "webhook.failing"]);
}

#[tokio::test]
async fn operators_are_notified_at_once_of_an_endpoint_that_is_gone() {
    let world = World::new().await;
    world.operator("ada@example.com", Role::Owner).await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    receiver.will(std::iter::repeat_n(Reply::status(410), 2));
    for _ in 0..2 {
        world.publish("order.created").await;
    }
    world.deliver().await;
    let notices = world.notices().await;
    let (name, data) = &notices[0];
    assert_eq!((notices.len(), &**name, &data["id"]), (1, "webhook.disabled", &webhook["id"]));
    assert_eq!((&data["status"], &data["disabled_reason"]), (&json!("disabled"), &json!("gone")));
    assert_eq!(data["additionalData"]["failing_since"], "2026-05-21T10:15:00.000+00:00");
    world.look().await;
    assert_eq!(world.subjects(), [format!("A webhook was disabled: {}", receiver.url())]);
    world.look().await;
    assert_eq!((world.notices().await.len(), world.messages().len()), (1, 1), "one notice and one mail");
}

/// A webhook whose failures are noticed while the mail server refuses every mail.
async fn noticed_in_vain(operators: &[&str]) -> (SmtpSink, World, Receiver) {
    let sink = SmtpSink::start(true).await;
    let world = World::with(&[("mail.smtp_url", &sink.url())]).await;
    for operator in operators {
        world.operator(operator, Role::Owner).await;
    }
    let (receiver, _) = world.subscriber("shop.test").await;
    world.fail_after(&receiver, 0).await;
    world.fail_after(&receiver, 60).await;
    (sink, world, receiver)
}

#[tokio::test]
async fn a_mail_to_an_operator_is_retried_until_the_mail_server_accepts_it_and_is_sent_once() {
    let (sink, world, _receiver) = noticed_in_vain(&["ada@example.com", "grace@example.com"]).await;
    sink.refuse(false);
    world.look().await;
    assert_eq!((world.notices().await.len(), sink.mails().len()), (1, 0), "the retry is not due yet");
    world.pass(TimeDelta::minutes(5));
    world.look().await;
    world.pass(TimeDelta::hours(9));
    world.look().await;
    assert_eq!((world.notices().await.len(), sink.mails().len()), (1, 2), "one mail to each operator");
}

#[tokio::test]
async fn a_newer_mail_to_an_operator_replaces_an_unsent_one() {
    let (sink, world, receiver) = noticed_in_vain(&["ada@example.com"]).await;
    sink.refuse(false);
    world.fail_after(&receiver, 24).await;
    world.look().await;
    // Quoted-printable: long lines are broken with a `=`.
    let mails: Vec<_> = sink.mails().iter().map(|mail| mail.replace("=\n", "")).collect();
    assert!(matches!(&*mails, [mail] if mail.contains("70 percent")), "{mails:?}");
}

#[tokio::test]
async fn a_mail_that_no_mail_server_accepts_is_dropped_after_five_attempts() {
    let (_sink, world, _receiver) = noticed_in_vain(&["ada@example.com"]).await;
    for wait in [5, 30, 120, 480] {
        assert_eq!(world.count("select count(*) from operator_letters").await, 1, "before another {wait} minutes");
        world.pass(TimeDelta::minutes(wait));
        world.look().await;
    }
    assert_eq!(world.count("select count(*) from operator_letters").await, 0);
}

#[tokio::test]
async fn a_worker_goes_on_recording_while_a_webhook_that_is_gone_cannot_be_disabled_yet() {
    // What disables it waits for as long as the story takes, on a busy machine too.
    let world = World::with(&[("database.statement_timeout", "10m")]).await;
    let (gone, webhook) = world.subscriber("gone.test").await;
    let (prompt, _) = world.subscriber("prompt.test").await;
    gone.will([Reply::status(410)]);
    let mut other = world.hold().await;
    let id: portico::kernel::ids::SubscriptionId = webhook["id"].as_str().unwrap().parse().unwrap();
    sqlx::query("select from subscriptions where id = $1 for share").bind(id.uuid()).execute(&mut *other).await.unwrap();
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    world.publish("order.created").await;
    world.somebody_waits().await;
    world.publish("order.updated").await;
    prompt.waits_for(2).await;
    // Two deliveries of each of the two events.
    until("they are recorded", async || world.count("select count(*) from deliveries").await == 4).await;
    other.rollback().await.unwrap();
    lifecycle.stop().await;
    assert_eq!(world.webhook(&webhook).await["disabled_reason"], "gone");
}
