//! Operators who sign in with the company's identity provider.

use chrono::TimeDelta;
use portico::callers::Caller;
use portico::contact::EmailAddress;
use portico::operators::{self, OperatorPassword, Role};
use reqwest::Method;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::support::World;
use crate::support::console::{PASSWORD, Shown};
use crate::support::fleet::id;
use crate::support::identity_provider::BrowserProvider;

const BEGIN: &str = "/console/sign-in/provider?then=%2Fconsole%2Faccount";

/// Somebody signs in with the provider in a browser of their own.
async fn sign_in(provider: &BrowserProvider, world: &World, claims: Value) -> Shown {
    let mut tab = world.tab();
    let page = tab.leave(BEGIN).await;
    tab.open(&provider.sign_in(world, &page, claims)).await
}

#[tokio::test]
async fn an_operator_whom_the_provider_vouches_for_is_signed_in() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[("operators.totp", "everybody")]).await;
    world.operator("ada@acme.example", Role::Owner).await;
    let mut tab = world.tab();
    tab.open("/console/sign-in?then=%2Fconsole%2Faccount")
        .await
        .says("Sign in with staff")
        .says("/console/sign-in/provider?then=%2Fconsole%2Faccount");
    let page = tab.leave(BEGIN).await;
    assert!(page.starts_with(&provider.provider.url("/staff/authorize?")), "{page}");
    let back = provider.sign_in(&world, &page, json!({}));
    let shown = tab.open(&back).await;
    // The provider decides how many factors it asks for.
    assert_eq!((shown.status, shown.address.as_str()), (200, "/console/account"));
    assert!(!tab.cookies.contains_key("portico-provider"));
    assert_eq!(world.count("select count(*) from operator_sessions where method = 'oidc'").await, 1);
    // What the provider sent works once.
    let again = tab.open(&back).await;
    assert_eq!(again.status, 400);
    // A password needs the second factor all the same.
    assert_eq!(world.tab().sign_in("ada@acme.example", PASSWORD).await.address, "/console/account/totp");
}

#[tokio::test]
async fn a_sign_in_is_finished_by_the_browser_that_has_begun_it() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    world.operator("ada@acme.example", Role::Owner).await;
    let (mut ada, mut eve) = (world.tab(), world.tab());
    let page = ada.leave(BEGIN).await;
    let back = provider.sign_in(&world, &page, json!({}));
    // Neither a browser that has begun nothing, nor one that has begun something else.
    assert_eq!(eve.open(&back).await.status, 400);
    eve.leave(BEGIN).await;
    eve.open(&back).await.says("This sign-in was not begun in this browser");
    assert!(!eve.cookies.contains_key("portico-session"));
    // Nor one that made up what it keeps.
    eve.cookies.insert("portico-provider".to_owned(), "00".repeat(80));
    assert_eq!(eve.open(&back).await.status, 400);
    assert_eq!(ada.open(&back).await.status, 200);

    let page = ada.leave(BEGIN).await;
    let back = provider.sign_in(&world, &page, json!({}));
    world.pass(TimeDelta::minutes(10));
    assert_eq!(ada.open(&back).await.status, 400, "too late");
    ada.leave(BEGIN).await;
    let cancelled = ada.open("/console/sign-in/provider/return?error=access_denied&state=x").await;
    assert_eq!(cancelled.status, 400);
    cancelled.says("was cancelled");
}

#[tokio::test]
async fn nobody_is_let_in_whom_the_provider_does_not_vouch_for() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    world.operator("ada@acme.example", Role::Owner).await;
    world.operator("bob@acme.example", Role::Owner).await;
    sqlx::query("update operators set disabled_at = now() where email like 'bob@%'").execute(&world.pool).await.unwrap();
    for (claims, status) in [
        (json!({ "email_verified": false }), 403),
        (json!({ "email_verified": null }), 403),
        (json!({ "email": null }), 403),
        (json!({ "email": "eve@acme.example" }), 403),
        (json!({ "email": "bob@acme.example" }), 403),
        (json!({ "nonce": "another" }), 401),
        (json!({ "nonce": null }), 401),
        (json!({ "aud": "shop" }), 401),
        (json!({ "iss": "https://evil.example" }), 401),
        (json!({ "exp": 1 }), 401),
    ] {
        let mut tab = world.tab();
        let page = tab.leave(BEGIN).await;
        let back = provider.sign_in(&world, &page, claims.clone());
        assert_eq!(tab.open(&back).await.status, status, "{claims}");
        assert!(!tab.cookies.contains_key("portico-session"), "{claims}");
    }
    // A response in the name of another provider.
    let mut tab = world.tab();
    let page = tab.leave(BEGIN).await;
    let back = provider.sign_in(&world, &page, json!({})).replace("%2Fstaff", "%2Fother");
    assert_eq!(tab.open(&back).await.status, 401);
    assert_eq!(world.count("select count(*) from operators").await, 2, "nobody is created");
}

#[tokio::test]
async fn a_provider_that_is_away_or_somebody_else_is_told_from_a_refusal() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    world.operator("ada@acme.example", Role::Owner).await;
    provider.discovered_as("https://evil.example").await;
    let mut tab = world.tab();
    let shown = tab.open(BEGIN).await;
    assert_eq!(shown.status, 503);
    shown.says("The provider does not answer.");
    provider.discovered_as(&provider.issuer()).await;
    let page = tab.leave(BEGIN).await;
    let back = provider.sign_in(&world, &page, json!({}));
    provider.provider.answer("POST", "/staff/token", ResponseTemplate::new(500)).await;
    assert_eq!(tab.open(&back).await.status, 503);
    assert_eq!(tab.sign_in("ada@acme.example", PASSWORD).await.status, 200);
}

#[tokio::test]
async fn customers_cannot_sign_in_with_the_provider_of_operators() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    world.storefront("customers/login-with-staff").json(&json!({ "idToken": "x" })).send().await.refused(404, "provider_not_configured");
}

#[tokio::test]
async fn without_a_provider_there_is_no_such_way() {
    let world = World::new().await;
    let mut tab = world.tab();
    tab.open("/console/sign-in").await.says_nothing_of("/console/sign-in/provider");
    assert_eq!(tab.open(BEGIN).await.status, 404);
    assert_eq!(tab.open("/console/sign-in/provider/return?code=x&state=y").await.status, 404);
}

#[tokio::test]
async fn nobody_is_led_elsewhere_after_the_provider() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    world.operator("ada@acme.example", Role::Owner).await;
    for then in ["https://evil.example/", "//evil.example", "/console\\@evil.example"] {
        let mut tab = world.tab();
        let query = url::form_urlencoded::byte_serialize(then.as_bytes()).collect::<String>();
        let page = tab.leave(&format!("/console/sign-in/provider?then={query}")).await;
        assert_eq!(tab.open(&provider.sign_in(&world, &page, json!({}))).await.address, "/console", "{then}");
    }
}

#[tokio::test]
async fn an_address_that_the_provider_gives_to_somebody_else_gives_them_nothing() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    world.operator("ada@acme.example", Role::Owner).await;
    assert_eq!(sign_in(&provider, &world, json!({})).await.status, 200);
    // Ada has left, and somebody new has got her address.
    let refused = sign_in(&provider, &world, json!({ "sub": "8" })).await;
    assert_eq!(refused.status, 403);
    refused.says("Somebody else at the provider signs in as the operator with your address.");
    // She is herself under whatever address, also under one that the provider does not vouch for.
    for claims in [json!({}), json!({ "email": "lovelace@acme.example" }), json!({ "email_verified": false }), json!({ "email": null })] {
        assert_eq!(sign_in(&provider, &world, claims.clone()).await.status, 200, "{claims}");
    }
    assert_eq!(world.count("select count(*) from changes where kind = 'operator' and fields = '{provider}'").await, 1);
    world.state.operators.send_mails().await.unwrap();
    let told = world.messages().into_iter().filter(|mail| mail.text.contains("identity provider for the first time")).count();
    assert_eq!(told, 1);
}

#[tokio::test]
async fn whoever_is_bound_to_another_person_is_let_in_anew_by_those_who_may() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    world.operator("ada@acme.example", Role::Owner).await;
    world.operator("boss@acme.example", Role::Owner).await;
    sign_in(&provider, &world, json!({})).await;
    // On the machine.
    let (email, password) = (EmailAddress::parse("ada@acme.example").unwrap(), OperatorPassword::parse(&PASSWORD.into()).unwrap());
    let (caller, conn) = (Caller::command_line(world.company), &mut world.pool.acquire().await.unwrap());
    operators::reset_operator(conn, &world.hashing, &caller, &email, password, world.clock.now()).await.unwrap();
    assert_eq!(sign_in(&provider, &world, json!({ "sub": "8" })).await.status, 200);
    assert_eq!(sign_in(&provider, &world, json!({ "sub": "7" })).await.status, 403);
    // By an owner, who invites them again.
    let ada = world.get("operators?email=ada@acme.example").await["operators"][0].take();
    world.api(Method::DELETE, &format!("/developers/int/v1/operators/{}", id(&ada))).send().await.ok(200);
    assert_eq!(sign_in(&provider, &world, json!({ "sub": "8" })).await.status, 403);
    let invited = json!({ "email": "ada@acme.example", "role": "viewer" });
    world.api(Method::POST, "/developers/int/v1/operators").json(&invited).send().await.ok(201);
    let mut tab = world.tab();
    let page = tab.leave(BEGIN).await;
    let asked = tab.open(&provider.sign_in(&world, &page, json!({ "sub": "9" }))).await;
    let invitation = asked.between("name=\"operator\" value=\"", "\"");
    assert_eq!(tab.send("/console/sign-in/company", &[("operator", &invitation)]).await.address, "/console");
    assert_eq!(sign_in(&provider, &world, json!({ "sub": "9" })).await.address, "/console/account");
    assert_eq!(sign_in(&provider, &world, json!({ "sub": "8" })).await.status, 403);
}

#[tokio::test]
async fn whoever_is_an_operator_of_a_company_becomes_no_other_one_of_it_by_another_address() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    world.operator("ada@acme.example", Role::Viewer).await;
    sign_in(&provider, &world, json!({})).await;
    world.operator("lovelace@acme.example", Role::Owner).await;
    let lovelace = json!({ "email": "lovelace@acme.example" });
    sign_in(&provider, &world, lovelace.clone()).await.says("ada@acme.example · Acme · viewer");
    // Also while she is disabled.
    sqlx::query("update operators set disabled_at = now() where email like 'ada@%'").execute(&world.pool).await.unwrap();
    assert_eq!(sign_in(&provider, &world, lovelace).await.status, 403);
}

#[tokio::test]
async fn people_who_sign_in_for_the_first_time_at_the_same_moment_do_not_share_an_operator() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    world.operator("ada@acme.example", Role::Owner).await;
    let people = (0..6).map(|number| sign_in(&provider, &world, json!({ "sub": number.to_string() })));
    let shown = futures::future::join_all(people).await;
    assert_eq!(shown.iter().filter(|shown| shown.status == 200).count(), 1);
    assert!(shown.iter().all(|shown| [200, 403].contains(&shown.status)));
}

#[tokio::test]
async fn a_deployment_that_goes_to_another_provider_binds_its_operators_anew() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    world.operator("ada@acme.example", Role::Owner).await;
    sign_in(&provider, &world, json!({})).await;
    sqlx::query("update operators set provider_issuer = 'https://before.example'").execute(&world.pool).await.unwrap();
    assert_eq!(sign_in(&provider, &world, json!({ "sub": "another" })).await.status, 200);
    assert_eq!(sign_in(&provider, &world, json!({})).await.status, 403);
}

#[tokio::test]
async fn another_sign_in_with_the_provider_is_a_proof() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    world.operator("ada@acme.example", Role::Owner).await;
    let mut tab = world.tab();
    let page = tab.leave(BEGIN).await;
    tab.open(&provider.sign_in(&world, &page, json!({}))).await;
    let before = tab.cookies["portico-session"].clone();
    let new_key = "/console/records/developers/api-keys/new";
    world.pass(TimeDelta::minutes(10));
    let asked = tab.open(new_key).await;
    asked.says("Confirm that it is you").says("Sign in with staff");
    let begin = asked.between("class=\"button\" href=\"/console/sign-in/provider", "\"");
    let page = tab.leave(&format!("/console/sign-in/provider{begin}")).await;
    assert_eq!(tab.open(&provider.sign_in(&world, &page, json!({}))).await.address, new_key);
    assert_ne!(tab.cookies["portico-session"], before);
}
