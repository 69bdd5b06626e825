//! Texts: what the guard decides, and who may pause and resume.

use portico::operators::Role;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::customers::{EMAIL, PHONE, ask_to_register, ask_to_sign_in};

#[tokio::test]
async fn texts_are_paused_and_resumed_with_what_it_costs() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Developer).await;
    let page = tab.open("/console/texts").await;
    page.says("No shop&#39;s texts are paused.").says("1000").says_nothing_of("Verdicts of the guard");
    let path = format!("/console/texts/{}/pause", world.store);
    tab.open(&path).await.says("No code is texted until somebody resumes.");
    let refused = tab.send(&path, &[("reason", &"a".repeat(256))]).await;
    assert_eq!(refused.status, 422);
    tab.send(&path, &[("reason", "<b>a campaign</b>")]).await.says("Paused: 1").says("&#60;b&#62;a campaign").says_nothing_of("<b>a");
    ask_to_register(&world, PHONE).await.refused(423, "texts_paused");

    // On the overview too, for whoever can do something about it.
    tab.open("/console").await.says("Stores whose texts are paused");
    let paused = tab.open("/console/texts").await;
    let since = paused.between("name=\"since\" value=\"", "\"").replace("&#43;", "+");
    let resume = format!("/console/texts/{}/resume", world.store);
    // A pause that nobody has seen is not lifted.
    tab.send(&resume, &[("since", "2020-01-01T00:00:00Z")]).await.says("Nothing was changed.").says("Paused: 1");
    tab.send(&resume, &[("since", &since)]).await.says("No shop&#39;s texts are paused.");
    ask_to_register(&world, PHONE).await.ok(200);
    tab.open("/console").await.says_nothing_of("Stores whose texts are paused");
}

#[tokio::test]
async fn verdicts_and_budgets_are_for_those_who_see_customers() {
    let world = World::new().await;
    world.register(EMAIL).await;
    world.register(PHONE).await;
    ask_to_sign_in(&world, PHONE).await.refused(429, "number_cooldown");
    let limit = json!({ "texts_per_day": 1 });
    world.api(Method::PUT, &format!("/storefront/int/v1/stores/{}", world.store)).json(&limit).send().await.ok(200);
    let mut support = world.signed_in(Role::Support).await;
    let page = support.open("/console/texts").await;
    page.says("Refused: too soon after the last text to the number").says("<code>seconds_between_texts</code>").says("state waiting\">1<");
    page.says_nothing_of("/pause\"");
    let list = page.between("<th scope=\"row\"><a href=\"/console/records/storefront/texts?status=refused", "\"").replace("&#38;", "&");
    let list = support.open(&format!("/console/records/storefront/texts?status=refused{}", list.replace("&amp;", "&"))).await;
    list.says("seconds_between_texts");
    support.open("/console/texts?period=7d").await.says("Refused: too soon after the last text to the number");
    support.open("/console").await.says("Sign-ins by method").says("registration").says("Texts by verdict").says("1 of 1 texts of the day");
    for act in ["pause", "resume"] {
        assert_eq!(support.send(&format!("/console/texts/{}/{act}", world.store), &[]).await.status, 403, "{act}");
    }
    assert_eq!(support.open(&format!("/console/texts/{}/pause", world.store)).await.status, 404);
    let mut developer = world.signed_in(Role::Developer).await;
    developer.open("/console").await.says_nothing_of("Sign-ins by method");
}
