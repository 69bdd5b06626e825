//! What only a real browser shows of invitations, second factors and the mailbox.

use fantoccini::Locator;
use portico::operators::Role;
use serde_json::json;

use crate::support::World;
use crate::support::browser::Browser;
use crate::support::console::PASSWORD;
use crate::support::waiting::until;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mailed_link_leads_in_and_a_mail_is_shown_apart_from_the_console() {
    let world = World::new().await;
    let Some(browser) = Browser::open(&world).await else { return };
    world.operator("ada@acme.example", Role::Viewer).await;
    world.tab().send("/console/forgot", &[("email", "ada@acme.example")]).await;
    let key = world.mailed_key("ada@acme.example").await.unwrap();

    // The key is filled in from behind the #, and is gone from the address.
    browser.goto(&format!("/console/password#{key}")).await;
    until("the key is gone from the address", async || browser.path().await == "/console/password").await;
    assert_eq!(browser.run("return document.querySelector('#key').value").await, json!(key));
    browser.client.find(Locator::Css("#password")).await.unwrap().send_keys(PASSWORD).await.unwrap();
    browser.client.find(Locator::Css("main button.primary")).await.unwrap().click().await.unwrap();
    until("somebody is signed in", async || browser.path().await == "/console").await;

    browser.goto("/console/account/totp").await;
    let width = browser.run("return document.querySelector('svg.qr').getBoundingClientRect().width").await;
    assert!(width.as_f64().unwrap() > 180.0, "{width}");
    browser.has_nothing_to_complain_of().await;

    // The frame of a mail has an origin of its own, so the console's page cannot even look into it.
    browser.goto("/console/mailbox/1").await;
    assert_eq!(browser.run("return document.querySelector('iframe').contentDocument").await, json!(null));
    browser.has_nothing_to_complain_of().await;
}
