//! A role reaches what a kind of record reaches: in the console, in the API behind it, and by no record that only looks harmless.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use portico::app;
use portico::callers::{Caller, Scope, Who};
use portico::config::Config;
use portico::kernel::ids::OperatorId;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};
use tower::ServiceExt;
use uuid::Uuid;

use crate::support::World;
use crate::support::console::PASSWORD;
use crate::support::customers::{EMAIL, token};
use crate::support::fleet::id;
use crate::support::receiver::Reply;
use crate::support::routes::{Kind, NOBODY, OTHER_ROUTES, RESOURCES};

const OWNER: &[Role] = &[Role::Owner];
const NOBODY_AT_ALL: &[Role] = &[];
const DEVELOPERS: &[Role] = &[Role::Owner, Role::Developer];
const CARE: &[Role] = &[Role::Owner, Role::Support];
const CARE_AND_VIEWERS: &[Role] = &[Role::Owner, Role::Support, Role::Viewer];
const NO_VIEWERS: &[Role] = &[Role::Owner, Role::Developer, Role::Support];
const ALL: &[Role] = &Role::ALL;

/// The roles that read the records of each kind, and those that change them or do anything else with them.
const KINDS: &[(&str, &str, &[Role], &[Role])] = &[
    ("fleet", "orders", ALL, NO_VIEWERS),
    ("fleet", "drivers", ALL, NO_VIEWERS),
    ("fleet", "vehicles", ALL, NO_VIEWERS),
    ("fleet", "fleets", ALL, NO_VIEWERS),
    ("fleet", "issues", ALL, NO_VIEWERS),
    ("fleet", "proofs", ALL, NO_VIEWERS),
    ("fleet", "tracking-numbers", ALL, NO_VIEWERS),
    ("fleet", "tracking-statuses", ALL, NO_VIEWERS),
    ("developers", "webhooks", ALL, DEVELOPERS),
    ("developers", "deliveries", ALL, NO_VIEWERS),
    ("developers", "events", ALL, NO_VIEWERS),
    ("developers", "replays", ALL, NO_VIEWERS),
    ("developers", "api-keys", DEVELOPERS, DEVELOPERS),
    ("developers", "portal-links", DEVELOPERS, DEVELOPERS),
    ("developers", "changes", OWNER, NOBODY_AT_ALL),
    ("developers", "operators", OWNER, OWNER),
    ("ledger", "gateways", ALL, DEVELOPERS),
    ("ledger", "callbacks", ALL, NO_VIEWERS),
    ("ledger", "payments", ALL, NOBODY_AT_ALL),
    ("storefront", "stores", ALL, DEVELOPERS),
    // Each of these five reaches customers, although it is counted among the webhooks.
    ("storefront", "test-identities", ALL, OWNER),
    ("storefront", "identity-providers", ALL, OWNER),
    ("storefront", "registration-hooks", ALL, OWNER),
    ("storefront", "message-providers", ALL, OWNER),
    ("storefront", "message-wordings", ALL, OWNER),
    ("storefront", "customers", CARE_AND_VIEWERS, CARE),
    ("storefront", "tokens", CARE_AND_VIEWERS, CARE),
    ("storefront", "texts", CARE_AND_VIEWERS, NOBODY_AT_ALL),
    ("storefront", "sign-ins", CARE_AND_VIEWERS, NOBODY_AT_ALL),
    ("inventory", "warehouses", ALL, NO_VIEWERS),
    ("inventory", "stock-items", ALL, NO_VIEWERS),
    ("support", "tickets", ALL, NO_VIEWERS),
];

/// The API as the pages of an operator ask it: with a caller that no request from outside can name.
struct Desk {
    router: Router,
    caller: Caller,
}

impl Desk {
    fn of(world: &World, role: Role) -> Self {
        let router = app::router(world.state.clone(), &Config::with(&[]).unwrap());
        let who = Who::Operator(OperatorId::from(Uuid::from_u128(7)));
        Self { router, caller: Caller { grant: role.grant(), who, ..Caller::command_line(world.company) } }
    }

    /// The body of the answer, or the problem.
    async fn ask(&self, method: &Method, path: &str, body: &Value) -> Result<Value, Value> {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let mut request = request.body(Body::from(body.to_string())).unwrap();
        request.extensions_mut().insert(self.caller.clone());
        let Ok(response) = self.router.clone().oneshot(request).await;
        let succeeded = response.status().is_success();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = serde_json::from_slice(&body).unwrap();
        if succeeded { Ok(body) } else { Err(body) }
    }

    /// Asserts that the role does not reach it.
    async fn refused(&self, method: &Method, path: &str, body: &Value) {
        let answer = self.ask(method, path, body).await;
        let problem = answer.expect_err(path);
        assert_eq!(problem["code"], "scope_missing", "{path} {body}: {problem}");
    }
}

/// The requests about records of a kind, those beside the five too, and the roles that they are for.
fn requests(namespace: &str, plural: &str, kind: Kind) -> Vec<(Method, String, &'static [Role])> {
    let listed = KINDS.iter().find(|(space, name, ..)| (*space, *name) == (namespace, plural));
    let (_, _, readers, writers) = *listed.unwrap_or_else(|| panic!("{namespace}/{plural} needs a line here"));
    let (many, one) = (format!("/{namespace}/int/v1/{plural}"), format!("/{namespace}/int/v1/{plural}/{NOBODY}"));
    let mut requests = vec![(Method::GET, many.clone(), readers), (Method::GET, one.clone(), readers)];
    if matches!(kind, Kind::Recorded | Kind::Editable) {
        requests.push((Method::POST, many, writers));
    }
    if kind != Kind::Log {
        requests.push((Method::PUT, one.clone(), writers));
    }
    if kind == Kind::Editable {
        // A store shuts out its customers.
        let deleters = if plural == "stores" { OWNER } else { writers };
        requests.push((Method::DELETE, one, deleters));
    }
    let acts = OTHER_ROUTES.iter().filter(|(method, space, path)| {
        // A replay repeats deliveries and changes nothing of the webhook.
        let is_replay = *path == "/webhooks/{uuid}/replay";
        *method == Method::POST && *space == namespace && path.starts_with(&format!("/{plural}/{{uuid}}/")) && !is_replay
    });
    requests.extend(acts.map(|(method, _, path)| {
        let path = format!("/{namespace}/int/v1{}", path.replace("{uuid}", NOBODY));
        (method.clone(), path, writers)
    }));
    requests
}

#[tokio::test]
async fn every_kind_is_for_the_roles_that_reach_all_it_reaches() {
    let world = World::new().await;
    assert_eq!(KINDS.len(), RESOURCES.len());
    for role in Role::ALL {
        let desk = Desk::of(&world, role);
        for (namespace, plural, kind) in RESOURCES {
            for (method, path, roles) in requests(namespace, plural, *kind) {
                let answer = desk.ask(&method, &path, &json!({})).await;
                let is_refused = answer.is_err_and(|problem| problem["code"] == "scope_missing");
                assert_eq!(is_refused, !roles.contains(&role), "{role:?} {method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn the_console_offers_what_the_api_would_not_refuse() {
    let world = World::new().await;
    for role in Role::ALL {
        let mut tab = world.signed_in(role).await;
        for (namespace, plural, kind) in RESOURCES {
            let (_, _, readers, writers) = KINDS.iter().find(|(space, name, ..)| space == namespace && name == plural).unwrap();
            let page = format!("/console/records/{namespace}/{plural}");
            assert_eq!(tab.open(&page).await.status == 200, readers.contains(&role), "{role:?} {page}");
            let is_created = matches!(kind, Kind::Recorded | Kind::Editable);
            let form = format!("{page}/new");
            assert_eq!(tab.open(&form).await.status == 200, is_created && writers.contains(&role), "{role:?} {form}");
        }
    }
}

#[tokio::test]
async fn the_documentation_says_what_a_kind_reaches() {
    let world = World::new().await;
    let document = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    for (path, needed) in [
        ("/fleet/int/v1/orders", "Requires the scope `write`."),
        ("/storefront/int/v1/stores", "Requires the scope `write`."),
        ("/storefront/int/v1/identity-providers", "Requires the scope `admin`. An operator's role needs `admin` for customers too."),
        (
            "/storefront/int/v1/registration-hooks",
            "Requires the scopes `read` and `write`. An operator's role needs `read` for customers too.",
        ),
    ] {
        assert_eq!(document["paths"][path]["post"]["description"], needed, "{path}");
    }
    let deleting = &document["paths"]["/storefront/int/v1/stores/{uuid}"]["delete"]["description"];
    assert_eq!(deleting, "Requires the scope `write`. An operator's role needs `write` for customers too.");
}

#[tokio::test]
async fn a_developer_makes_no_identity_provider_with_keys_of_their_own_and_so_opens_no_account() {
    let world = World::new().await;
    world.resolver.insert("id.example", &["127.0.0.1".parse().unwrap()]);
    let own = json!({ "name": "own-id", "issuers": ["own"], "audiences": ["shop"], "jwks_url": "https://id.example:8443/keys" });
    let desk = Desk::of(&world, Role::Developer);
    desk.refused(&Method::POST, "/storefront/int/v1/identity-providers", &own).await;

    let mut tab = world.signed_in(Role::Developer).await;
    tab.open("/console/records/storefront/identity-providers").await.says_nothing_of("identity-providers/new");
    let form = [("name", "own-id"), ("issuers", "own"), ("audiences", "shop"), ("jwks_url", "https://id.example:8443/keys")];
    assert_eq!(tab.send("/console/records/storefront/identity-providers/new", &form).await.status, 404);
    assert_eq!(world.count("select count(*) from identity_providers").await, 0);
    world.api(Method::POST, "/storefront/int/v1/identity-providers").json(&own).send().await.ok(201);
}

#[tokio::test]
async fn a_developer_takes_no_messages_of_customers_and_words_none() {
    let world = World::new().await;
    let account = json!({ "account_sid": "AC7", "from": "+15005550006" });
    let provider = json!({ "channel": "sms", "kind": "twilio", "settings": account, "secret": "own-secret" });
    let wording = json!({ "language": "de", "messages": {} });
    let ends = portico::kernel::clock::timestamp(world.clock.now() + chrono::TimeDelta::days(30));
    let tested = json!({ "store": world.store, "identity": "review@example.com", "code": "424242", "expires_at": ends });
    let desk = Desk::of(&world, Role::Developer);
    for (path, body) in [("message-providers", provider), ("message-wordings", wording), ("test-identities", tested)] {
        let path = format!("/storefront/int/v1/{path}");
        desk.refused(&Method::POST, &path, &body).await;
        let made = world.api(Method::POST, &path).json(&body).send().await.ok(201);
        let record = made.as_object().unwrap().values().next().unwrap();
        desk.refused(&Method::PUT, &format!("{path}/{}", id(record)), &json!({})).await;
        desk.refused(&Method::DELETE, &format!("{path}/{}", id(record)), &json!({})).await;
    }
}

#[tokio::test]
async fn who_does_not_write_test_identities_is_not_shown_the_code_that_signs_in() {
    let world = World::new().await;
    let ends = portico::kernel::clock::timestamp(world.clock.now() + chrono::TimeDelta::days(30));
    let tested = json!({ "store": world.store, "identity": "review@example.com", "code": "424242", "expires_at": ends });
    let path = "/storefront/int/v1/test-identities";
    let made = world.api(Method::POST, path).json(&tested).send().await.ok(201);
    let one = format!("{path}/{}", id(&made["test_identity"]));
    let page = format!("/console/records/storefront/test-identities/{}", id(&made["test_identity"]));
    for role in Role::ALL {
        let desk = Desk::of(&world, role);
        for path in [path, one.as_str()] {
            let shown = desk.ask(&Method::GET, path, &json!({})).await.unwrap().to_string();
            assert!(shown.contains("review@example.com"), "{role:?} {shown}");
            assert_eq!(shown.contains("424242"), role == Role::Owner, "{role:?} {shown}");
        }
        let mut tab = world.signed_in(role).await;
        let shown = tab.open(&page).await.says("review@example.com").html.contains("424242");
        assert_eq!(shown, role == Role::Owner, "{role:?}");
    }
    let mut owner = world.tab();
    owner.sign_in("owner@acme.example", PASSWORD).await;
    owner.open(&page).await.says("424242");
    world.pass(chrono::TimeDelta::minutes(10));
    owner.open(&page).await.says("review@example.com").says_nothing_of("424242");
    let reader = world.key_of(world.company, &[Scope::Read]).await;
    let shown = world.request(Method::GET, &one).key(&reader).send().await.ok(200);
    assert_eq!(shown["test_identity"]["code"], json!(null));
}

#[tokio::test]
async fn a_hook_that_reads_everybody_who_registers_is_for_those_who_read_customers() {
    let world = World::new().await;
    let receiver = world.endpoint("hook.test").await;
    let hook = json!({ "store": world.store, "url": receiver.url() });
    let path = "/storefront/int/v1/registration-hooks";
    for role in [Role::Developer, Role::Support, Role::Viewer] {
        Desk::of(&world, role).refused(&Method::POST, path, &hook).await;
    }
    let writer = world.key_of(world.company, &[Scope::Write]).await;
    world.request(Method::POST, path).key(&writer).json(&hook).send().await.refused(403, "scope_missing");
    let both = world.key_of(world.company, &[Scope::Read, Scope::Write]).await;
    world.request(Method::POST, path).key(&both).json(&hook).send().await.ok(201);
}

#[tokio::test]
async fn a_webhook_for_events_about_customers_is_for_those_who_read_customers() {
    let world = World::new().await;
    let receiver = world.endpoint("developer.test").await;
    let (desk, path) = (Desk::of(&world, Role::Developer), "/developers/int/v1/webhooks");
    let wanting = |events: Value| json!({ "url": receiver.url(), "events": events });
    for events in [json!([]), json!(["*"]), json!(["customer.*"]), json!(["order.*", "customer.contact_changed"])] {
        desk.refused(&Method::POST, path, &wanting(events)).await;
    }
    let made = desk.ask(&Method::POST, path, &wanting(json!(["order.*"]))).await.unwrap();
    let one = format!("{path}/{}", id(&made["webhook"]));
    desk.refused(&Method::PUT, &one, &json!({ "events": ["*"] })).await;
    desk.ask(&Method::PUT, &one, &json!({ "events": ["order.created", "webhook.*"] })).await.unwrap();
    // That of an owner gets only what the company publishes for this owner.
    desk.ask(&Method::POST, path, &json!({ "url": receiver.url(), "owner": "tenant-7" })).await.unwrap();

    let mut tab = world.signed_in(Role::Developer).await;
    tab.open("/console/records/developers/webhooks/new").await;
    let form = [("url", receiver.url()), ("events", "customer.*".to_owned())];
    let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let refused = tab.send("/console/records/developers/webhooks/new", &form).await;
    assert_eq!(refused.status, 403);
    refused.says("it needs the permission read for customers");
    assert_eq!(world.count("select count(*) from subscriptions").await, 2);
}

#[tokio::test]
async fn a_developer_operates_a_webhook_that_gets_customers_and_does_not_move_it() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    let elsewhere = world.endpoint("developer.test").await;
    let (desk, one) = (Desk::of(&world, Role::Developer), format!("/developers/int/v1/webhooks/{}", id(&webhook)));
    desk.refused(&Method::PUT, &one, &json!({ "url": elsewhere.url() })).await;
    desk.refused(&Method::PUT, &one, &json!({ "url": elsewhere.url(), "events": ["order.*"] })).await;
    for act in ["pause", "resume", "test", "rotate-secret", "disable", "enable"] {
        desk.ask(&Method::POST, &format!("{one}/{act}"), &json!({})).await.unwrap();
    }
    assert_eq!(desk.ask(&Method::GET, &one, &json!({})).await.unwrap()["webhook"]["url"], webhook["url"]);
    desk.ask(&Method::DELETE, &one, &json!({})).await.unwrap();
}

#[tokio::test]
async fn a_developer_does_not_move_a_webhook_that_got_customers_before_its_filter_was_narrowed() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    let elsewhere = world.endpoint("developer.test").await;
    world.register(EMAIL).await;
    world.deliver().await;
    let one = format!("webhooks/{}", id(&webhook));
    world.developers(Method::PUT, &one, json!({ "events": ["order.*"] })).await.ok(200);
    let (desk, one) = (Desk::of(&world, Role::Developer), format!("/developers/int/v1/{one}"));
    desk.refused(&Method::PUT, &one, &json!({ "url": elsewhere.url() })).await;
    desk.ask(&Method::PUT, &one, &json!({ "timeout": 20 })).await.unwrap();
    // One that got none is moved, whatever it was tested with.
    let other = world.subscribe(&elsewhere, json!({ "events": ["order.*"] })).await;
    let other = format!("/developers/int/v1/webhooks/{}", id(&other));
    desk.ask(&Method::POST, &format!("{other}/test"), &json!({ "event": "customer.created" })).await.unwrap();
    desk.ask(&Method::PUT, &other, &json!({ "url": webhook["url"] })).await.unwrap();
}

#[tokio::test]
async fn a_key_that_reads_nothing_has_nothing_sent_to_it() {
    let world = World::new().await;
    let receiver = world.endpoint("writer.test").await;
    let path = "/developers/int/v1/webhooks";
    let writer = world.key_of(world.company, &[Scope::Write]).await;
    for events in [json!(["*"]), json!(["customer.*"]), json!(["order.*"])] {
        let body = json!({ "url": receiver.url(), "events": events });
        world.request(Method::POST, path).key(&writer).json(&body).send().await.refused(403, "scope_missing");
    }
    let of_owner = json!({ "url": receiver.url(), "owner": "tenant-7" });
    world.request(Method::POST, path).key(&writer).json(&of_owner).send().await.refused(403, "scope_missing");
    let both = world.key_of(world.company, &[Scope::Read, Scope::Write]).await;
    for body in [json!({ "url": receiver.url() }), of_owner] {
        world.request(Method::POST, path).key(&both).json(&body).send().await.ok(201);
    }
}

#[tokio::test]
async fn a_developer_sees_that_an_event_about_a_customer_was_delivered_and_not_what_it_says() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    world.register(EMAIL).await;
    world.publish("order.created").await;
    world.deliver().await;
    let found = async |desk: &Desk, path: &str| desk.ask(&Method::GET, &format!("/developers/int/v1/{path}"), &json!({})).await.unwrap();
    let (developer, support) = (Desk::of(&world, Role::Developer), Desk::of(&world, Role::Support));
    let event = found(&developer, "events?event=customer.created").await["events"][0].clone();
    let delivery = found(&developer, "deliveries?event=customer.created").await["deliveries"][0].clone();
    let (event, delivery) = (format!("events/{}", id(&event)), format!("deliveries/{}", id(&delivery)));
    let search = format!("deliveries?webhook={}&query={}", id(&webhook), EMAIL.replace('@', "%40"));

    for path in ["events", "deliveries", &event, &delivery] {
        let shown = found(&developer, path).await;
        assert!(!shown.to_string().contains(EMAIL) && shown.to_string().contains("customer.created"), "{path} {shown}");
    }
    assert_eq!(found(&developer, &event).await["event"]["data"], json!(null));
    assert_eq!(found(&developer, &delivery).await["delivery"]["payload"], json!(null));
    assert_eq!(found(&developer, &delivery).await["delivery"]["status"], "delivered");
    assert_eq!(found(&developer, &search).await["deliveries"], json!([]), "a search would tell whether a customer has this address");
    let order = found(&developer, "events?event=order.created").await["events"][0].clone();
    assert!(order["data"].is_object(), "{order}");

    assert!(found(&support, &event).await["event"]["data"].to_string().contains(EMAIL));
    assert!(found(&support, &delivery).await["delivery"]["payload"].to_string().contains(EMAIL));
    assert_eq!(found(&support, &search).await["deliveries"].as_array().unwrap().len(), 1);

    let mut tab = world.signed_in(Role::Developer).await;
    let page = tab.open(&format!("/console/{event}")).await;
    page.says("customer.created").says("Your role does not reach what the event is about.").says_nothing_of(EMAIL);
    let page = tab.open(&format!("/console/{delivery}")).await;
    page.says("or your role does not reach what it is about.").says_nothing_of(EMAIL);
}

#[tokio::test]
async fn a_developer_does_not_read_a_customer_in_what_an_endpoint_answers() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let echo = || Reply::Answer(200, vec![("x-echo", EMAIL.to_owned())], format!("Hello {EMAIL}").into_bytes());
    receiver.will([echo()]);
    world.register(EMAIL).await;
    world.deliver().await;
    let deliveries = "/developers/int/v1/deliveries";
    let delivery = world.get("deliveries?event=customer.created").await["deliveries"][0].take();
    let (path, page) = (format!("{deliveries}/{}", id(&delivery)), format!("/console/deliveries/{}", id(&delivery)));
    let shown = async |role| Desk::of(&world, role).ask(&Method::GET, &path, &json!({})).await.unwrap()["delivery"].take();

    let developer = shown(Role::Developer).await;
    let attempt = &developer["attempts"][0];
    assert_eq!(attempt["status"], 200);
    assert!(attempt["duration_ms"].is_number() && attempt["request_headers"].is_object(), "{attempt}");
    assert_eq!((&attempt["response_headers"], &attempt["response_body"]), (&json!(null), &json!(null)));
    assert!(!developer.to_string().contains(EMAIL), "{developer}");
    let support = shown(Role::Support).await;
    assert_eq!(support["attempts"][0]["response_headers"]["x-echo"], EMAIL);
    assert_eq!(support["attempts"][0]["response_body"], format!("Hello {EMAIL}"));

    // Without its body, the command would be another request.
    let shown = world.signed_in(Role::Developer).await.open(&page).await;
    shown.says("The answer is no longer kept, or your role does not reach").says_nothing_of(EMAIL).says_nothing_of("--data-binary");
    world.signed_in(Role::Support).await.open(&page).await.says(&format!("Hello {EMAIL}")).says("--data-binary");

    // What an endpoint answers to an event about no customer is shown.
    receiver.will([echo()]);
    world.publish("order.created").await;
    world.deliver().await;
    let order = world.get("deliveries?event=order.created").await["deliveries"][0].take();
    let order = Desk::of(&world, Role::Developer).ask(&Method::GET, &format!("{deliveries}/{}", id(&order)), &json!({})).await.unwrap();
    assert_eq!(order["delivery"]["attempts"][0]["response_body"], format!("Hello {EMAIL}"));
}

#[tokio::test]
async fn a_developer_or_a_copied_cookie_shuts_out_no_customers_with_their_store() {
    let world = World::new().await;
    let customer = world.register(EMAIL).await;
    let path = format!("/storefront/int/v1/stores/{}", world.store);
    let page = format!("/console/records/storefront/stores/{}", world.store);
    Desk::of(&world, Role::Developer).refused(&Method::DELETE, &path, &json!({})).await;
    let mut developer = world.signed_in(Role::Developer).await;
    developer.open(&page).await.says(&format!("{page}/edit")).says_nothing_of(&format!("{page}/delete"));
    assert_eq!(developer.send(&format!("{page}/delete"), &[]).await.status, 404);

    let mut owner = world.signed_in(Role::Owner).await;
    world.pass(chrono::TimeDelta::minutes(10));
    assert!(owner.open(&format!("{page}/delete")).await.address.starts_with("/console/confirm"));
    assert!(owner.send(&format!("{page}/delete"), &[]).await.address.starts_with("/console/confirm"));
    world.storefront_get("customers/me").token(&token(&customer)).send().await.ok(200);

    owner.sign_in("owner@acme.example", PASSWORD).await;
    owner.open(&format!("{page}/delete")).await.says("Its customers cannot sign in any more");
    owner.send(&format!("{page}/delete"), &[]).await.says("Deleted.");
}

#[tokio::test]
async fn a_developer_hands_no_customers_to_a_gateway_that_saves_their_cards() {
    let world = World::new().await;
    let (desk, path) = (Desk::of(&world, Role::Developer), "/ledger/int/v1/gateways");
    let cards = json!({ "name": "Cards", "driver": "card", "secret_key": "sk_live_1234567890" });
    desk.refused(&Method::POST, path, &cards).await;
    desk.ask(&Method::POST, path, &json!({ "name": "Cash", "driver": "manual" })).await.unwrap();
    let made = world.ledger(Method::POST, "gateways").json(&cards).send().await.ok(201);
    let one = format!("{path}/{}", id(&made["gateway"]));
    desk.refused(&Method::PUT, &one, &json!({ "secret_key": "sk_live_9876543210" })).await;
    // One that fails can be stopped, as a webhook can.
    desk.ask(&Method::DELETE, &one, &json!({})).await.unwrap();
}
