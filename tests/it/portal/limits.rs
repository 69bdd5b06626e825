//! How much of the service the visitors of one owner use, and what they have sent to their webhooks.

use chrono::TimeDelta;
use portico::callers::Scope;
use portico::operators::Role;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::console::PASSWORD;
use crate::support::fleet::id;

const LIST: &str = "/portal/records/developers/webhooks";

#[tokio::test]
async fn a_webhook_is_tested_sixty_times_a_minute_whoever_asks() {
    let world = World::new().await;
    let (_, webhook) = world.subscriber_of("hooks.test", "7").await;
    let (_, other) = world.subscriber_of("others.test", "7").await;
    let page = format!("/portal/webhooks/{}", id(&webhook));
    let mut tab = world.visitor("7").await;
    tab.open(&page).await;
    let fields = [("event", "order.created")];
    for _ in 0..30 {
        assert_eq!(tab.send(&format!("{page}/test"), &fields).await.status, 200);
    }
    let refused = tab.send(&format!("{page}/test"), &fields).await;
    assert_eq!(refused.status, 429);
    assert!((1..=60).contains(&refused.header("retry-after").parse().unwrap()));
    refused.says("A webhook has had 30 tests, replays and explanations this minute.");
    assert_eq!(world.count("select count(*) from waiting").await, 30, "the others are not sent");
    // The visitor leaves half of them to the company, and a key that only reads does too.
    let test = async |id: &str| world.developers(Method::POST, &format!("webhooks/{id}/test"), json!({})).await;
    let first = world.publish_to(Some("8"), "a").await;
    let reading = world.key_of(world.company, &[Scope::Read]).await;
    let path = format!("/developers/int/v1/events/{first}/explain?webhook={}", id(&webhook));
    world.request(Method::GET, &path).key(&reading).send().await.refused(429, "rate_limited");
    for _ in 0..30 {
        test(id(&webhook)).await.ok(201);
    }
    // It is the endpoint that is spared: the company's server sends no more either, and nobody repeats or explains.
    let told = test(id(&webhook)).await.refused(429, "rate_limited");
    assert_eq!(told["detail"], "A webhook has 60 tests, replays and explanations a minute, whoever asks for them.");
    let replay = json!({ "since": world.clock.now() });
    world.developers(Method::POST, &format!("webhooks/{}/replay", id(&webhook)), replay).await.refused(429, "rate_limited");
    let event = world.publish_to(Some("7"), "a").await;
    world.developers(Method::POST, &format!("events/{event}/replay"), json!({})).await.refused(429, "rate_limited");
    let explain = |id: &str| world.api(Method::GET, &format!("/developers/int/v1/events/{event}/explain?webhook={id}")).send();
    explain(id(&webhook)).await.refused(429, "rate_limited");
    explain(id(&other)).await.ok(200);
    test(id(&other)).await.ok(201);
    world.pass(TimeDelta::minutes(1));
    assert_eq!(tab.send(&format!("{page}/test"), &fields).await.status, 200);
    let again = world.developers(Method::POST, &format!("events/{event}/replay"), json!({})).await.ok(201);
    assert_eq!(again["replay"]["count"], 2);
}

#[tokio::test]
async fn a_delivery_is_sent_again_sixty_times_a_minute() {
    let world = World::new().await;
    let (_, webhook) = world.subscriber_of("hooks.test", "7").await;
    world.publish_to(Some("7"), "a").await;
    world.deliver().await;
    let delivery = world.get(&format!("deliveries?webhook={}", id(&webhook))).await["deliveries"][0]["id"].take();
    let path = format!("deliveries/{}/replay", delivery.as_str().unwrap());
    let again = || world.developers(Method::POST, &path, json!({}));
    for _ in 0..60 {
        again().await.ok(201);
    }
    again().await.refused(429, "rate_limited");
}

#[tokio::test]
async fn the_visitors_of_one_owner_make_so_many_changes_a_minute() {
    let world = World::with(&[("companies.visitor_changes_per_minute", "3")]).await;
    let (_, webhook) = world.subscriber_of("hooks.test", "7").await;
    let (_, others) = world.subscriber_of("others.test", "8").await;
    let edit = |webhook| format!("/portal/records/developers/webhooks/{}", id(webhook));
    let mut tab = world.visitor("7").await;
    for description in ["One", "Two", "Three"] {
        tab.edit(&edit(&webhook), &[("description", description)]).await.says("Saved.");
    }
    // Another link for the owner makes no difference.
    let mut colleague = world.visitor("7").await;
    let refused = colleague.edit(&edit(&webhook), &[("description", "Four")]).await;
    assert_eq!(refused.status, 429);
    assert!((1..=60).contains(&refused.header("retry-after").parse().unwrap()), "the form is shown again");
    refused.says("value=\"Four\"");
    assert_eq!(colleague.open(LIST).await.says("Three").status, 200, "looking is no change");
    world.visitor("8").await.edit(&edit(&others), &[("description", "Ours")]).await.says("Saved.");
    let path = format!("webhooks/{}", id(&webhook));
    world.developers(Method::PUT, &path, json!({ "description": "Five" })).await.ok(200);
}

#[tokio::test]
async fn the_pages_of_one_owner_or_operator_have_a_limit_of_their_own() {
    let world = World::with(&[("companies.page_requests_per_minute", "40")]).await;
    let mut tab = world.visitor("7").await;
    let opened = async |tab: &mut crate::support::console::Tab<'_>, page: &str| {
        for number in 0..50 {
            if tab.open(page).await.status == 429 {
                return number;
            }
        }
        panic!("{page} has no limit")
    };
    assert!(opened(&mut tab, LIST).await > 5);
    assert_eq!(world.visitor("8").await.open(LIST).await.status, 200);
    let mut operator = world.signed_in(Role::Owner).await;
    assert_eq!(operator.open("/console/records/fleet/orders").await.status, 200);
    opened(&mut operator, "/console/records/fleet/orders").await;
    // Neither is in the way of the company's servers.
    world.api(Method::GET, "/fleet/int/v1/orders").send().await.ok(200);
}

#[tokio::test]
async fn tokens_of_no_session_are_looked_up_six_hundred_times_a_minute() {
    let world = World::new().await;
    let orders = "/console/records/fleet/orders";
    let mut visitor = world.visitor("7").await.from("203.0.113.66");
    let mut operator = world.signed_in(Role::Owner).await.from("203.0.113.66");
    assert_eq!((visitor.open(LIST).await.status, operator.open(orders).await.status), (200, 200));
    for (cookie, page) in [("portico-portal", LIST), ("portico-session", orders)] {
        let mut stranger = world.tab().from("203.0.113.66");
        let mut looked_up = 0;
        loop {
            stranger.cookies.insert(cookie.to_owned(), "made-up".to_owned());
            if stranger.open(page).await.status == 429 {
                break;
            }
            looked_up += 1;
            assert!(looked_up < 5_000, "there is no limit");
        }
        assert!(looked_up >= 600, "{looked_up}");
    }
    assert_eq!((visitor.open(LIST).await.status, operator.open(orders).await.status), (200, 200), "who was here before stays");
    world.operator("new@acme.example", Role::Viewer).await;
    let mut newcomer = world.tab().from("203.0.113.66");
    assert_eq!(newcomer.sign_in("new@acme.example", PASSWORD).await.status, 200, "who signs in gets in");
    assert_eq!(world.visitor("7").await.open(LIST).await.status, 200);
    assert_eq!(world.signed_in(Role::Support).await.open(orders).await.status, 200);
}

#[tokio::test]
async fn a_company_whose_keys_are_out_of_requests_still_has_its_console() {
    let world = World::with(&[("companies.requests_per_minute", "1")]).await;
    let mut tab = world.signed_in(Role::Owner).await;
    world.api(Method::GET, "/fleet/int/v1/orders").send().await.ok(200);
    world.api(Method::GET, "/fleet/int/v1/orders").send().await.refused(429, "rate_limited");
    assert_eq!(tab.open("/console/records/fleet/orders").await.status, 200);
}

#[tokio::test]
async fn one_visitor_follows_sixteen_pages_and_others_still_follow_theirs() {
    let world = World::new().await;
    let mut tab = world.visitor("7").await;
    let mut followed = Vec::new();
    for number in 0..16 {
        followed.push(tab.follow(&format!("{LIST}?query={number}")).await);
    }
    assert!(followed.iter().all(|page| page.status() == 200));
    assert_eq!(tab.follow(LIST).await.status(), 429);
    assert_eq!(world.visitor("7").await.follow(LIST).await.status(), 429, "another link for the owner makes no difference");
    assert_eq!(world.visitor("8").await.follow(LIST).await.status(), 200);
    assert_eq!(world.signed_in(Role::Owner).await.follow("/console/records/fleet/orders").await.status(), 200);
    for page in &mut followed {
        page.next().await.expect("the pages that are followed go on");
    }
}

#[tokio::test]
async fn those_who_look_at_the_same_page_share_it_and_who_leaves_is_shown_no_more() {
    let world = World::new().await;
    let (mut leaving, mut staying) = (world.visitor("7").await, world.visitor("7").await);
    let mut of_leaving = leaving.follow(LIST).await;
    let mut of_staying = staying.follow(LIST).await;
    of_leaving.next().await.unwrap();
    of_staying.next().await.unwrap();
    world.subscriber_of("first.test", "7").await;
    assert!(of_leaving.next().await.unwrap().contains("first.test"));
    assert!(of_staying.next().await.unwrap().contains("first.test"));
    leaving.send("/portal/leave", &[]).await;
    world.subscriber_of("second.test", "7").await;
    assert_eq!(of_leaving.next().await, None);
    assert!(of_staying.next().await.unwrap().contains("second.test"));
}
