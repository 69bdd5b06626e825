//! Identity providers of companies, in place of those of the deployment and beside them (decisions, section 6).

use std::cell::Cell;

use chrono::TimeDelta;
use portico::callers::Scope;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::{customer, login};
use crate::support::customers::EMAIL;
use crate::support::identity_provider::{APP, IdentityProvider, another, claims_of_a, rsa, with};
use crate::support::receiver::{Receiver, Reply};
use crate::support::{Answer, World};

const PATH: &str = "/storefront/int/v1/identity-providers";
/// The app of a company.
const OWN_APP: &str = "com.own.shop";
const OWN_ISSUER: &str = "https://own.example";

impl World {
    async fn make_provider(&self, body: Value) -> Answer {
        self.api(Method::POST, PATH).json(&body).send().await
    }

    async fn change_provider(&self, made: &Value, body: Value) -> Answer {
        let path = format!("{PATH}/{}", made["identity_provider"]["id"].as_str().unwrap());
        self.api(Method::PUT, &path).json(&body).send().await
    }

    /// A provider with this name and issuers of its own, which publishes its keys once.
    async fn own_provider(&self, name: &str) -> (Value, Receiver) {
        let issuer = Receiver::start("own.test", Some("own.test")).await;
        self.resolver.insert("own.test", &["127.0.0.1".parse().unwrap()]);
        let keys = json!({ "keys": [rsa().jwk()] }).to_string();
        issuer.will([Reply::Answer(200, Vec::new(), keys.into_bytes())]);
        let body = json!({ "name": name, "issuers": [OWN_ISSUER], "audiences": [OWN_APP], "jwks_url": issuer.url() });
        (self.make_provider(body).await.ok(201), issuer)
    }
}

/// A token of A that was issued to an app.
fn token_of_a(world: &World, app: &str) -> Value {
    json!({ "identityToken": rsa().sign(&with(&claims_of_a(world, "7"), json!({ "aud": app }))) })
}

/// A token of the company's own issuer.
fn own_token(world: &World) -> Value {
    let now = world.clock.now().timestamp();
    let claims = json!({ "iss": OWN_ISSUER, "aud": OWN_APP, "sub": "7", "iat": now, "exp": now + 600, "name": "Ada" });
    json!({ "idToken": rsa().sign(&another(&claims)) })
}

#[tokio::test]
async fn a_token_for_the_app_of_one_company_does_not_open_the_store_of_another() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let (other, _) = world.another_company(&Scope::ALL).await;
    let (_, their_key) = world.store_of(other).await;
    world.make_provider(json!({ "name": "idp-a", "audiences": [OWN_APP] })).await.ok(201);

    customer(login(&world, "idp-a", token_of_a(&world, OWN_APP)).await);
    login(&world, "idp-a", token_of_a(&world, APP)).await.refused(401, "identity_not_verified");
    let at_the_other = |body| world.storefront("customers/login-with-idp-a").key(&their_key).json(&body).send();
    at_the_other(token_of_a(&world, OWN_APP)).await.refused(401, "identity_not_verified");
    at_the_other(token_of_a(&world, APP)).await.ok(200);
    assert_eq!(idp.asked("/keys").await.len(), 1, "both are verified with the same keys");
}

#[tokio::test]
async fn a_company_has_a_provider_that_the_deployment_does_not_list() {
    let world = World::new().await;
    login(&world, "own-id", own_token(&world)).await.refused(404, "provider_not_configured");
    let (made, issuer) = world.own_provider("own-id").await;
    let signed_in = login(&world, "own-id", own_token(&world)).await.ok(200);
    assert_eq!(signed_in["customer"]["name"], "Ada");
    let again = customer(login(&world, "own-id", own_token(&world)).await);
    assert_eq!(again, signed_in["customer"]["id"]);
    assert_eq!((issuer.count(), issuer.only().head), (1, "GET /hooks HTTP/1.1".to_owned()), "the keys are kept");

    let (other, _) = world.another_company(&Scope::ALL).await;
    let (_, their_key) = world.store_of(other).await;
    let theirs = world.storefront("customers/login-with-own-id").key(&their_key).json(&own_token(&world)).send().await;
    theirs.refused(404, "provider_not_configured");

    // A customer of the store links it too, and it is a way in.
    let bob = world.register(EMAIL).await;
    let now = world.clock.now().timestamp();
    let claims = another(&json!({ "iss": OWN_ISSUER, "aud": OWN_APP, "sub": "8", "iat": now, "exp": now + 600 }));
    let linking = world.storefront("customers/link-own-id").token(bob["token"].as_str().unwrap());
    let links = linking.json(&json!({ "idToken": rsa().sign(&claims) })).send().await.ok(200);
    assert_eq!(links["providers"][0]["provider"], "own-id");

    // Another instance hears of a change within a second, this one at once.
    let instance = world.another_instance();
    login(&instance, "own-id", own_token(&world)).await.refused(503, "provider_unavailable");
    world.change_provider(&made, json!({ "status": "inactive" })).await.ok(200);
    login(&world, "own-id", own_token(&world)).await.refused(404, "provider_not_configured");
    world.pass(TimeDelta::seconds(1));
    login(&instance, "own-id", own_token(&world)).await.refused(404, "provider_not_configured");
}

#[tokio::test]
async fn the_provider_of_the_deployment_never_takes_the_place_of_one_that_is_inactive_or_dead() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let (made, issuer) = world.own_provider("idp-a").await;
    let of_the_company = json!({ "identityToken": own_token(&world)["idToken"] });
    login(&world, "idp-a", of_the_company).await.ok(200);
    login(&world, "idp-a", token_of_a(&world, APP)).await.refused(401, "identity_not_verified");

    issuer.will([Reply::status(500)]);
    world.change_provider(&made, json!({ "audiences": ["another"] })).await.ok(200);
    login(&world, "idp-a", token_of_a(&world, APP)).await.refused(503, "provider_unavailable");
    world.change_provider(&made, json!({ "status": "inactive" })).await.ok(200);
    login(&world, "idp-a", token_of_a(&world, APP)).await.refused(404, "provider_not_configured");
    // Without the company's own, it is that of the deployment again.
    let path = format!("{PATH}/{}", made["identity_provider"]["id"].as_str().unwrap());
    world.api(Method::DELETE, &path).send().await.ok(200);
    login(&world, "idp-a", token_of_a(&world, APP)).await.ok(200);
}

#[tokio::test]
async fn the_issuer_of_a_company_that_does_not_answer_holds_up_nobody_else() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let silent = Receiver::start("silent.test", Some("silent.test")).await;
    world.resolver.insert("silent.test", &["127.0.0.1".parse().unwrap()]);
    silent.will([Reply::Silence]);
    let body = json!({ "name": "silent", "issuers": [OWN_ISSUER], "audiences": [OWN_APP], "jwks_url": silent.url() });
    world.make_provider(body).await.ok(201);
    let has_ended = Cell::new(false);
    let waiting = async {
        login(&world, "silent", own_token(&world)).await.refused(503, "provider_unavailable");
        has_ended.set(true);
    };
    let others = async {
        silent.waits_for(1).await;
        login(&world, "idp-a", token_of_a(&world, APP)).await.ok(200);
        assert!(!has_ended.get(), "it does not wait for that issuer");
    };
    tokio::join!(waiting, others);
}

#[tokio::test]
async fn provider_c_belongs_to_the_app_of_the_company() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let answer = |app: &str| {
        let data = json!({ "data": { "app_id": app, "is_valid": true, "user_id": "7" } });
        idp.answer("GET", "/graph/v1.0/debug_token", ResponseTemplate::new(200).set_body_json(data))
    };
    let body = json!({ "idpCUserId": "7", "accessToken": "x" });
    world.make_provider(json!({ "name": "idp-c", "client_id": "815", "client_secret": "own-secret" })).await.ok(201);
    answer("4711").await;
    login(&world, "idp-c", body.clone()).await.refused(401, "identity_not_verified");
    answer("815").await;
    login(&world, "idp-c", body).await.ok(200);
    let asked = idp.asked("/graph/v1.0/debug_token").await;
    let credentials =
        |(name, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| name == "access_token" && value == "815|own-secret";
    assert!(asked.iter().all(|request| request.url.query_pairs().any(credentials)));
}

#[tokio::test]
async fn the_operators_of_a_company_are_mailed_once_a_day_that_its_app_is_refused() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("storefront.failures_per_address", "1")]).await;
    world.operator("ada@acme.example", Role::Developer).await;
    world.make_provider(json!({ "name": "idp-c", "client_id": "815", "client_secret": "an-old-secret" })).await.ok(201);
    let refused = ResponseTemplate::new(400).set_body_json(json!({ "error": { "type": "OAuthException", "code": 190 } }));
    idp.answer("GET", "/graph/v1.0/debug_token", refused).await;
    let sign_in = || {
        world.storefront("customers/login-with-idp-c").from("203.0.113.9").json(&json!({ "idpCUserId": "7", "accessToken": "x" })).send()
    };
    for _ in 0..3 {
        sign_in().await.refused(503, "provider_unavailable");
    }
    let mails: Vec<_> = world.messages().into_iter().filter(|message| message.to == "ada@acme.example").collect();
    let [mail] = mails.as_slice() else { panic!("{} mails", mails.len()) };
    assert_eq!(mail.subject.as_deref(), Some("Nobody can sign in with idp-c: it refuses your app"));
    world.pass(TimeDelta::days(1) + TimeDelta::seconds(1));
    sign_in().await.refused(503, "provider_unavailable");
    assert_eq!(world.messages().into_iter().filter(|message| message.to == "ada@acme.example").count(), 2);
}

#[tokio::test]
async fn an_identity_token_of_c_is_for_the_app_of_the_company() {
    let idp = IdentityProvider::start().await;
    let keys = idp.url("/keys");
    let world = idp.world(&[("providers.idp_c.issuers", "https://c.example"), ("providers.idp_c.jwks_url", keys.as_str())]).await;
    world.make_provider(json!({ "name": "idp-c", "client_id": "815", "client_secret": "own-secret" })).await.ok(201);
    let now = world.clock.now().timestamp();
    let token = |app: &str| {
        let claims = json!({ "iss": "https://c.example", "aud": app, "sub": "7", "iat": now, "exp": now + 600 });
        json!({ "idToken": rsa().sign(&another(&claims)) })
    };
    login(&world, "idp-c", token("815")).await.ok(200);
    login(&world, "idp-c", token("4711")).await.refused(401, "identity_not_verified");
}

#[tokio::test]
async fn a_hashed_nonce_counts_at_a_provider_of_a_company_too() {
    let world = World::new().await;
    world.own_provider("own-id").await;
    let now = world.clock.now().timestamp();
    // SHA-256 of "nonce"
    for digest in ["78377b525757b494427f89014f97d79928f3938d14eb51e20fb5dec9834eb304", "eDd7UldXtJRCf4kBT5fXmSjzk40U61HiD7XeyYNOswQ"] {
        let claims = json!({ "iss": OWN_ISSUER, "aud": OWN_APP, "sub": "7", "nonce": digest, "iat": now, "exp": now + 600 });
        let body = |nonce: &str| json!({ "idToken": rsa().sign(&another(&claims)), "nonce": nonce });
        login(&world, "own-id", body("nonce")).await.ok(200);
        login(&world, "own-id", body("other")).await.refused(401, "identity_not_verified");
    }
}

#[tokio::test]
async fn a_provider_is_asked_before_the_first_customer_does() {
    let world = World::new().await;
    let (made, issuer) = world.own_provider("own-id").await;
    let path = format!("{PATH}/{}/test", made["identity_provider"]["id"].as_str().unwrap());
    let tested = world.api(Method::POST, &path).json(&json!({})).send().await.ok(200);
    assert_eq!(tested, json!({ "ok": true, "detail": "1 of the keys that it publishes can be used." }));
    issuer.will([Reply::status(500)]);
    let tested = world.api(Method::POST, &path).json(&json!({})).send().await.ok(200);
    let detail = "Its keys cannot be fetched: the response has status 500 Internal Server Error.";
    assert_eq!(tested, json!({ "ok": false, "detail": detail }));
    let (_, theirs) = world.another_company(&Scope::ALL).await;
    world.request(Method::POST, &path).key(&theirs).json(&json!({})).send().await.refused(404, "record_not_found");
    // It is asked ten times within an hour.
    for _ in 0..8 {
        world.api(Method::POST, &path).json(&json!({})).send().await.ok(200);
    }
    world.api(Method::POST, &path).json(&json!({})).send().await.refused(429, "rate_limited");
}

#[tokio::test]
async fn an_address_inside_is_never_asked() {
    let world = World::new().await;
    world.resolver.insert("inside.test", &["10.0.0.7".parse().unwrap()]);
    let with_keys = |url: &str| json!({ "name": "own-id", "issuers": [OWN_ISSUER], "audiences": [OWN_APP], "jwks_url": url });
    for url in ["https://10.0.0.7/keys", "https://inside.test/keys", "https://[::1]/keys", "https://unknown.test/keys"] {
        let refused = world.make_provider(with_keys(url)).await.refused(422, "body_invalid");
        assert_eq!(refused["fields"]["jwks_url"][0], "Only public addresses are asked, and none was found for this one.", "{url}");
    }
    world.make_provider(with_keys("http://own.test/keys")).await.refused(422, "body_invalid");
    // A name that leads inside later is not followed.
    let issuer = Receiver::start("moving.test", Some("moving.test")).await;
    world.resolver.insert("moving.test", &["127.0.0.1".parse().unwrap()]);
    world.make_provider(with_keys(&issuer.url())).await.ok(201);
    world.resolver.insert("moving.test", &["10.0.0.7".parse().unwrap()]);
    login(&world, "own-id", own_token(&world)).await.refused(503, "provider_unavailable");
    assert_eq!(issuer.count(), 0);
}

#[tokio::test]
async fn a_mistake_is_refused_by_member() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("providers.idp_b.name", "beta")]).await;
    world.resolver.insert("own.test", &["127.0.0.1".parse().unwrap()]);
    for (body, member, sentence) in [
        (json!({ "name": "sms" }), "name", "This is the name of another sign-in method."),
        (json!({ "name": "password" }), "name", "This is the name of another sign-in method."),
        (json!({ "name": "beta" }), "name", "This is another name of \"idp-b\", which it has to be called."),
        (json!({ "name": "idp-a" }), "audiences", "This is not set, but other settings of the provider are."),
        (json!({ "name": "own-id" }), "audiences", "This is not set."),
        (json!({ "name": "own-id", "audiences": [OWN_APP] }), "issuers", "This is not set, but other settings of the provider are."),
        (
            json!({ "name": "idp-a", "audiences": [OWN_APP], "client_id": OWN_APP }),
            "client_secret",
            "This is not set, but other settings of the provider are.",
        ),
        (json!({ "name": "idp-a", "audiences": [OWN_APP], "graph_url": "https://own.test/v1" }), "graph_url", "This is for idp-c alone."),
        (json!({ "name": "idp-c", "audiences": [OWN_APP] }), "audiences", "This is for providers that sign identity tokens."),
        (json!({ "name": "idp-c", "client_id": "815" }), "client_secret", "This is not set."),
        (json!({ "name": "idp-a", "audiences": vec!["x"; 21] }), "audiences", "There can be 20 at most."),
    ] {
        let refused = world.make_provider(body.clone()).await.refused(422, "body_invalid");
        assert_eq!(refused["fields"][member][0], sentence, "{body}");
    }
    let made = world.make_provider(json!({ "name": "idp-a", "audiences": [OWN_APP] })).await.ok(201);
    world.make_provider(json!({ "name": "idp-a", "status": "inactive" })).await.refused(422, "body_invalid");
    world.change_provider(&made, json!({ "name": "idp-b" })).await.refused(422, "body_invalid");
    let write = world.key_of(world.company, &[Scope::Read, Scope::Write]).await;
    let body = json!({ "name": "own-id", "status": "inactive" });
    world.request(Method::POST, PATH).key(&write).json(&body).send().await.refused(403, "scope_missing");
    for number in 1..20 {
        world.make_provider(json!({ "name": format!("own-{number}"), "status": "inactive" })).await.ok(201);
    }
    let full = world.make_provider(json!({ "name": "one-more", "status": "inactive" })).await.refused(422, "body_invalid");
    assert_eq!(full["fields"]["name"][0], "A company can have 20 identity providers at most.");
}

#[tokio::test]
async fn a_client_secret_is_sealed_and_never_shown() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let made = world.make_provider(json!({ "name": "idp-c", "client_id": "815", "client_secret": "own-secret" })).await.ok(201);
    assert_eq!((&made["identity_provider"]["has_client_secret"], made.to_string().contains("own-secret")), (&json!(true), false));
    let stored: Vec<u8> = sqlx::query_scalar("select client_secret from identity_providers").fetch_one(&world.pool).await.unwrap();
    assert!(!stored.windows(10).any(|part| part == b"own-secret"));
    world.change_provider(&made, json!({ "client_secret": "newer-secret" })).await.ok(200);
    let trail = world.api(Method::GET, "/developers/int/v1/changes?kind=identity_provider").send().await.ok(200);
    let changes = trail["changes"].as_array().unwrap();
    let updated = changes.iter().find(|change| change["action"] == "updated").unwrap();
    assert_eq!(updated["fields"], json!(["client_secret"]));
    assert!(!trail.to_string().contains("-secret\""), "{trail}");
    let mut tab = world.signed_in(Role::Developer).await;
    let page =
        tab.open(&format!("/console/records/storefront/identity-providers/{}", made["identity_provider"]["id"].as_str().unwrap())).await;
    assert!(page.status == 200 && !page.html.contains("-secret<"), "{}", page.html);
}

#[tokio::test]
async fn who_changes_an_address_does_not_get_the_client_secret_sent_there() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    for name in ["own.test", "elsewhere.test"] {
        world.resolver.insert(name, &["127.0.0.1".parse().unwrap()]);
    }
    let of_c = world.make_provider(json!({ "name": "idp-c", "client_id": "815", "client_secret": "own-secret" })).await.ok(201);
    let own = json!({
        "name": "own-id", "issuers": [OWN_ISSUER], "audiences": [OWN_APP], "jwks_url": "https://own.test:8443/keys",
        "client_id": "815", "client_secret": "own-secret", "token_url": "https://own.test:8443/token",
    });
    let own = world.make_provider(own).await.ok(201);
    for (made, moved) in [
        (&of_c, json!({ "graph_url": "https://elsewhere.test:8443/v1" })),
        (&own, json!({ "token_url": "https://elsewhere.test:8443/token" })),
        (&own, json!({ "token_url": "https://own.test:9443/token" })),
        (&own, json!({ "token_url": null })),
        (&own, json!({ "status": "inactive", "graph_url": "https://elsewhere.test:8443/v1" })),
    ] {
        let refused = world.change_provider(made, moved.clone()).await.refused(422, "body_invalid");
        let again = "Send the value again: the stored one is for another address, or cannot be decrypted.";
        assert_eq!(refused["fields"], json!({ "client_secret": [again] }), "{moved}");
    }
    world.change_provider(&own, json!({ "token_url": "https://own.test:8443/oauth/token" })).await.ok(200);
    let moved = json!({ "token_url": "https://elsewhere.test:8443/token", "client_secret": "newer-secret" });
    world.change_provider(&own, moved).await.ok(200);
}
