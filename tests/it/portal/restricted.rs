//! Portal links of an API key that is restricted itself: docs/portal.md, A link; decisions, section 2, Giving access.

use chrono::TimeDelta;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::console::{PASSWORD, Shown, Tab};
use crate::support::fleet::id;
use crate::support::request::Request;

impl World {
    /// A request about portal links with the key of the office.
    fn links_of_office(&self, key: &str, method: Method, path: &str, body: &Value) -> Request {
        self.request(method, &format!("/developers/int/v1/portal-links{path}")).key(key).from(Self::OFFICE).json(body)
    }
}

async fn open(tab: &mut Tab<'_>, link: &Value) -> Shown {
    tab.open("/portal/open").await;
    tab.send("/portal/open", &[("key", link["key"].as_str().unwrap())]).await
}

#[tokio::test]
async fn a_link_of_a_restricted_key_opens_in_its_networks_alone_and_ends_with_it() {
    let world = World::new().await;
    let key = world.office_key().await;
    let make = |body: Value| world.links_of_office(&key, Method::POST, "", &body).send();
    for beyond in [
        json!({ "owner": "7" }),
        json!({ "owner": "7", "allowed_networks": ["203.0.113.0/24"] }),
        json!({ "owner": "7", "allowed_networks": [World::OFFICE], "lifetime": 14_401 }),
    ] {
        make(beyond).await.refused(403, "api_key_too_strong");
    }
    let within = json!({ "owner": "7", "allowed_networks": [World::OFFICE], "lifetime": 14_400 });
    let link = make(within).await.ok(201)["portal_link"].take();
    let end = json!("2026-05-21T14:15:00.000+00:00");
    assert_eq!((&link["expires_at"], &link["sessions_end_at"]), (&end, &end));

    let mut elsewhere = world.tab();
    let refused = open(&mut elsewhere, &link).await;
    assert_eq!(refused.status, 403);
    refused.says("This link cannot be opened from your network.");
    let mut visitor = world.tab().from(World::OFFICE);
    assert_eq!(open(&mut visitor, &link).await.status, 200);
    // A copied cookie is worth nothing there either.
    elsewhere.cookies = visitor.cookies.clone();
    assert_eq!(elsewhere.open("/portal").await.address, "/portal/open?ended");

    for _ in 0..7 {
        world.pass(TimeDelta::minutes(30));
        assert_eq!(visitor.open("/portal").await.address, "/portal/records/developers/webhooks");
    }
    world.pass(TimeDelta::minutes(30));
    assert_eq!(visitor.open("/portal").await.address, "/portal/open?ended");
    assert_eq!(open(&mut visitor, &link).await.status, 401);
}

#[tokio::test]
async fn a_restricted_key_neither_opens_a_link_anew_nor_elsewhere() {
    let world = World::new().await;
    let key = world.office_key().await;
    let theirs = format!("/{}", id(&world.portal_link("7").await));
    let narrow = json!({ "owner": "7", "allowed_networks": [World::OFFICE] });
    let own = world.links_of_office(&key, Method::POST, "", &narrow).send().await.ok(201)["portal_link"].take();
    let own = format!("/{}", id(&own));
    let change = |link: &str, body: Value| world.links_of_office(&key, Method::PUT, link, &body).send();
    for (link, body) in [
        (&theirs, json!({ "lifetime": 60 })),
        (&own, json!({ "lifetime": 14_401 })),
        (&own, json!({ "allowed_networks": [] })),
        (&own, json!({ "allowed_networks": ["9.9.9.9"] })),
    ] {
        change(link, body).await.refused(403, "api_key_too_strong");
    }
    change(&theirs, json!({ "name": "Acme" })).await.ok(200);
    change(&theirs, json!({ "allowed_networks": [World::OFFICE] })).await.ok(200);
    change(&own, json!({ "lifetime": 14_400 })).await.ok(200);

    // Whoever may do everything opens a link anew without the end of the key before.
    let anew =
        world.developers(Method::PUT, &format!("portal-links{own}"), json!({ "lifetime": 60, "allowed_networks": [] })).await.ok(200);
    assert_eq!((&anew["portal_link"]["sessions_end_at"], &anew["portal_link"]["allowed_networks"]), (&json!(null), &json!([])));
}

/// A link of somebody else, which is open in a browser.
struct Opened<'a> {
    visitor: Tab<'a>,
    link: Value,
}

impl<'a> Opened<'a> {
    async fn of(world: &'a World, link: Value) -> Self {
        let mut visitor = world.tab().from(World::OFFICE);
        assert_eq!(open(&mut visitor, &link).await.status, 200);
        assert_eq!(visitor.open("/portal").await.address, "/portal/records/developers/webhooks");
        Self { visitor, link }
    }

    /// Asserts that the next page leads out, and that the link is worth nothing.
    async fn has_ended(&mut self) {
        assert_eq!(self.visitor.open("/portal").await.address, "/portal/open?ended");
        assert_eq!(open(&mut self.visitor, &self.link).await.status, 401);
    }
}

#[tokio::test]
async fn a_link_ends_with_the_key_that_has_made_it_however_the_key_ends() {
    let world = World::new().await;
    let ends: [(Method, &str, Value); 4] = [
        (Method::DELETE, "", json!({})),
        (Method::POST, "/roll", json!({ "overlap": 0 })),
        (Method::PUT, "", json!({ "scopes": ["events"] })),
        (Method::PUT, "", json!({ "allowed_networks": ["192.0.2.0/24"] })),
    ];
    for (method, act, body) in ends {
        let key = json!({ "name": "Frames", "scopes": ["admin"] });
        let made = world.developers(Method::POST, "api-keys", key).await.ok(201)["api_key"].take();
        let key = made["key"].as_str().unwrap();
        let link = world.links_of_office(key, Method::POST, "", &json!({ "owner": "7" })).send().await.ok(201)["portal_link"].take();
        let mut opened = Opened::of(&world, link).await;
        let path = format!("/developers/int/v1/api-keys/{}{act}", id(&made));
        assert!(world.api(method.clone(), &path).json(&body).send().await.status < 300, "{method} {act}");
        opened.has_ended().await;
    }
    // That of another key stays.
    let mut other = Opened::of(&world, world.portal_link("7").await).await;
    assert_eq!(other.visitor.open("/portal").await.address, "/portal/records/developers/webhooks");
}

#[tokio::test]
async fn a_link_ends_with_the_operator_who_has_made_it_and_begins_again_with_them() {
    let world = World::new().await;
    let mut developer = world.signed_in(Role::Developer).await;
    let new = "/console/records/developers/portal-links/new";
    let operators = world.get("operators?email=developer@acme.example").await["operators"][0].take();
    let operator = format!("operators/{}", id(&operators));
    for (taken, given) in
        [(json!({ "disabled": true }), json!({ "disabled": false })), (json!({ "role": "viewer" }), json!({ "role": "developer" }))]
    {
        developer.sign_in("developer@acme.example", PASSWORD).await;
        developer.open(new).await;
        let made = developer.send(new, &[("owner", "7")]).await;
        let path = made.says("/portal/open#").between("/portal/open#", "<");
        let mut opened = Opened::of(&world, json!({ "key": path })).await;
        world.developers(Method::PUT, &operator, taken).await.ok(200);
        opened.has_ended().await;
        // Whoever is let in again has what they had.
        world.developers(Method::PUT, &operator, given).await.ok(200);
        Opened::of(&world, opened.link).await;
    }
}

#[tokio::test]
async fn a_link_that_somebody_else_gives_anew_ends_with_them() {
    let world = World::new().await;
    let key = world.office_key().await;
    let narrow = json!({ "owner": "7", "allowed_networks": [World::OFFICE] });
    let link = world.links_of_office(&key, Method::POST, "", &narrow).send().await.ok(201)["portal_link"].take();
    let one = format!("portal-links/{}", id(&link));
    world.developers(Method::PUT, &one, json!({ "allowed_networks": [] })).await.ok(200);
    let keys = world.get("api-keys").await["api_keys"].take();
    let office = keys.as_array().unwrap().iter().find(|key| key["name"] == "Office").unwrap();
    let office = format!("api-keys/{}", id(office));
    world.developers(Method::DELETE, &office, json!({})).await.ok(200);
    Opened::of(&world, link).await;
}
