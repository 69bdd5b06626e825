//! A copied cookie: what decides who gets in, and what shows a secret, asks for a proof that is not old.

use chrono::TimeDelta;
use portico::contact::EmailAddress;
use portico::operators::{self, OneTimeLink, Role};
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::authenticator_app::app_code;
use crate::support::console::{PASSWORD, Shown, Tab};
use crate::support::customers::EMAIL;
use crate::support::fleet::id;

const TEN_MINUTES: TimeDelta = TimeDelta::minutes(10);
const NEW_KEY: &str = "/console/records/developers/api-keys/new";
const NEW_WEBHOOK: &str = "/console/records/developers/webhooks/new";
const SESSION: &str = "portico-session";

/// The browser of a thief who has copied the cookie of a session.
fn thief_of<'a>(world: &'a World, tab: &Tab<'_>) -> Tab<'a> {
    let mut thief = world.tab().from("203.0.113.66");
    thief.cookies.insert(SESSION.to_owned(), tab.cookies[SESSION].clone());
    thief
}

/// Where somebody without a proof is led who wants to open a page.
fn confirming(page: &str) -> String {
    let page = url::form_urlencoded::byte_serialize(page.as_bytes()).collect::<String>();
    format!("/console/confirm?then={page}")
}

impl Tab<'_> {
    async fn confirm(&mut self, proof: &str, then: &str) -> Shown {
        self.send("/console/confirm", &[("proof", proof), ("then", then)]).await
    }
}

#[tokio::test]
async fn a_copied_cookie_sets_up_no_second_factor_and_the_owner_gets_in() {
    let world = World::new().await;
    let owner = world.signed_in(Role::Owner).await;
    world.pass(TEN_MINUTES);
    let mut thief = thief_of(&world, &owner);
    assert_eq!(thief.open("/console").await.address, "/console");
    let asked = thief.open("/console/account/totp").await;
    assert_eq!(asked.address, confirming("/console/account/totp"));
    asked.says("Confirm that it is you").says_nothing_of("class=\"qr\"");
    assert_eq!(thief.send("/console/account/totp", &[("code", "123456")]).await.address, confirming("/console"));
    assert_eq!(world.count("select count(*) from operators where sealed_totp_secret is not null").await, 0);
    assert_eq!(world.tab().sign_in("owner@acme.example", PASSWORD).await.address, "/console");
}

#[tokio::test]
async fn a_copied_cookie_lets_nobody_in_and_shows_no_secret() {
    let world = World::new().await;
    world.operator("eve@acme.example", Role::Viewer).await;
    let owner = world.signed_in(Role::Owner).await;
    let (_, webhook) = world.subscriber("hooks.test").await;
    let (_, hook, _) = world.hook_with_a_page().await;
    let gateway = world.card().await;
    let eve = world.api(Method::GET, "/developers/int/v1/operators?email=eve@acme.example").send().await.ok(200)["operators"][0].take();
    let keys = world.api(Method::GET, "/developers/int/v1/api-keys").send().await.ok(200)["api_keys"].take();
    let (eve, webhook) = (id(&eve).to_owned(), format!("/console/webhooks/{}", id(&webhook)));
    let (operator, record) = (format!("/console/operators/{eve}"), format!("/console/records/developers/operators/{eve}"));
    let key = format!("/console/records/developers/api-keys/{}", id(&keys[0]));
    world.pass(TEN_MINUTES);
    let mut thief = thief_of(&world, &owner);
    let before = world.count("select count(*) from changes").await;
    for page in [
        NEW_KEY.to_owned(),
        "/console/records/developers/operators/new".to_owned(),
        "/console/records/developers/portal-links/new".to_owned(),
        format!("{record}/edit"),
        format!("{record}/delete"),
        format!("{operator}/send-link"),
        format!("{operator}/reset-totp"),
        format!("{key}/edit"),
        format!("{webhook}/rotate-secret"),
        format!("{hook}/rotate-secret"),
        format!("/console/gateways/{}/try", id(&gateway)),
    ] {
        assert_eq!(thief.open(&page).await.address, confirming(&page));
    }
    let acts: [(String, &[(&str, &str)]); 9] = [
        (NEW_KEY.to_owned(), &[("name", "Mine"), ("scopes", "admin")]),
        ("/console/records/developers/operators/new".to_owned(), &[("email", "mallory@evil.example"), ("role", "owner")]),
        ("/console/records/developers/portal-links/new".to_owned(), &[("owner", "7")]),
        (format!("{record}/delete"), &[]),
        (format!("{operator}/send-link"), &[]),
        (format!("{operator}/sessions/end"), &[]),
        (format!("{webhook}/secret"), &[]),
        (format!("{webhook}/rotate-secret"), &[("overlap", "0"), ("version", "1")]),
        (format!("{hook}/rotate-secret"), &[("overlap", "0"), ("version", "1")]),
    ];
    for (form, fields) in acts {
        let sent = thief.send(&form, fields).await;
        assert_eq!(sent.address, confirming("/console"), "{form}");
        sent.says_nothing_of("whsec_").says_nothing_of("key_");
    }
    assert_eq!(world.count("select count(*) from changes").await, before);
    assert_eq!(world.count("select count(*) from operator_mails").await, 0);
}

#[tokio::test]
async fn a_copied_cookie_makes_nothing_that_goes_on_after_its_session() {
    let world = World::new().await;
    let mut owner = world.signed_in(Role::Owner).await;
    let (_endpoint, webhook) = world.subscriber("hooks.test").await;
    let (_, hook, _) = world.hook_with_a_page().await;
    let url = world.endpoint("thief.test").await.url();
    let webhook = format!("/console/records/developers/webhooks/{}", id(&webhook));
    let store = format!("/console/records/storefront/stores/{}", world.store);
    let before = world.count("select count(*) from changes").await;
    world.pass(TEN_MINUTES);
    let mut thief = thief_of(&world, &owner);
    for new in [NEW_WEBHOOK, "/console/records/storefront/registration-hooks/new"] {
        assert_eq!(thief.open(new).await.address, confirming(new));
        let made = thief.send(new, &[("store", &world.store.to_string()), ("url", &url), ("events", "*")]).await;
        assert_eq!(made.address, confirming("/console"), "{new}");
        made.says_nothing_of("whsec_");
    }
    let moved = [
        (&webhook, "url", url.as_str()),
        (&webhook, "events", "order.created"),
        (&hook, "url", url.as_str()),
        (&store, "passkey_domain", "thief.example"),
    ];
    for (page, field, value) in moved {
        assert_eq!(thief.edit(page, &[(field, value)]).await.address, confirming("/console"), "{page} {field}");
    }
    let tested = "/console/records/storefront/test-identities/new";
    assert_eq!(thief.open(tested).await.address, confirming(tested));
    let fields = [("store", world.store.to_string()), ("identity", EMAIL.to_owned()), ("code", "424242".to_owned())];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(thief.send(tested, &fields).await.address, confirming("/console"));
    assert_eq!(world.count("select count(*) from changes").await, before);
    assert_eq!(world.count("select count(*) from operator_notices").await, 0);

    // What leads nowhere else needs no proof.
    thief.edit(&webhook, &[("description", "The shop")]).await.says("Saved.");
    thief.edit(&store, &[("name", "Another shop")]).await.says("Saved.");

    owner.open(NEW_WEBHOOK).await;
    assert_eq!(owner.confirm(PASSWORD, NEW_WEBHOOK).await.address, NEW_WEBHOOK);
    owner.send(NEW_WEBHOOK, &[("url", &url), ("events", "order.*")]).await.says("whsec_");
    owner.edit(&webhook, &[("url", &url)]).await.says("Saved.");
    assert_eq!(world.count("select count(*) from operator_notices where about = 'destination'").await, 2);
}

#[tokio::test]
async fn reading_and_what_decides_over_nobody_need_no_proof() {
    let world = World::new().await;
    world.order(json!({ "internal_id": "A-1" })).await;
    world.register("+12025550123").await;
    let mut tab = world.signed_in(Role::Owner).await;
    let account = world.api(Method::GET, "/developers/int/v1/operators").send().await.ok(200)["operators"][0].take();
    world.pass(TEN_MINUTES);
    for page in [
        "/console/records/developers/operators",
        "/console/records/developers/changes",
        "/console/records/developers/api-keys",
        "/console/records/developers/portal-links",
        "/console/records/storefront/customers",
        "/console/account",
        "/console/search?q=A-1",
        "/console",
        &format!("/console/operators/{}", id(&account)),
    ] {
        let shown = tab.open(page).await;
        assert!(shown.status == 200 && !shown.address.starts_with("/console/confirm"), "{page}: {}", shown.address);
    }
    tab.open("/console/records/fleet/drivers/new").await;
    assert_eq!(tab.send("/console/records/fleet/drivers/new", &[("name", "Ada")]).await.status, 200);
    assert_eq!(world.count("select count(*) from drivers").await, 1);
}

#[tokio::test]
async fn an_operator_confirms_with_the_password_and_the_copy_of_the_cookie_ends() {
    let world = World::new().await;
    let mut owner = world.signed_in(Role::Owner).await;
    let mut thief = thief_of(&world, &owner);
    world.pass(TEN_MINUTES);
    let asked = owner.open(NEW_KEY).await;
    assert_eq!(asked.address, confirming(NEW_KEY));
    asked.says("type=\"password\"").says_nothing_of("authenticator app");
    let wrong = owner.confirm("another horse battery", NEW_KEY).await;
    assert_eq!(wrong.status, 422);
    wrong.says("The password is not right.").says_nothing_of("another horse");
    assert_eq!(owner.open(NEW_KEY).await.address, confirming(NEW_KEY));
    owner.site = "cross-site";
    assert_eq!(owner.confirm(PASSWORD, NEW_KEY).await.status, 403);
    owner.site = "same-origin";
    assert_eq!(owner.confirm(PASSWORD, NEW_KEY).await.address, NEW_KEY);
    owner.send(NEW_KEY, &[("name", "Backend"), ("scopes", "admin")]).await.says("key_");
    assert!(thief.open("/console").await.address.starts_with("/console/sign-in"), "the copy is worth nothing");

    world.pass(TEN_MINUTES - TimeDelta::seconds(1));
    assert_eq!(owner.open(NEW_KEY).await.address, NEW_KEY);
    world.pass(TimeDelta::seconds(1));
    assert_eq!(owner.open(NEW_KEY).await.address, confirming(NEW_KEY));
    // A page of another site is none to be led to.
    assert_eq!(owner.confirm(PASSWORD, "https://evil.example/").await.address, "/console");
    // Nobody confirms twice.
    assert_eq!(owner.open(&confirming(NEW_KEY)).await.address, NEW_KEY);
}

#[tokio::test]
async fn who_has_a_second_factor_confirms_with_a_code_and_the_password_is_not_enough() {
    let world = World::new().await;
    let mut owner = world.signed_in(Role::Owner).await;
    let page = owner.open("/console/account/totp").await;
    let secret = page.between("<code data-copy>", "</code>").replace(' ', "");
    let shown = owner.send("/console/account/totp", &[("code", &app_code(&world, &secret))]).await;
    let recovery_code = shown.between("data-copy>", "</pre>").lines().next().unwrap().to_owned();
    world.pass(TEN_MINUTES);
    owner.open(NEW_KEY).await.says("Code of your authenticator app").says_nothing_of("type=\"password\"");
    let refused = owner.confirm(PASSWORD, NEW_KEY).await;
    assert_eq!(refused.status, 422);
    refused.says("This code is not right");
    assert_eq!(owner.confirm(&app_code(&world, &secret), NEW_KEY).await.address, NEW_KEY);
    world.pass(TEN_MINUTES);
    owner.open(NEW_KEY).await;
    assert_eq!(owner.confirm(&recovery_code, NEW_KEY).await.address, NEW_KEY);
    // To set up or to replace the factor, a code is a proof by itself.
    world.pass(TEN_MINUTES);
    let codes = owner.send("/console/account/recovery-codes", &[("code", &app_code(&world, &secret))]).await;
    codes.says("They are not shown again.");
}

#[tokio::test]
async fn a_copied_cookie_ends_with_every_change_of_the_second_factor_and_forms_of_other_tabs_stay_good() {
    let world = World::new().await;
    let mut owner = world.signed_in(Role::Owner).await;
    let page = owner.open("/console/account/totp").await;
    let form_token = page.between(r#"name="form_token" value=""#, "\"");
    let secret = page.between("<code data-copy>", "</code>").replace(' ', "");
    for form in ["/console/account/totp", "/console/account/recovery-codes", "/console/account/totp/disable"] {
        let mut thief = thief_of(&world, &owner);
        assert_eq!(thief.open("/console").await.address, "/console", "{form}");
        let sent = [("code", app_code(&world, &secret)), ("form_token", form_token.clone())];
        assert_eq!(owner.send(form, &sent.each_ref().map(|(name, value)| (*name, value.as_str()))).await.status, 200, "{form}");
        assert!(thief.open("/console").await.address.starts_with("/console/sign-in"), "{form}");
        assert_eq!(owner.open("/console").await.address, "/console", "{form}");
        world.pass(TimeDelta::seconds(30));
    }
}

#[tokio::test]
async fn a_secret_that_a_thief_has_seen_is_none_of_the_second_factor_that_is_set_up_later() {
    let world = World::new().await;
    let mut owner = world.signed_in(Role::Owner).await;
    let secret = |page: Shown| page.between("<code data-copy>", "</code>");
    let seen = secret(thief_of(&world, &owner).open("/console/account/totp").await);
    world.pass(TEN_MINUTES);
    owner.open("/console/account/totp").await;
    let confirmed = secret(owner.confirm(PASSWORD, "/console/account/totp").await);
    assert_ne!(confirmed, seen);
    owner.sign_in("owner@acme.example", PASSWORD).await;
    let signed_in = secret(owner.open("/console/account/totp").await);
    assert!(signed_in != confirmed && signed_in != seen);
}

#[tokio::test]
async fn a_thief_guesses_no_proof_and_keeps_the_operator_from_none() {
    let world = World::new().await;
    let mut owner = world.signed_in(Role::Owner).await;
    world.pass(TEN_MINUTES);
    let mut thief = thief_of(&world, &owner);
    thief.open(NEW_KEY).await;
    for _ in 0..10 {
        assert_eq!(thief.confirm("a guess of a password", NEW_KEY).await.status, 422);
    }
    let refused = thief.confirm(PASSWORD, NEW_KEY).await;
    assert_eq!(refused.status, 429);
    refused.says("Too many attempts.");
    owner.open(NEW_KEY).await;
    assert_eq!(owner.confirm(PASSWORD, NEW_KEY).await.address, NEW_KEY);
}

#[tokio::test]
async fn whoever_has_to_set_up_a_second_factor_confirms_first_if_that_took_long() {
    let world = World::with(&[("operators.totp", "owners")]).await;
    world.operator("ada@acme.example", Role::Owner).await;
    let mut tab = world.tab();
    assert_eq!(tab.sign_in("ada@acme.example", PASSWORD).await.address, "/console/account/totp");
    world.pass(TEN_MINUTES);
    assert_eq!(tab.open("/console").await.address, confirming("/console/account/totp"));
    tab.confirm(PASSWORD, "/console/account/totp").await.says("class=\"qr\"");
}

#[tokio::test]
async fn the_link_of_development_is_a_proof_for_as_long() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    let conn = &mut world.pool.acquire().await.unwrap();
    let operator = operators::find_by_email(conn, world.company, &EmailAddress::parse("ada@acme.example").unwrap()).await.unwrap().unwrap();
    let mut tab = world.tab();
    for _ in 0..2 {
        let link = OneTimeLink::create(conn, operator.id, world.clock.now()).await.unwrap();
        assert_eq!(tab.send("/console/sign-in/once", &[("key", link.reveal())]).await.address, "/console");
        assert_eq!(tab.open(NEW_KEY).await.address, NEW_KEY);
        world.pass(TEN_MINUTES);
        tab.open(NEW_KEY).await.says("Sign in again").says(r#"href="/console/sign-in?then="#);
    }
}
