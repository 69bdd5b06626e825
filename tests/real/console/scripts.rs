//! What the script adds to pages, in a real browser.

use chrono::TimeDelta;
use portico::operators::Role;
use serde_json::json;

use crate::support::World;
use crate::support::browser::Browser;
use crate::support::console::PASSWORD;
use crate::support::fleet::id;
use crate::support::waiting::until;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_change_and_forms_are_answered_in_place() {
    let world = World::new().await;
    let Some(browser) = Browser::open(&world).await else { return };
    world.operator("ada@acme.example", Role::Owner).await;
    browser.sign_in("ada@acme.example").await;

    // What happens appears, without the page being loaded again.
    browser.goto("/console/records/fleet/orders").await;
    browser.run("window.same = true").await;
    browser.says("There is nothing here yet.").await;
    world.order(json!({ "internal_id": "A-1" })).await;
    browser.says("A-1").await;
    // Below the top it waits behind a button.
    browser.run("document.body.style.minHeight = '4000px'; scrollTo(0, 2000)").await;
    world.order(json!({ "internal_id": "A-2" })).await;
    browser.says("There is something new. Show it").await;
    assert!(!browser.text().await.contains("A-2"));
    browser.run("document.querySelector('.news').click()").await;
    browser.says("A-2").await;
    assert_eq!(browser.run("return window.same").await, true);

    // A refusal stands at its field, which has the focus; what was entered is still there.
    browser.goto("/console/records/fleet/drivers/new").await;
    browser.run("window.same = true").await;
    browser.enter("[name=name]", "Ada").await;
    browser.enter("[name=phone]", "123").await;
    browser.click("main button.primary").await;
    until("the field has the focus", async || browser.run("return document.activeElement.name").await == "phone").await;
    assert_eq!(browser.run("return [document.activeElement.selectionStart, document.activeElement.selectionEnd]").await, json!([0, 3]));
    browser.clear("[name=phone]").await;
    browser.enter("[name=phone]", "+12015550123").await;
    browser.click("main button.primary").await;
    browser.says("Created.").await;
    browser.arrives_at("/console/records/fleet/drivers/driver_").await;
    assert_eq!(browser.run("return window.same").await, true);
    // Loaded again, it does not say so again.
    let page = browser.path().await;
    assert!(!page.contains("done="), "{page}");
    browser.client.back().await.unwrap();
    browser.arrives_at("/console/records/fleet/drivers/new").await;
    browser.has_nothing_to_complain_of().await;
    browser.client.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_has_typed_is_there_again_when_they_have_confirmed() {
    let world = World::new().await;
    let Some(browser) = Browser::open(&world).await else { return };
    world.operator("ada@acme.example", Role::Owner).await;
    browser.sign_in("ada@acme.example").await;
    browser.goto("/console/records/developers/api-keys/new").await;
    browser.enter("main [name=name]", "Backend").await;
    world.pass(TimeDelta::minutes(10));
    browser.click("main button.primary").await;
    browser.sees("#proof").await;
    browser.enter("#proof", "another horse battery").await;
    browser.click("main button.primary").await;
    browser.says("The password is not right.").await;
    browser.enter("#proof", PASSWORD).await;
    browser.click("main button.primary").await;
    browser.sees("main [name=name]").await;
    assert_eq!(browser.run("return document.querySelector('main [name=name]').value").await, json!("Backend"));
    browser.arrives_at("/console/records/developers/api-keys/new").await;
    browser.has_nothing_to_complain_of().await;
    browser.client.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_lead_to_pages_unless_they_are_switched_off() {
    let world = World::new().await;
    let Some(browser) = Browser::open(&world).await else { return };
    let (_receiver, webhook) = world.subscriber("hooks.test").await;
    world.operator("ada@acme.example", Role::Owner).await;
    browser.sign_in("ada@acme.example").await;

    browser.enter("body", "gw").await;
    browser.arrives_at("/console/records/developers/webhooks").await;
    // Escape closes a menu and goes back to what opened it.
    browser.goto(&format!("/console/webhooks/{}", id(&webhook))).await;
    browser.click("details.menu summary").await;
    browser.enter("body", "\u{e00c}").await;
    let closed = "return [document.querySelectorAll('details.menu[open]').length, document.activeElement.tagName]";
    assert_eq!(browser.run(closed).await, json!([0, "SUMMARY"]));

    browser.enter("body", "?").await;
    assert_eq!(browser.run("return document.getElementById('keys').open").await, true);
    browser.is_accessible().await;
    browser.click("#keys [name=keys]").await;
    until("the keys are off", async || browser.run("return 'keys' in document.body.dataset").await == false).await;
    let page = browser.path().await;
    browser.enter("body", "gh?").await;
    assert_eq!(browser.path().await, page);
    assert_eq!(browser.run("return document.getElementById('keys').open").await, false);
    browser.has_nothing_to_complain_of().await;
    browser.client.clone().close().await.unwrap();
}
