//! What others write, and what other sites try.

use std::collections::{BTreeSet, VecDeque};

use portico::operators::Role;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::console::PASSWORD;
use crate::support::fleet::id;
use crate::support::gateways::{SECRET_KEY, SIGNING_SECRET, event, paid};
use crate::support::receiver::Reply;

/// The most pages that are opened: filters and positions make ever new addresses.
const PAGES: usize = 400;
/// Would be an element, an attribute and a script, if it was not escaped.
const HOSTILE: &str = r#"'"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}"#;

/// The same for fields of at most 50 characters.
const SHORT: &str = "'\"><img src=x onerror=alert(1)>";
/// What nobody but the templates may write.
const DANGERS: [&str; 3] = ["<img src=x", "<script>alert", "onerror=alert(1)>"];

/// Fills every field that takes text: of the shop's systems, customers, subscribers, gateways and receivers.
async fn fill(world: &World) {
    let (receiver, webhook) = world.subscriber("hooks.test").await;
    let described = json!({ "description": HOSTILE, "headers": { "x-note": HOSTILE }, "events": ["*"] });
    world.developers(Method::PUT, &format!("webhooks/{}", id(&webhook)), described).await.ok(200);
    receiver.will([Reply::Answer(500, vec![("x-hostile", HOSTILE.to_owned())], HOSTILE.as_bytes().to_vec())]);

    let fleet = world.create("fleets", json!({ "name": HOSTILE, "description": HOSTILE })).await;
    let driver = world.create("drivers", json!({ "name": HOSTILE, "license_number": "B-7", "fleet": { "id": id(&fleet) } })).await;
    let vehicle = json!({ "name": HOSTILE, "make": SHORT, "model": SHORT, "color": SHORT, "driver": id(&driver) });
    world.create("vehicles", vehicle).await;
    let order = json!({
        "internal_id": HOSTILE, "notes": HOSTILE, "type": SHORT, "driver": id(&driver), "meta": { HOSTILE: HOSTILE },
        "payload": { "pickup": HOSTILE, "dropoff": HOSTILE },
    });
    let order = world.order(order).await;
    world.create("issues", json!({ "title": HOSTILE, "report": HOSTILE, "type": "operational", "order": id(&order) })).await;
    world
        .create(
            "proofs",
            json!({ "order": id(&order), "type": "signature", "file_url": "https://files.example/1.png", "remarks": HOSTILE }),
        )
        .await;

    let gateway = json!({ "name": HOSTILE, "driver": "card", "secret_key": SECRET_KEY, "signing_secret": SIGNING_SECRET });
    let gateway = world.gateway(gateway).await;
    let mut payment = paid("evt_1");
    payment["data"]["object"]["description"] = HOSTILE.into();
    world.call_back(&gateway, &payment).await.ok(200);
    world.call_back(&gateway, &event(HOSTILE, HOSTILE, json!({ HOSTILE: HOSTILE }))).await;

    world.register_with("ada@example.com", json!({ "name": HOSTILE })).await;
    let wrong = json!({ "identity": "ada@example.com", "password": HOSTILE });
    world.storefront("customers/login").json(&wrong).header("user-agent", HOSTILE).send().await;
    world.storefront("customers/login").json(&json!({ "identity": HOSTILE, "password": HOSTILE })).send().await;
    let key = json!({ "name": HOSTILE, "scopes": ["read"] });
    world.developers(Method::POST, "api-keys", key).await.ok(201);
    world.deliver().await;
}

#[tokio::test]
async fn whatever_others_write_is_shown_as_text_on_every_page_and_every_link_leads_somewhere() {
    let world = World::new().await;
    fill(&world).await;
    let mut tab = world.signed_in(Role::Owner).await;
    tab.user_agent = HOSTILE;
    tab.send("/console/sign-out", &[]).await;
    tab.sign_in("owner@acme.example", PASSWORD).await;
    let query = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect::<String>();
    let mut pages = VecDeque::from([
        "/console".to_owned(),
        "/console/account".to_owned(),
        format!("/console/records/fleet/orders?internal_id={query}"),
        format!("/console/search?q={query}"),
        format!("/console?done={query}"),
        format!("/console/sign-in?then={query}"),
    ]);
    let mut known: BTreeSet<String> = pages.iter().cloned().collect();
    let mut opened = 0;
    while let Some(page) = pages.pop_front().filter(|_| opened < PAGES) {
        let shown = tab.open(&page).await;
        opened += 1;
        assert_eq!(shown.status, 200, "{page}");
        for danger in DANGERS {
            shown.says_nothing_of(danger);
        }
        assert!(!shown.html.contains(">49<"), "{page}");
        for link in shown.html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let link = link.replace("&#38;", "&").replace("&amp;", "&");
            if link.starts_with("/console") && known.insert(link.clone()) {
                pages.push_back(link);
            }
        }
    }
    assert!(opened > 80, "only {opened} pages were found");
    for nowhere in [format!("/console/records/{query}/{query}"), format!("/console/webhooks/{query}")] {
        let shown = tab.open(&nowhere).await;
        assert_eq!(shown.status, 404);
        for danger in DANGERS {
            shown.says_nothing_of(danger);
        }
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
