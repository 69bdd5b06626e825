//! Webhooks as an operator works with them in a real browser: with the script and without, the same acts do the same.

use chrono::TimeDelta;
use portico::operators::Role;
use serde_json::json;

use crate::support::World;
use crate::support::browser::Browser;
use crate::support::console::PASSWORD;
use crate::support::receiver::Reply;

/// Registers an endpoint, sees a test arrive, breaks it and reads why, sends again, pauses, resumes and rotates.
async fn operate(world: &World, browser: &Browser) {
    let receiver = world.endpoint("hooks.test").await;
    world.operator("ada@acme.example", Role::Owner).await;
    browser.sign_in("ada@acme.example").await;

    browser.goto("/console").await;
    browser.click("main a.primary").await;
    browser.arrives_at("/console/records/developers/webhooks/new").await;
    browser.enter("[name=url]", "ftp://hooks.test").await;
    browser.click("[name=events][value='*']").await;
    browser.click("main form button.primary").await;
    browser.sees(".field.wrong [name=url]").await;
    browser.clear("[name=url]").await;
    browser.enter("[name=url]", &receiver.url()).await;
    browser.click("main form button.primary").await;
    browser.says("Copy this now. It is not shown again.").await;
    browser.click("main a.primary").await;
    browser.says("Nothing was delivered yet.").await;
    let page = browser.path().await;

    browser.click("details.menu summary.primary").await;
    browser.click("form[action$='/test'] button").await;
    browser.says("Sent. The result appears below").await;
    world.deliver().await;
    browser.says_now("The endpoint accepted it.").await;

    receiver.will([Reply::status(401)]);
    world.order(json!({ "internal_id": "A-1" })).await;
    world.deliver().await;
    browser.goto(&format!("{page}?status=retrying")).await;
    browser.click("tbody th a").await;
    browser.says("The endpoint refused the request.").await;
    browser.click("form[action$='/cancel'] button").await;
    browser.says("cancelled").await;
    browser.click("form[action$='/replay'] button").await;
    browser.says("Repeats").await;
    world.deliver().await;
    browser.says_now("The endpoint accepted it.").await;

    browser.goto(&page).await;
    browser.click("form[action$='/pause'] button").await;
    browser.says("Paused.").await;
    let before = receiver.count();
    world.pass(TimeDelta::minutes(10));
    world.order(json!({ "internal_id": "A-2" })).await;
    world.deliver().await;
    assert_eq!(receiver.count(), before);
    browser.click("form[action$='/resume'] button").await;
    browser.says("Resumed.").await;
    world.deliver().await;
    assert!(receiver.count() > before);

    browser.click("details.menu summary[aria-label]").await;
    browser.click("a[href$='/rotate-secret']").await;
    // The sign-in was ten minutes ago, and the new secret is shown.
    browser.says("Confirm that it is you").await;
    browser.enter("#proof", PASSWORD).await;
    browser.click("main form button.primary").await;
    browser.says("A new secret is made").await;
    browser.click("main form button.primary").await;
    browser.says("This is the new secret.").await;
    browser.click("main p a.button").await;
    browser.says("Two secrets sign at the moment.").await;
    browser.has_nothing_to_complain_of().await;
    browser.client.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_operated_in_a_browser() {
    let world = World::new().await;
    if let Some(browser) = Browser::open(&world).await {
        operate(&world, &browser).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_operated_in_a_browser_without_scripts() {
    let world = World::new().await;
    if let Some(browser) = Browser::open_without_scripts(&world).await {
        operate(&world, &browser).await;
    }
}
