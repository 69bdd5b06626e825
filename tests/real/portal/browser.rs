//! The portal in a real browser.

use crate::support::World;
use crate::support::browser::Browser;
use crate::support::waiting::until;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_portal_link_sees_one_owner_only() {
    let world = World::new().await;
    let Some(browser) = Browser::open(&world).await else { return };
    let (_ours, _) = world.subscriber_of("ours.test", "7").await;
    let (_foreign, _) = world.subscriber_of("foreign.test", "8").await;
    let (_company, _) = world.subscriber("company.test").await;
    for owner in [Some("7"), Some("8"), None] {
        world.publish_to(owner, &format!("note for {owner:?}")).await;
    }
    world.deliver().await;

    // The script opens the link: the key is in no address that is asked for.
    let link = world.portal_link("7").await;
    browser.goto(link["path"].as_str().unwrap()).await;
    browser.arrives_at("/portal/records/developers/webhooks").await;
    let links = browser.run("return [...document.querySelectorAll('.top nav a')].map(link => link.pathname)").await;
    assert_eq!(links.as_array().unwrap().len(), 4, "{links}");
    for page in links.as_array().unwrap() {
        browser.goto(page.as_str().unwrap()).await;
        let (text, rows) = (browser.text().await, browser.run("return document.querySelectorAll('tbody tr').length").await);
        assert!(!text.contains("foreign.test") && !text.contains("company.test"), "{text}");
        assert_eq!(rows, i64::from(!page.as_str().unwrap().ends_with("/replays")), "{page}");
        let fits = browser.run("return document.documentElement.scrollWidth <= innerWidth").await;
        assert_eq!(fits, true, "{page} scrolls sideways");
        browser.has_nothing_to_complain_of().await;
    }
    browser.goto("/portal").await;
    browser.run("document.querySelector('tbody a').click()").await;
    browser.arrives_at("/portal/webhooks/").await;
    assert!(browser.text().await.contains("ours.test"));
    browser.has_nothing_to_complain_of().await;

    // A revoked link ends what it has opened.
    sqlx::query("update portal_links set deleted_at = now()").execute(&world.pool).await.unwrap();
    browser.goto("/portal").await;
    until("nothing is open", async || browser.path().await == "/portal/open?ended").await;
    browser.client.clone().close().await.unwrap();
}
