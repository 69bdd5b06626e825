//! Portal links through the API.

use chrono::TimeDelta;
use portico::callers::Scope;
use portico::kernel::client_address::ClientAddress;
use portico::portal::{LinkKey, SessionToken};
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::fleet::id;

#[tokio::test]
async fn a_link_is_shown_once_and_stored_as_a_digest() {
    let world = World::new().await;
    let link = world.portal_link("7").await;
    let key = link["key"].as_str().unwrap();
    assert_eq!(link["path"], format!("/portal/open#{key}"));
    assert_eq!((&link["owner"], &link["expires_at"]), (&json!("7"), &json!("2026-05-21T11:15:00.000+00:00")));
    let shown = world.get(&format!("portal-links/{}", id(&link))).await;
    assert!(!shown.to_string().contains(key) && shown["portal_link"].get("path").is_none(), "{shown}");
    assert_eq!(world.get("portal-links?owner=7").await["portal_links"].as_array().unwrap().len(), 1);
    assert_eq!(world.get("portal-links?owner=8").await["portal_links"], json!([]));
    let stored: String = sqlx::query_scalar("select to_jsonb(portal_links)::text from portal_links").fetch_one(&world.pool).await.unwrap();
    assert!(!stored.contains(key), "{stored}");
}

#[tokio::test]
async fn only_administrators_make_links() {
    let world = World::new().await;
    for scope in [Scope::Read, Scope::Write, Scope::Events] {
        let key = world.key_of(world.company, &[scope]).await;
        for (method, path) in [(Method::POST, "portal-links"), (Method::GET, "portal-links")] {
            let request = world.request(method, &format!("/developers/int/v1/{path}")).key(&key).json(&json!({ "owner": "7" }));
            request.send().await.refused(403, "scope_missing");
        }
    }
}

#[tokio::test]
async fn a_theme_that_could_not_be_read_and_a_lifetime_out_of_bounds_are_refused() {
    let world = World::new().await;
    for (member, value) in [
        ("lifetime", json!(59)),
        ("lifetime", json!(86_401)),
        ("lifetime", json!("1h")),
        ("accent", json!("#ffffff")),
        ("accent", json!("red;}")),
        ("radius", json!(17)),
        ("radius", json!(-1)),
        ("color_scheme", json!("purple")),
        ("name", json!("x".repeat(61))),
        ("name", json!("two\nlines")),
    ] {
        let mut body = json!({ "owner": "7" });
        body[member] = value.clone();
        let refused = world.developers(Method::POST, "portal-links", body).await.refused(422, "body_invalid");
        assert!(refused["fields"][member].is_array(), "{member} = {value}: {refused}");
    }
    let themed = json!({ "owner": "7", "lifetime": 60, "accent": "#B00020", "radius": 0, "color_scheme": "dark", "name": "Acme" });
    let link = world.developers(Method::POST, "portal-links", themed).await.ok(201)["portal_link"].take();
    assert_eq!((&link["accent"], &link["expires_at"]), (&json!("#b00020"), &json!("2026-05-21T10:16:00.000+00:00")));
    let path = format!("portal-links/{}", id(&link));
    world.developers(Method::PUT, &path, json!({ "owner": "8" })).await.refused(422, "body_invalid");
    let changed = world.developers(Method::PUT, &path, json!({ "lifetime": 120, "accent": null })).await.ok(200);
    assert_eq!(changed["portal_link"]["expires_at"], "2026-05-21T10:17:00.000+00:00");
    assert_eq!(changed["portal_link"]["accent"], json!(null));
}

#[tokio::test]
async fn links_are_the_companys_and_each_is_in_the_audit_trail() {
    let world = World::new().await;
    let link = world.portal_link("7").await;
    let (_, key) = world.another_company(&[Scope::Admin]).await;
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let path = format!("/developers/int/v1/portal-links/{}", id(&link));
        world.request(method, &path).key(&key).json(&json!({})).send().await.refused(404, "record_not_found");
    }
    world.developers(Method::DELETE, &format!("portal-links/{}", id(&link)), json!({})).await.ok(200);
    let changes = world.get(&format!("changes?record={}", id(&link))).await["changes"].take();
    let actions: Vec<_> = changes.as_array().unwrap().iter().map(|change| (change["kind"].clone(), change["action"].clone())).collect();
    assert_eq!(actions.len(), 2);
    assert!(actions.iter().all(|(kind, _)| kind == "portal_link"), "{changes}");
}

#[tokio::test]
async fn a_link_opens_until_it_ends_and_what_has_ended_is_swept_away() {
    let world = World::new().await;
    let link = world.portal_link("7").await;
    let key = LinkKey::claimed(link["key"].as_str().unwrap());
    let open = async || world.state.portal.open(&key, ClientAddress::of_this_process()).await;
    // A page that is loaded again opens its frame again.
    let (first, second) = (open().await.unwrap(), open().await.unwrap());
    assert_ne!(first.reveal(), second.reveal());
    assert!(world.state.portal.open(&LinkKey::claimed("guessed"), ClientAddress::of_this_process()).await.is_err());
    world.pass(TimeDelta::minutes(60));
    assert!(open().await.is_err(), "it could be opened for an hour");
    world.state.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from portal_sessions").await, 0);
    assert_eq!(world.count("select count(*) from portal_links").await, 1);
    world.pass(TimeDelta::days(30));
    world.state.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from portal_links").await, 0);
}

#[tokio::test]
async fn one_link_has_a_bounded_number_of_sessions() {
    let world = World::new().await;
    let link = world.portal_link("7").await;
    let key = LinkKey::claimed(link["key"].as_str().unwrap());
    let mut tokens = Vec::new();
    for _ in 0..105 {
        world.pass(TimeDelta::milliseconds(1));
        tokens.push(world.state.portal.open(&key, ClientAddress::of_this_process()).await.unwrap());
    }
    assert_eq!(world.count("select count(*) from portal_sessions").await, 100);
    let find = async |token: &SessionToken| world.state.portal.find_session(token, ClientAddress::of_this_process()).await;
    assert!(find(&tokens[0]).await.unwrap().is_none());
    assert!(find(&tokens[104]).await.unwrap().is_some());
}
