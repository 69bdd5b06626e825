//! `docs/storefront.md`, compared with the actual routes.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::platform::openapi::documented_routes;
use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, token};
use crate::support::page::json_below;

const PAGE: &str = include_str!("../../../docs/storefront.md");

/// A row of the page's table of routes.
struct Row {
    method: Method,
    path: &'static str,
    takes_token: bool,
}

fn rows() -> Vec<Row> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")).filter_map(|line| {
        let (method, rest) = line.split_once(' ')?;
        let (path, cells) = rest.split_once('`')?;
        let takes_token = cells.split('|').nth(2)?.trim() == "yes";
        ["/customers", "/companies"].iter().any(|begin| path.starts_with(begin)).then(|| Row {
            method: method.parse().unwrap(),
            path,
            takes_token,
        })
    });
    rows.collect()
}

fn members(value: &Value) -> BTreeSet<&String> {
    value.as_object().unwrap().keys().collect()
}

#[tokio::test]
async fn the_page_has_the_routes_of_openapi_json() {
    let world = World::new().await;
    let document = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    let documented: BTreeSet<_> = rows().iter().map(|row| format!("{} /storefront/v1{}", row.method, row.path)).collect();
    let described = documented_routes(&document).into_iter().filter(|route| route.contains(" /storefront/v1/"));
    assert_eq!(documented, described.collect());
}

#[tokio::test]
async fn every_documented_route_is_there_and_asks_for_a_token_where_the_page_says_so() {
    let world = World::new().await;
    for Row { method, path, takes_token } in rows() {
        let answer = world.request(method.clone(), &format!("/storefront/v1{path}")).key(&world.store_key).json(&json!({})).send().await;
        let code = answer.body["code"].as_str().unwrap().to_owned();
        assert!(!["route_unknown", "method_not_allowed"].contains(&code.as_str()), "{method} {path}: {code}");
        let is_signed_out = code == "customer_token_invalid";
        // A route that needs socket authentication reports that it is not configured before it checks the token.
        assert!(is_signed_out == takes_token || code == "socket_not_configured", "{method} {path}: {code}");
    }
}

#[tokio::test]
async fn a_customer_a_passkey_and_a_sign_in_have_the_members_of_the_examples() {
    let world = World::with_passkeys(&[]).await;
    let login = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    assert_eq!(members(&login["customer"]), members(&json_below(PAGE, "The customer")));
    world.passkey(&token(&login)).await;
    let passkeys = world.passkeys_of(&token(&login)).await;
    assert_eq!(members(&passkeys[0]), members(&json_below(PAGE, "Passkeys")["passkeys"][0]));
    let sessions = world.storefront_get("customers/sessions").token(&token(&login)).send().await.ok(200);
    assert_eq!(members(&sessions["sessions"][0]), members(&json_below(PAGE, "Sign-ins")["sessions"][0]));
}
