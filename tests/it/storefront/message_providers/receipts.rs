//! What the provider of a company reports is believed about the texts that it has sent.

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};
use wiremock::MockServer;

use super::{PATH, by_hook, by_twilio, settings, with};
use crate::storefront::receipts::{HUB, latest, report_by, sent};
use crate::support::World;
use crate::support::customers::{PHONE, ask_to_register};
use crate::support::fleet::id;
use crate::support::sms::{twilio, vonage};

const LOST: (&str, Option<u32>) = ("undelivered", Some(30_005));

impl World {
    /// The address for the receipts of a message provider.
    async fn receipts_url(&self, made: &Value) -> Value {
        let path = format!("{PATH}/{}", id(&made["message_provider"]));
        self.api(Method::GET, &path).send().await.ok(200)["message_provider"]["receipts_url"].take()
    }
}

/// A world whose deployment texts by an account of its own, at the service that companies have theirs at.
async fn reporting() -> (World, MockServer) {
    let (service, of_deployment) = twilio::provider(twilio::Naming).await;
    (World::with(&[&settings(&of_deployment)[..], &[HUB]].concat()).await, service)
}

#[tokio::test]
async fn each_account_of_a_company_reports_to_an_address_of_its_own_with_its_own_signature() {
    let (world, service) = reporting().await;
    let made = world.make_message_provider(by_twilio()).await.ok(201);
    ask_to_register(&world, PHONE).await.ok(200);
    let url = sent(&service, "StatusCallback").await.unwrap();
    let own = id(&made["message_provider"]).to_owned();
    assert!(url.starts_with(&format!("https://hub.example/storefront/receipts/{own}/")), "{url}");
    assert_eq!(world.receipts_url(&made).await, json!(url));
    let text = latest(&world).await;
    assert_eq!((&text["provider"], &text["delivery"]), (&json!(own), &Value::Null));

    // Not with the token of another address, and not with the secret of another account.
    let mail = world.make_message_provider(with(by_hook(&world.hook("mail.test").await), &json!({ "channel": "email" }))).await.ok(201);
    let other = id(&mail["message_provider"]);
    report_by(&world, twilio::TOKEN, &url.replace(&own, other), PHONE, LOST).await.refused(404, "record_not_found");
    report_by(&world, twilio::TOKEN, &url.replace(&own, "twilio"), PHONE, LOST).await.refused(404, "record_not_found");
    report_by(&world, "the token of somebody else", &url, PHONE, LOST).await.refused(400, "callback_not_genuine");
    assert_eq!(latest(&world).await["delivery"], Value::Null);

    // One that is not asked any more reports of what it has sent before; one that is gone is not heard.
    world.change_message_provider(&made, json!({ "status": "inactive" })).await.ok(200);
    report_by(&world, twilio::TOKEN, &url, PHONE, ("undelivered", Some(30_003))).await.ok(200);
    let text = latest(&world).await;
    assert_eq!((&text["delivery"], &text["delivery_code"]), (&json!("undelivered"), &json!("30003")));
    let range = world.api(Method::GET, "/storefront/int/v1/texts/conversion").send().await.ok(200)["ranges"][0].take();
    assert_eq!((&range["number_range"], &range["texted"], &range["undelivered"]), (&json!("+1201555"), &json!(1), &json!(1)));
    world.api(Method::DELETE, &format!("{PATH}/{own}")).send().await.ok(200);
    report_by(&world, "whatever", &url, PHONE, ("delivered", None)).await.ok(200);
    assert_eq!(latest(&world).await["delivery"], "undelivered");
}

#[tokio::test]
async fn an_account_whose_receipts_are_not_signed_is_known_by_its_address_which_only_who_may_change_it_sees() {
    let (service, of_deployment) = vonage::provider(vonage::accepted()).await;
    let world = World::with(&[&settings(&of_deployment)[..], &[HUB]].concat()).await;
    let account = json!({ "api_key": vonage::KEY, "from": "Acme" });
    let body = json!({ "channel": "sms", "kind": "vonage", "settings": account, "secret": vonage::SECRET });
    let made = world.make_message_provider(body).await.ok(201);
    let reader = world.key_of(world.company, &[Scope::Read]).await;
    let path = format!("{PATH}/{}", id(&made["message_provider"]));
    let seen = world.request(Method::GET, &path).key(&reader).send().await.ok(200);
    assert_eq!(seen["message_provider"]["receipts_url"], Value::Null);
    ask_to_register(&world, PHONE).await.ok(200);
    let url = sent(&service, "callback").await.unwrap();
    assert_eq!(world.receipts_url(&made).await, json!(url));
    let path = url.strip_prefix("https://hub.example").unwrap();
    world.request(Method::POST, path).json(&json!(["no object"])).send().await.refused(400, "bad_request");
    let receipt = "?messageId=0A0000000123ABCD1&err-code=0&status=";
    for (status, delivery) in [("buffered", Value::Null), ("delivered", json!("delivered"))] {
        world.request(Method::GET, &format!("{path}{receipt}{status}")).send().await.ok(200);
        assert_eq!(latest(&world).await["delivery"], delivery);
    }
    // Endpoints and services that the company describes report nothing.
    let hook = world.hook("sms.test").await;
    world.change_message_provider(&made, json!({ "status": "inactive" })).await.ok(200);
    let made = world.make_message_provider(by_hook(&hook)).await.ok(201);
    assert_eq!(world.receipts_url(&made).await, Value::Null);
}

#[tokio::test]
async fn a_company_says_nothing_about_texts_that_another_provider_has_sent() {
    let (world, service) = reporting().await;
    let made = world.make_message_provider(by_twilio()).await.ok(201);
    let own = world.receipts_url(&made).await.as_str().unwrap().to_owned();
    let (other, _) = world.another_company(&Scope::ALL).await;
    let (_, their_key) = world.store_of(other).await;
    let body = json!({ "identity": PHONE, "mode": "sms" });
    let theirs = async || world.storefront("customers/request-creation-code").key(&their_key).json(&body).send().await;
    let delivered_to_them = "select count(*) from texts where provider = 'twilio' and delivery is not null";

    // Both texts have the same name at the service, as a company could make it up.
    ask_to_register(&world, PHONE).await.ok(200);
    theirs().await.ok(200);
    let of_deployment = sent(&service, "StatusCallback").await.unwrap();
    report_by(&world, twilio::TOKEN, &own, PHONE, LOST).await.ok(200);
    assert_eq!(latest(&world).await["delivery"], "undelivered");
    assert_eq!(world.count(delivered_to_them).await, 0);
    world.pass(TimeDelta::minutes(2));
    ask_to_register(&world, PHONE).await.refused(422, "number_unreachable");
    theirs().await.ok(200);

    // What the deployment has learnt of a number holds for all, and no company takes it back.
    report_by(&world, twilio::TOKEN, &of_deployment, PHONE, LOST).await.ok(200);
    world.pass(TimeDelta::minutes(2));
    report_by(&world, twilio::TOKEN, &own, PHONE, ("delivered", None)).await.ok(200);
    theirs().await.refused(422, "number_unreachable");
}

#[tokio::test]
async fn a_text_that_the_deployment_has_sent_after_all_is_not_the_companys_to_report() {
    let (world, _service) = reporting().await;
    let hook = world.hook("sms.test").await;
    hook.will([crate::support::receiver::Reply::status(400)]);
    let made = world.make_message_provider(with(by_hook(&hook), &json!({ "falls_back": true }))).await.ok(201);
    ask_to_register(&world, PHONE).await.ok(200);
    assert_eq!(latest(&world).await["provider"], "twilio");
    world.change_message_provider(&made, by_twilio()).await.ok(200);
    let own = world.receipts_url(&made).await.as_str().unwrap().to_owned();
    report_by(&world, twilio::TOKEN, &own, PHONE, LOST).await.ok(200);
    assert_eq!(latest(&world).await["delivery"], Value::Null);
}
