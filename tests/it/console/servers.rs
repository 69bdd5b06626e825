//! Message providers and registration hooks, as an operator tries them and replaces their secrets.

use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::receiver::{Received, Reply};

fn says(answer: &str) -> Reply {
    Reply::Answer(200, Vec::new(), answer.as_bytes().to_vec())
}

/// Whether one of the signatures of a request was made with this secret.
fn is_signed_with(secret: &str, received: &Received) -> bool {
    let at = received.header("webhook-timestamp").parse().unwrap();
    let made = standardwebhooks::Webhook::new(secret).unwrap().sign(received.header("webhook-id"), at, &received.body).unwrap();
    received.header("webhook-signature").split(' ').any(|signature| signature == made)
}

impl World {
    /// What the audit trail tells of the one change of a record of this kind.
    async fn only_change(&self, kind: &str) -> Value {
        let mut trail = self.api(Method::GET, &format!("/developers/int/v1/changes?kind={kind}")).send().await.ok(200);
        let mut changes = trail["changes"].as_array_mut().unwrap().drain(..).filter(|change| change["action"] == "updated");
        let change = changes.next().unwrap();
        assert_eq!(changes.next(), None);
        change
    }
}

#[tokio::test]
async fn a_test_of_a_registration_hook_says_in_words_what_it_answered() {
    let world = World::new().await;
    let (receiver, page, _) = world.hook_with_a_page().await;
    let mut tab = world.signed_in(Role::Owner).await;
    let test = format!("{page}/test");
    tab.open(&page).await.says(&format!("href=\"{test}\"")).says(&format!("href=\"{page}/rotate-secret\""));
    tab.open(&test).await.says_nothing_of("name=\"to\"");
    receiver.will([says(r#"{"allow":true}"#), says(r#"{"allow":false,"reason":"<b>Not there."}"#), Reply::status(500)]);
    tab.send(&test, &[]).await.says("works").says("It allows the registration of the sample.");
    let question: Value = serde_json::from_slice(&receiver.only().body).unwrap();
    assert_eq!(question["data"]["additionalData"], json!({ "test": true }));
    let refused = tab.send(&test, &[]).await;
    refused.says("It refuses the registration of the sample:").says("Not there.").says_nothing_of("<b>Not");
    tab.send("/console/preferences", &[("language", "de"), ("here", &test)]).await.says("als Test gekennzeichnet");
    tab.send(&test, &[]).await.says("funktioniert nicht").says("Er hat nicht geantwortet, wie er soll:").says("500");
    for _ in 3..10 {
        tab.send(&test, &[]).await;
    }
    let refused = tab.send(&test, &[]).await;
    assert_eq!((refused.status, receiver.count()), (429, 10));
    refused.says("role=\"alert\"");
}

#[tokio::test]
async fn the_secret_of_a_registration_hook_is_rotated_once_and_shown_once() {
    let world = World::new().await;
    let (receiver, page, old) = world.hook_with_a_page().await;
    let mut tab = world.signed_in(Role::Owner).await;
    let (rotate, test) = (format!("{page}/rotate-secret"), format!("{page}/test"));
    let form = tab.open(&rotate).await;
    form.says_nothing_of("whsec_");
    let version = form.between("name=\"version\" value=\"", "\"").replace("&#34;", "\"");
    let made = tab.send(&rotate, &[("version", &version), ("overlap", "3600")]).await;
    let new = made.says("It is not shown again.").between("data-copy>", "<");
    assert!(new.starts_with("whsec_") && new != old, "{new}");
    let again = tab.open(&rotate).await;
    again.says("An earlier rotation still overlaps.").says_nothing_of("whsec_");
    let refused = tab.send(&rotate, &[("version", &version), ("overlap", "0")]).await;
    assert_eq!(refused.status, 409);
    refused.says("Nothing was rotated.");
    receiver.will([says(r#"{"allow":true}"#)]);
    tab.open(&test).await;
    tab.send(&test, &[]).await.says("It allows");
    assert!([&old, &new].iter().all(|secret| is_signed_with(secret, &receiver.only())));
    let change = world.only_change("registration_hook").await;
    assert_eq!(
        (&change["caller"], &change["fields"]),
        (&json!("operator"), &json!(["previous_secret_until", "secret", "previous_secret"]))
    );
    assert!(!change.to_string().contains("whsec_"), "{change}");
}

#[tokio::test]
async fn a_message_provider_is_tried_and_only_one_that_is_signed_for_gets_a_new_secret() {
    let world = World::new().await;
    let (receiver, page) = world.message_hook_with_a_page().await;
    let mut tab = world.signed_in(Role::Owner).await;
    let (rotate, test) = (format!("{page}/rotate-secret"), format!("{page}/test"));
    tab.open(&test).await.says("type=\"tel\"");
    let refused = tab.send(&test, &[("to", "nobody<")]).await;
    assert_eq!((refused.status, receiver.count()), (422, 0));
    refused.says("aria-invalid").says("nobody&#60;");
    tab.send(&test, &[("to", "+12015550123")]).await.says("It has taken the message.");
    receiver.will([Reply::status(400)]);
    tab.send(&test, &[("to", "+12015550123")]).await.says("does not work").says("It did not take the message:").says("400");

    // The new secret is known to the endpoint before it signs.
    let form = tab.open(&rotate).await;
    let secret = form.between("name=\"secret\" value=\"", "\"").replace("&#43;", "+");
    let version = form.between("name=\"version\" value=\"", "\"").replace("&#34;", "\"");
    let fields = [("version", version.as_str()), ("secret", secret.as_str())];
    form.says(&format!("data-copy>{secret}"));
    tab.send(&test, &[("to", "+12015550123")]).await.says("works");
    assert!(!is_signed_with(&secret, receiver.received().last().unwrap()));
    tab.open(&rotate).await;
    tab.send(&rotate, &fields).await.says("Saved.").says_nothing_of("whsec_");
    tab.open(&test).await;
    tab.send(&test, &[("to", "+12015550123")]).await.says("works");
    assert!(is_signed_with(&secret, receiver.received().last().unwrap()));
    tab.open(&rotate).await;
    let refused = tab.send(&rotate, &fields).await;
    assert_eq!(refused.status, 409);
    refused.says("Nothing was rotated.").says(&secret);
    assert_eq!(world.only_change("message_provider").await["fields"], json!(["secret"]));

    let account = json!({ "account_sid": "AC0", "from": "+15005550006" });
    let body = json!({ "channel": "sms", "kind": "twilio", "status": "inactive", "settings": account, "secret": "12345678" });
    let page = world.provider_with_a_page(body).await;
    tab.open(&page).await.says("/test\"").says_nothing_of("rotate-secret");
    assert_eq!(tab.open(&format!("{page}/rotate-secret")).await.status, 404);
}

#[tokio::test]
async fn who_may_only_read_gets_no_button_and_no_answer() {
    let world = World::new().await;
    let (receiver, hook, _) = world.hook_with_a_page().await;
    let (endpoint, provider) = world.message_hook_with_a_page().await;
    let stores = format!("/console/records/storefront/stores/{}", world.store);
    for role in [Role::Support, Role::Viewer] {
        let mut tab = world.signed_in(role).await;
        for page in [&hook, &provider] {
            tab.open(page).await.says("test").says_nothing_of("/test\"").says_nothing_of("rotate-secret");
            for act in ["test", "rotate-secret"] {
                let act = format!("{page}/{act}");
                assert_eq!(tab.open(&act).await.status, 404, "{role:?} {act}");
                tab.open(page).await;
                let refused = tab.send(&act, &[("to", "+12015550123"), ("version", "1"), ("overlap", "0")]).await;
                assert_eq!(refused.status, 404, "{role:?} {act}");
                refused.says_nothing_of("whsec_");
            }
        }
    }
    assert_eq!((receiver.count(), endpoint.count()), (0, 0));
    let mut owner = world.signed_in(Role::Owner).await;
    assert_eq!(owner.open(&format!("{stores}/test")).await.status, 404, "a store is no server");
}
