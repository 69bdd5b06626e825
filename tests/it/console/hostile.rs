//! What others write, and what other sites try.

use portico::operators::Role;
use serde_json::json;

use crate::support::World;
use crate::support::console::PASSWORD;
use crate::support::fleet::id;
use crate::support::receiver::Reply;

/// Would be an element, an attribute and a script, if it was not escaped.
const HOSTILE: &str = r#"'"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}"#;

#[tokio::test]
async fn whatever_others_write_is_shown_as_text() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("hooks.test").await;
    receiver.will([Reply::with(500, "x-hostile", "<script>alert(3)</script>")]);
    let order = world.order(json!({ "internal_id": HOSTILE, "notes": HOSTILE, "meta": { HOSTILE: HOSTILE } })).await;
    let driver = world.driver(HOSTILE).await;
    world.deliver().await;
    let mut tab = world.signed_in(Role::Owner).await;
    tab.user_agent = "<script>alert(4)</script>";
    let deliveries = tab.open("/console/records/developers/deliveries").await;
    let delivery = deliveries.between("/console/deliveries/", "\"");
    let query = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect::<String>();
    for page in [
        "/console".to_owned(),
        "/console/records/fleet/orders".to_owned(),
        format!("/console/records/fleet/orders/{}", id(&order)),
        format!("/console/records/fleet/orders/{}/edit", id(&order)),
        format!("/console/records/fleet/drivers/{}/delete", id(&driver)),
        format!("/console/deliveries/{delivery}"),
        format!("/console/records/fleet/orders?internal_id={query}"),
        format!("/console/search?q={query}"),
        format!("/console?done={query}"),
        format!("/console/sign-in?then={query}"),
        format!("/console/records/{query}/{query}"),
    ] {
        let shown = tab.open(&page).await;
        for danger in ["<img src=x", "<script>alert", "onerror=alert(1)>"] {
            shown.says_nothing_of(danger);
        }
        assert!(!shown.html.contains(">49<"), "{page}");
    }
}

#[tokio::test]
async fn a_form_of_another_site_changes_nothing() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    tab.open("/console/records/fleet/drivers/new").await;
    let path = "/console/records/fleet/drivers/new";
    for site in ["cross-site", "same-site", "none"] {
        tab.site = site;
        assert_eq!(tab.send(path, &[("name", "Eve")]).await.status, 403, "{site}");
        assert_eq!(tab.sign_in("owner@acme.example", PASSWORD).await.status, 403, "{site}");
    }
    tab.site = "same-origin";
    // Nor does one that guesses the token, or has that of somebody else.
    let (mut eve, mut forged) = (world.tab(), tab.cookies.clone());
    world.operator("eve@acme.example", Role::Viewer).await;
    eve.sign_in("eve@acme.example", PASSWORD).await;
    eve.open("/console").await;
    std::mem::swap(&mut eve.cookies, &mut forged);
    assert_eq!(eve.send(path, &[("name", "Eve")]).await.status, 403);
    assert_eq!(world.count("select count(*) from drivers").await, 0);
    tab.open(path).await;
    assert_eq!(tab.send(path, &[("name", "Ada")]).await.status, 200);
}

#[tokio::test]
async fn every_page_forbids_frames_foreign_content_and_scripts_within_it() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    for page in ["/console", "/console/records/fleet/orders", "/console/nowhere", "/console/records/fleet/nothing", "/console/sign-in"] {
        let shown = tab.open(page).await;
        let policy = shown.header("content-security-policy");
        for rule in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'self'"] {
            assert!(policy.contains(rule), "{page}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for (header, value) in [("x-frame-options", "DENY"), ("x-content-type-options", "nosniff"), ("cache-control", "no-store")] {
            assert_eq!(shown.header(header), value, "{page}");
        }
        for inline in ["<script>", "<style", " style=", " onclick=", "javascript:", "http://", "https://"] {
            shown.says_nothing_of(inline);
        }
    }
}

#[tokio::test]
async fn nobody_is_led_to_another_site() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    for then in ["https://evil.example/", "//evil.example", "/\\evil.example", "/console\\@evil.example", "javascript:alert(1)"] {
        let mut tab = world.tab();
        let fields = [("email", "ada@acme.example"), ("password", PASSWORD), ("then", then)];
        assert_eq!(tab.send("/console/sign-in", &fields).await.address, "/console", "{then}");
        let shown = tab.send("/console/preferences", &[("here", then), ("theme", "dark")]).await;
        assert_eq!(shown.address, "/console", "{then}");
    }
}

#[tokio::test]
async fn a_failure_is_a_page_with_a_sentence_and_a_way_on() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    let missing = tab.open("/console/records/fleet/orders/order_00000000000000000000000001").await;
    assert_eq!(missing.status, 404);
    missing.says("There is no such page").says("To the overview");
    for nowhere in ["/console/records/developers/events/stream", "/console/webhooks/stream", "/console/records/fleet/orders/%2e%2e%2fx"] {
        assert_eq!(tab.open(nowhere).await.status, 404, "{nowhere}");
    }
    let wrong_method = tab.open("/console/sign-out").await;
    assert_eq!((wrong_method.status, wrong_method.header("content-type")), (405, "text/html; charset=utf-8"));
    assert_eq!(missing.header("content-type"), "text/html; charset=utf-8");
    world.pool.close().await;
    let away = tab.open("/console").await;
    assert_eq!(away.status, 503);
    away.says("The database does not answer.");
}
