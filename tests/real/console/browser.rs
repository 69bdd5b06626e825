//! The console in a real browser.

use chrono::TimeDelta;
use portico::contact::EmailAddress;
use portico::operators::{self, OneTimeLink, Role};
use serde_json::json;

use crate::support::World;
use crate::support::browser::Browser;
use crate::support::fleet::id;
use crate::support::waiting::until;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_works_in_a_browser() {
    let world = World::new().await;
    let Some(browser) = Browser::open(&world).await else { return };
    let (receiver, webhook) = world.subscriber("hooks.test").await;
    for number in 1..4 {
        world.pass(TimeDelta::milliseconds(1));
        world.order(json!({ "internal_id": format!("A-{number}") })).await;
    }
    world.deliver().await;
    assert!(receiver.count() > 0);

    // The link of the greeting: its key is filled in from behind the #, and is gone from the address.
    world.operator("ada@acme.example", Role::Owner).await;
    let conn = &mut world.pool.acquire().await.unwrap();
    let operator = operators::find_by_email(conn, world.company, &EmailAddress::parse("ada@acme.example").unwrap()).await.unwrap().unwrap();
    let link = OneTimeLink::create(conn, operator.id, world.clock.now()).await.unwrap();
    browser.goto(&format!("/console/sign-in/once#{}", link.reveal())).await;
    until("the key is gone from the address", async || browser.path().await == "/console/sign-in/once").await;
    browser.click("main button.primary").await;
    until("somebody is signed in", async || browser.path().await == "/console").await;
    browser.has_nothing_to_complain_of().await;

    // Every page that the navigation leads to, and those with a shape of their own.
    let links = browser.run("return [...document.querySelectorAll('.side nav a')].map(link => link.pathname)").await;
    let mut pages: Vec<String> = links.as_array().unwrap().iter().map(|link| link.as_str().unwrap().to_owned()).collect();
    assert!(pages.len() > 20, "{pages:?}");
    pages.push(format!("/console/webhooks/{}", id(&webhook)));
    pages.push(format!("/console/deliveries/{}", id(&world.last_delivery().await)));
    for page in ["", "/resources/fleet/orders", "/events/order", "/problems", "/guides/webhooks", "/search?q=order"] {
        pages.push(format!("/docs{page}"));
    }
    for plural in ["fleet/orders", "fleet/drivers", "developers/webhooks", "developers/api-keys", "ledger/gateways", "storefront/stores"] {
        pages.push(format!("/console/records/{plural}/new"));
    }
    let ((_, hook, _), (_, provider)) = (world.hook_with_a_page().await, world.message_hook_with_a_page().await);
    for server in [hook, provider] {
        pages.extend(["", "/test", "/rotate-secret"].map(|act| format!("{server}{act}")));
    }
    for page in &pages {
        browser.goto(page).await;
        let shown =
            browser.run("return [document.documentElement.scrollWidth <= innerWidth, document.querySelectorAll('h1').length]").await;
        assert_eq!(shown, json!([true, 1]), "{page} scrolls sideways or has not one heading");
        browser.is_accessible().await;
        browser.has_nothing_to_complain_of().await;
    }

    // Keys: / searches, j goes to the first row.
    browser.goto("/console/records/fleet/orders").await;
    browser.enter("body", "j").await;
    assert_eq!(browser.run("return document.activeElement.textContent").await, "A-3");
    browser.enter("body", "/").await;
    assert_eq!(browser.run("return document.activeElement.id").await, "search");
    browser.enter("#search", "A-2\u{e007}").await;
    browser.arrives_at("/console/records/fleet/orders?internal_id=A-2").await;
    assert!(browser.text().await.contains("A-2"));

    // A session that is ended elsewhere is ended here.
    sqlx::query("delete from operator_sessions").execute(&world.pool).await.unwrap();
    browser.goto("/console").await;
    assert!(browser.path().await.starts_with("/console/sign-in"));
    browser.client.clone().close().await.unwrap();
}
