//! The pages of the portal, as one of the company's own customers works with them.

use chrono::TimeDelta;
use portico::callers::Scope;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::console::{Shown, Tab};
use crate::support::fleet::id;
use crate::support::receiver::Reply;

/// Would be an element, an attribute and a script, if it was not escaped.
const HOSTILE: &str = r#"'"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}"#;

impl World {
    /// A tab in which the portal of an owner is open.
    pub async fn visitor(&self, owner: &str) -> Tab<'_> {
        let link = self.portal_link(owner).await;
        let mut tab = self.tab();
        let shown = open(&mut tab, &link).await;
        assert_eq!((shown.status, shown.address.as_str()), (200, "/portal/records/developers/webhooks"), "{}", shown.html);
        tab
    }
}

/// What the script of the page does, and whoever has none by hand.
async fn open(tab: &mut Tab<'_>, link: &Value) -> Shown {
    tab.open("/portal/open").await.says("Key of the link");
    tab.send("/portal/open", &[("key", link["key"].as_str().unwrap())]).await
}

#[tokio::test]
async fn a_visitor_registers_tests_breaks_reads_and_repeats_a_webhook() {
    let world = World::new().await;
    let receiver = world.endpoint("hooks.test").await;
    let mut tab = world.visitor("7").await;
    tab.open("/portal").await.says("register the address that it listens at");
    let new = tab.open("/portal/records/developers/webhooks/new").await;
    new.says("The URL that events are posted to.").says_nothing_of("name=\"owner\"");
    let made = tab.send("/portal/records/developers/webhooks/new", &[("url", &receiver.url()), ("events", "order.*")]).await;
    assert!(made.between("<code data-copy>", "</code>").starts_with("whsec_"));
    let page = made.between("button primary\" href=\"", "\"");
    assert!(page.starts_with("/portal/webhooks/"), "{page}");
    tab.open(&page).await.says(&receiver.url()).says_nothing_of("Show the signing secret");

    let sent = tab.send(&format!("{page}/test"), &[("event", "order.created")]).await;
    assert!(sent.address.starts_with("/portal/deliveries/"), "{}", sent.address);
    world.deliver().await;
    tab.open(sent.address.split('?').next().unwrap()).await.says("The endpoint accepted it.");
    tab.open(&format!("{page}/test?event=order.deleted")).await.says("Data of order.deleted").says("action=\"/portal/webhooks/");

    receiver.will([Reply::status(401)]);
    let event = world.publish_to(Some("7"), "a").await;
    world.deliver().await;
    let failed = tab.open(&format!("{page}?status=retrying")).await.between("/portal/deliveries/", "\"");
    let failed = tab.open(&format!("/portal/deliveries/{failed}")).await;
    failed.says("The endpoint refused the request.");
    tab.send(&format!("{}/cancel", failed.address), &[]).await.says("cancelled");
    let again = tab.send(&format!("{}/replay", failed.address), &[]).await;
    again.says("Repeats");
    world.deliver().await;
    tab.open(&format!("/portal/events/{event}")).await.says("order.created").says("Why did it not arrive?");

    // Changed, disabled, enabled, rotated, deleted.
    tab.open(&page).await;
    let edit = page.replace("/portal/webhooks/", "/portal/records/developers/webhooks/");
    tab.edit(&edit, &[("description", "Ours")]).await.says("Saved.").says("Ours");
    tab.send(&format!("{page}/disable"), &[]).await.says("Disabled by request.");
    tab.send(&format!("{page}/enable"), &[]).await;
    let asked = tab.open(&format!("{page}/rotate-secret")).await;
    let version = asked.between("name=\"version\" value=\"", "\"").replace("&#34;", "\"").replace("&quot;", "\"");
    tab.send(&format!("{page}/rotate-secret"), &[("overlap", "3600"), ("version", &version)]).await.says("This is the new secret.");
    tab.open(&format!("{edit}/delete")).await;
    let deleted = tab.send(&format!("{edit}/delete"), &[]).await;
    assert_eq!(deleted.address, "/portal/records/developers/webhooks?done=deleted");
    let changes = world.get("changes?caller=portal_link").await["changes"].take();
    assert!(changes.as_array().unwrap().len() >= 5, "{changes}");
}

#[tokio::test]
async fn a_visitor_who_changes_the_url_does_not_get_the_headers_of_the_company_sent_there() {
    let world = World::new().await;
    let (hooks, elsewhere) = (world.endpoint("hooks.test").await, world.endpoint("elsewhere.test").await);
    let headers = json!({ "authorization": "Bearer of-the-company" });
    let webhook = world.subscribe(&hooks, json!({ "owner": "7", "headers": headers })).await;
    let mut tab = world.visitor("7").await;
    let page = format!("/portal/records/developers/webhooks/{}", id(&webhook));
    let refused = tab.edit(&page, &[("url", &elsewhere.url())]).await;
    assert_eq!(refused.status, 422);
    refused.says("Send the value again: the stored one is for another address, or cannot be decrypted.").says_nothing_of("of-the-company");
    world.publish_to(Some("7"), "a").await;
    world.deliver().await;
    assert_eq!((hooks.headers("authorization"), elsewhere.count()), (vec!["Bearer of-the-company".to_owned()], 0));
    // The visitor may go on without them.
    tab.edit(&page, &[("url", &elsewhere.url()), ("headers", "")]).await.says("Saved.");
    world.publish_to(Some("7"), "b").await;
    world.deliver().await;
    assert!(!elsewhere.only().headers.contains_key("authorization"));
}

#[tokio::test]
async fn no_page_of_the_portal_leads_out_of_it_or_shows_another_owner() {
    let world = World::new().await;
    for (name, owner) in [("ours", Some("7")), ("foreign", Some("8")), ("company", None)] {
        let receiver = world.endpoint(&format!("{name}.test")).await;
        let webhook = world.subscribe(&receiver, json!({ "owner": owner, "description": format!("Hooks of {name}") })).await;
        world.publish_to(owner, &format!("note of {name}")).await;
        world.deliver().await;
        let since = json!({ "since": world.clock.now(), "status": "delivered" });
        world.developers(Method::POST, &format!("webhooks/{}/replay", id(&webhook)), since).await.ok(202);
    }
    let mut tab = world.visitor("7").await;
    // Every page that can be reached by links.
    let (mut open, mut seen) = (vec!["/portal".to_owned()], Vec::new());
    while let Some(page) = open.pop() {
        let shown = tab.open(&page).await;
        assert_eq!(shown.status, 200, "{page}");
        for foreign in ["foreign.test", "company.test", "Hooks of foreign", "Hooks of company", "note of foreign", "note of company"] {
            shown.says_nothing_of(foreign);
        }
        for (mark, rest) in [("href=\"", 6), ("action=\"", 8)] {
            for found in shown.html.match_indices(mark).map(|(at, _)| &shown.html[at + rest..]) {
                let address = found.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
                // The documentation is for everybody.
                let inside = ["/portal", "/console/assets/", "/docs/", "#"].iter().any(|beginning| address.starts_with(beginning));
                assert!(inside, "{page} leads to {address}");
                if mark == "href=\"" && address.starts_with("/portal") && !address.contains("/theme/") && !seen.contains(&address) {
                    seen.push(address.clone());
                    open.push(address);
                }
            }
        }
        assert!(seen.len() < 200, "{seen:#?}");
    }
    assert!(seen.len() > 15, "{seen:#?}");
    assert!(seen.iter().any(|page| page.contains("/deliveries/")) && seen.iter().any(|page| page.contains("/events/")), "{seen:#?}");
}

#[tokio::test]
async fn what_is_not_of_the_owner_is_not_there() {
    let world = World::new().await;
    let (_, foreign) = world.subscriber_of("foreign.test", "8").await;
    let event = world.publish_to(Some("8"), "x").await;
    world.deliver().await;
    let delivery = world.last_delivery().await;
    let mut tab = world.visitor("7").await;
    let webhook = format!("/portal/webhooks/{}", id(&foreign));
    for page in [
        webhook.clone(),
        format!("{webhook}/rotate-secret"),
        format!("/portal/deliveries/{}", id(&delivery)),
        format!("/portal/events/{event}"),
        format!("/portal/records/developers/webhooks/{}/edit", id(&foreign)),
        format!("/portal/records/developers/webhooks/{}/delete", id(&foreign)),
        "/portal/records/developers/api-keys".to_owned(),
        "/portal/records/developers/portal-links".to_owned(),
        "/portal/records/developers/changes".to_owned(),
        "/portal/records/fleet/orders".to_owned(),
        "/portal/search?q=7".to_owned(),
        "/portal/account".to_owned(),
    ] {
        let shown = tab.open(&page).await;
        assert_eq!(shown.status, 404, "{page}");
        shown.says_nothing_of("foreign.test");
    }
    for act in ["test", "disable", "enable", "secret", "rotate-secret", "replay"] {
        tab.open("/portal").await;
        let fields = [("since", "2026-05-21T10:00"), ("overlap", "0"), ("version", "1")];
        // Nobody in the portal is shown a secret, whosever it is.
        let expected = if act == "secret" { 403 } else { 404 };
        assert_eq!(tab.send(&format!("{webhook}/{act}"), &fields).await.status, expected, "{act}");
    }
    tab.open("/portal").await;
    assert_eq!(tab.send(&format!("/portal/deliveries/{}/replay", id(&delivery)), &[]).await.status, 404);
    // Nor do the pages of operators open for a visitor, or those of the portal for an operator.
    assert_eq!(tab.open("/console").await.address, "/console/sign-in?then=%2Fconsole");
    let mut operator = world.signed_in(Role::Owner).await;
    operator.open("/portal").await.says("Nothing is open here any more.");
}

#[tokio::test]
async fn a_session_ends_idle_old_left_or_revoked() {
    let world = World::new().await;
    let mut idle = world.visitor("7").await;
    world.pass(TimeDelta::minutes(59));
    assert_eq!(idle.open("/portal").await.status, 200);
    world.pass(TimeDelta::minutes(60));
    let ended = idle.open("/portal").await;
    assert_eq!(ended.address, "/portal/open?ended");
    ended.says("Nothing is open here any more.");

    let mut old = world.visitor("7").await;
    for _ in 0..14 {
        world.pass(TimeDelta::minutes(50));
        assert_eq!(old.open("/portal").await.address, "/portal/records/developers/webhooks");
    }
    world.pass(TimeDelta::minutes(50));
    assert_eq!(old.open("/portal").await.address, "/portal/open?ended");

    let mut left = world.visitor("7").await;
    let token = left.cookies["portico-portal"].clone();
    left.open("/portal").await;
    left.send("/portal/leave", &[]).await.says("Nothing is open here any more.");
    assert!(!left.cookies.contains_key("portico-portal"));
    left.cookies.insert("portico-portal".to_owned(), token);
    assert_eq!(left.open("/portal").await.address, "/portal/open?ended");

    let link = world.portal_link("7").await;
    let mut revoked = world.tab();
    open(&mut revoked, &link).await;
    assert_eq!(revoked.open("/portal").await.status, 200);
    world.developers(Method::DELETE, &format!("portal-links/{}", id(&link)), json!({})).await.ok(200);
    assert_eq!(revoked.open("/portal").await.address, "/portal/open?ended");
    let again = open(&mut revoked, &link).await;
    assert_eq!(again.status, 401);
    again.says("This link has ended.");
}

#[tokio::test]
async fn opening_begins_a_session_of_its_own_and_ends_the_one_before() {
    let world = World::new().await;
    let (seven, eight) = (world.portal_link("7").await, world.portal_link("8").await);
    let mut tab = world.tab();
    // A token that somebody else has put there becomes nobody's session.
    tab.cookies.insert("portico-portal".to_owned(), "planted".to_owned());
    open(&mut tab, &seven).await;
    let first = tab.cookies["portico-portal"].clone();
    assert_ne!(first, "planted");
    // A page that is loaded again opens its frame anew, with another link of the same owner.
    for link in [&seven, &world.portal_link("7").await] {
        let before = tab.cookies["portico-portal"].clone();
        assert_eq!(open(&mut tab, link).await.address, "/portal/records/developers/webhooks");
        assert_ne!(tab.cookies["portico-portal"], before);
    }
    assert_eq!(world.count("select count(*) from portal_sessions").await, 1);
    tab.send("/portal/open", &[("key", eight["key"].as_str().unwrap()), ("instead", "yes")]).await;
    assert_eq!(world.count("select count(*) from portal_sessions").await, 1);
}

#[tokio::test]
async fn a_link_of_somebody_else_takes_the_place_of_what_is_open_after_a_click_only() {
    let world = World::new().await;
    let (_ours, _) = world.subscriber_of("ours.test", "7").await;
    let (_foreign, _) = world.subscriber_of("foreign.test", "8").await;
    let (_, stranger) = world.another_company(&[Scope::Admin]).await;
    let request = world.request(Method::POST, "/developers/int/v1/portal-links").key(&stranger).json(&json!({ "owner": "7" }));
    let of_stranger = request.send().await.ok(201)["portal_link"].take();
    let eight = world.portal_link("8").await;
    let mut tab = world.visitor("7").await;
    let before = tab.cookies["portico-portal"].clone();
    for link in [&eight, &of_stranger] {
        let asked = open(&mut tab, link).await;
        assert_eq!(asked.status, 409);
        // No script sends this form by itself.
        asked.says("Open these instead").says_nothing_of("data-submit-with-fragment").says_nothing_of("foreign.test");
        assert_eq!(tab.cookies["portico-portal"], before);
        tab.open("/portal").await.says("ours.test");
    }
    let key = ("key", eight["key"].as_str().unwrap());
    tab.send("/portal/open", &[key, ("instead", "yes")]).await.says("foreign.test").says_nothing_of("ours.test");
    // Where nothing is open any more, nothing is lost.
    world.pass(TimeDelta::hours(1));
    let seven = world.portal_link("7").await;
    assert_eq!(open(&mut tab, &seven).await.address, "/portal/records/developers/webhooks");
    // A key of no link is told nothing else.
    assert_eq!(tab.send("/portal/open", &[("key", "guessed")]).await.status, 401);
}

#[tokio::test]
async fn a_form_of_another_site_changes_nothing() {
    let world = World::new().await;
    let receiver = world.endpoint("hooks.test").await;
    let link = world.portal_link("7").await;
    let mut tab = world.visitor("7").await;
    tab.open("/portal/records/developers/webhooks/new").await;
    let fields = [("url", receiver.url()), ("events", "*".to_owned())];
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    for site in ["cross-site", "same-site", "none"] {
        tab.site = site;
        assert_eq!(tab.send("/portal/records/developers/webhooks/new", &fields).await.status, 403, "{site}");
        assert_eq!(tab.send("/portal/open", &[("key", link["key"].as_str().unwrap())]).await.status, 403, "{site}");
    }
    // Nor one with the token of another visitor.
    tab.site = "same-origin";
    let mut other = world.visitor("8").await;
    other.open("/portal/records/developers/webhooks/new").await;
    std::mem::swap(&mut other.cookies, &mut tab.cookies);
    assert_eq!(other.send("/portal/records/developers/webhooks/new", &fields).await.status, 403);
    assert_eq!(world.count("select count(*) from subscriptions").await, 0);
}

#[tokio::test]
async fn the_portal_stands_in_frames_of_listed_pages_alone() {
    let world = World::new().await;
    let mut tab = world.visitor("7").await;
    for page in ["/portal", "/portal/open", "/portal/nowhere"] {
        let shown = tab.open(page).await;
        assert!(shown.header("content-security-policy").contains("frame-ancestors 'none'"), "{page}");
        assert_eq!(shown.header("x-frame-options"), "DENY", "{page}");
    }
    let ancestors = "https://app.acme.example, http://localhost:3000";
    let world = World::with(&[("portal.frame_ancestors", ancestors)]).await;
    let link = world.portal_link("7").await;
    let mut tab = world.tab();
    for page in ["/portal/open", "/portal/nowhere"] {
        let shown = tab.open(page).await;
        let policy = shown.header("content-security-policy");
        assert!(policy.ends_with("frame-ancestors https://app.acme.example http://localhost:3000"), "{policy}");
        assert!(policy.contains("style-src 'self'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(shown.header("x-frame-options"), "", "{page}");
    }
    let answer = world.request(Method::POST, "/portal/open").header("sec-fetch-site", "same-origin");
    let answer = answer.header("content-type", "application/x-www-form-urlencoded").body(format!("key={}", link["key"].as_str().unwrap()));
    let cookie = answer.send().await.header("set-cookie").unwrap().to_owned();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=None; Secure; Partitioned"), "{cookie}");
    // The console stays out of frames.
    let console = tab.open("/console/sign-in").await;
    assert!(console.header("content-security-policy").contains("frame-ancestors 'none'"));
    assert_eq!(console.header("x-frame-options"), "DENY");
}

#[tokio::test]
async fn the_theme_of_a_link_is_a_style_sheet_of_its_own() {
    let world = World::with(&[("portal.theme.name", "Acme hooks"), ("portal.theme.radius", "0")]).await;
    let mut tab = world.visitor("7").await;
    tab.open("/portal").await.says("Acme hooks").says("/portal/theme/2457d6-0.css").says_nothing_of("data-theme");
    let theme = json!({ "owner": "7", "name": HOSTILE.get(..60), "accent": "#6b21a8", "radius": 12, "color_scheme": "dark" });
    let link = world.developers(Method::POST, "portal-links", theme).await.ok(201)["portal_link"].take();
    let mut tab = world.tab();
    let shown = open(&mut tab, &link).await;
    shown.says("data-theme=\"dark\"").says_nothing_of("<img src=x").says_nothing_of(" style=");
    let sheet = tab.open(&shown.between("<link rel=\"stylesheet\" href=\"/portal", "\"").as_str().replace("/theme", "/portal/theme")).await;
    assert_eq!((sheet.status, sheet.header("content-type")), (200, "text/css; charset=utf-8"));
    sheet.says("--accent: #6b21a8; --radius: 12px;");
    for none in ["/portal/theme/ffffff-6.css", "/portal/theme/x.css", "/portal/theme/2457d6-99.css"] {
        assert_eq!(tab.open(none).await.status, 404, "{none}");
    }
}

#[tokio::test]
async fn whatever_others_write_is_shown_as_text() {
    let world = World::new().await;
    let receiver = world.endpoint("hooks.test").await;
    receiver.will([Reply::with(500, "x-hostile", "<script>alert(3)</script>")]);
    let webhook = world.subscribe(&receiver, json!({ "owner": HOSTILE, "description": HOSTILE })).await;
    let event = world.publish_to(Some(HOSTILE), HOSTILE).await;
    world.deliver().await;
    let delivery = world.last_delivery().await;
    let mut tab = world.visitor(HOSTILE).await;
    let query = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect::<String>();
    for page in [
        "/portal".to_owned(),
        format!("/portal/webhooks/{}", id(&webhook)),
        format!("/portal/records/developers/webhooks/{}/edit", id(&webhook)),
        format!("/portal/deliveries/{}", id(&delivery)),
        format!("/portal/events/{event}"),
        format!("/portal/records/developers/webhooks?query={query}"),
        format!("/portal/records/{query}/{query}"),
        format!("/portal/open?ended={query}"),
    ] {
        let shown = tab.open(&page).await;
        for danger in ["<img src=x", "<script>alert", "onerror=alert(1)>"] {
            shown.says_nothing_of(danger);
        }
        assert!(!shown.html.contains(">49<"), "{page}");
    }
}

#[tokio::test]
async fn an_operator_makes_a_link_and_sees_who_came() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    tab.open("/console/records/developers/portal-links/new").await.says("Whose webhooks are shown.");
    let made = tab.send("/console/records/developers/portal-links/new", &[("owner", "7"), ("lifetime", "600")]).await;
    made.says("/portal/open#").says("Copy this now.");
    let mut visitor = world.tab();
    let key = made.between("/portal/open#", "<");
    assert_eq!(open(&mut visitor, &json!({ "key": key })).await.status, 200);
    let (_, webhook) = world.subscriber_of("hooks.test", "7").await;
    visitor.open("/portal").await;
    visitor.send(&format!("/portal/webhooks/{}/disable", id(&webhook)), &[]).await.says("Disabled by request.");
    tab.open("/console/records/developers/changes").await.says("portal_link").says("/console/records/developers/portal-links/portal_");
}
