//! A customer, as support looks after one.

use chrono::TimeDelta;
use fantoccini::Locator;
use portico::operators::Role;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::authenticator_app::{enrol, handle, offer};
use crate::support::browser::Browser;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, login, token};
use crate::support::fleet::id;
use crate::support::identity_provider::{IdentityProvider, claims_of_a, rsa};
use crate::support::waiting::until;

async fn ada(world: &World) -> (Value, String) {
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD, "phone": PHONE })).await;
    let page = format!("/console/customers/{}", ada["customer"]["id"].as_str().unwrap());
    (ada, page)
}

#[tokio::test]
async fn a_customer_is_found_and_told_of_in_one_timeline() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("hooks.test").await;
    let (ada, page) = ada(&world).await;
    world.deliver().await;
    assert!(receiver.count() > 0);
    world.pass(TimeDelta::minutes(2));
    login(&world, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
    world.pass(TimeDelta::days(1));
    let order = world.order(json!({ "internal_id": "A-1", "customer": ada["customer"]["id"] })).await;

    let mut tab = world.signed_in(Role::Support).await;
    let shown = tab.open("/console/search?q=ADA%40example.com").await;
    assert_eq!(shown.address.split('?').next().unwrap(), page);
    shown.says("ada@example.com <span class=\"state good\">proven</span>").says("+12015550123 <span class=\"state off\">not proven</span>");
    shown.says(&format!("The order <a href=\"/console/records/fleet/orders/{}\" title=\"A-1\">A-1</a> was created.", id(&order)));
    shown.says("was refused: credentials invalid.").says("a new account</a> from").says("The customer registered.");
    shown.says("customer.created</a> was published.").says("delivered");
    shown.says("order.created</a> was published.");
    shown.says("<h3>2026-05-21</h3>").says("<h3>2026-05-22</h3>");
    // What is secret is not there.
    for secret in [token(&ada).split_once('|').unwrap().1, "argon2"] {
        shown.says_nothing_of(secret);
    }
    let orders = tab.open(&format!("{page}?kind=orders")).await;
    orders.says("A-1").says_nothing_of("credentials invalid");
    let events = tab.open(&format!("{page}?kind=events")).await;
    events.says("order.created</a> was published.").says("customer.created</a> was published.").says_nothing_of("The order ");
    tab.open(&format!("{page}?kind=payments")).await.says("Nothing of this kind has happened");
    for wrong in ["?kind=passwords", "?before=yesterday"] {
        assert_eq!(tab.open(&format!("{page}{wrong}")).await.status, 404, "{wrong}");
    }
}

#[tokio::test]
async fn devices_links_and_notices_are_told() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let (ada, page) = ada(&world).await;
    let body = json!({ "identityToken": rsa().sign(&claims_of_a(&world, "7")) });
    world.storefront("customers/link-idp-a").token(&token(&ada)).json(&body).send().await.ok(200);
    let body = json!({ "identity": EMAIL, "password": PASSWORD });
    world.storefront("customers/login").header("device-name", "Blue phone").json(&body).send().await.ok(200);
    let mut tab = world.signed_in(Role::Support).await;
    let shown = tab.open(&page).await;
    shown.says(">Blue phone</a>").says("Identity providers").says("idp-a").says("state good\">active");
    shown.says("The customer was told of a linked identity provider by mail.");
    let notices = tab.open(&format!("{page}?kind=notice")).await;
    notices.says("The customer was told of a sign-in from a new device by mail.").says_nothing_of("The customer registered.");
    tab.send(&format!("{page}/reset-password"), &[]).await.says("state off\">suspended");
}

#[tokio::test]
async fn a_lost_second_factor_is_seen_and_removed() {
    let world = World::new().await;
    let (ada, page) = ada(&world).await;
    offer(&world, "optional").await;
    enrol(&world, &token(&ada)).await;
    handle(login(&world, EMAIL, PASSWORD).await);
    let mut tab = world.signed_in(Role::Support).await;
    let shown = tab.open(&page).await;
    shown
        .says("Recovery codes left: 10.")
        .says("was refused: second factor required.")
        .says("The customer was told of a second factor by mail.");
    tab.open(&format!("{page}/remove-second-factor")).await.says("Remove the second factor of Ada?").says("it is the customer who asks.");
    let removed = tab.send(&format!("{page}/remove-second-factor"), &[]).await;
    removed.says("Saved.").says_nothing_of("Recovery codes left").says("The customer was told of the removed second factor by mail.");
    login(&world, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn support_sees_passkeys_and_removes_one() {
    let world = World::with_passkeys(&[]).await;
    let (ada, page) = ada(&world).await;
    let ada = token(&ada);
    let passkey = world.passkey(&ada).await;
    world.prove(&passkey).await.ok(200);
    let mut tab = world.signed_in(Role::Support).await;
    let shown = tab.open(&page).await;
    shown.says("<h2>Passkeys</h2>").says("state good\">active").says("Signed in with <a");
    shown.says("The customer was told of a new passkey by mail.").says(">a passkey</a>");
    let own = world.passkeys_of(&ada).await;
    let gone = tab.send(&format!("{page}/remove-passkey"), &[("passkey", id(&own[0]))]).await;
    gone.says_nothing_of("<h2>Passkeys</h2>");
    world.prove(&passkey).await.refused(401, "passkey_not_verified");
}

#[tokio::test]
async fn older_entries_are_on_further_pages() {
    let world = World::new().await;
    let (_, page) = ada(&world).await;
    for _ in 0..40 {
        world.pass(TimeDelta::minutes(2));
        login(&world, EMAIL, PASSWORD).await.ok(200);
    }
    let mut tab = world.signed_in(Role::Viewer).await;
    let first = tab.open(&page).await;
    first.says("Older").says_nothing_of("The customer registered.");
    let older = first.between("rel=\"next\" href=\"", "#").replace("&#38;", "&").replace("&amp;", "&");
    tab.open(&older).await.says("The customer registered.").says("Newest");
}

#[tokio::test]
async fn support_ends_sessions_bans_unlocks_resets_and_closes() {
    let world = World::new().await;
    let (ada, page) = ada(&world).await;
    let me = async |token: &str| world.storefront_get("customers/me").token(token).send().await.status;
    let second = token(&login(&world, EMAIL, PASSWORD).await.ok(200));
    let mut tab = world.signed_in(Role::Support).await;

    // One session.
    let shown = tab.open(&page).await;
    let end = format!("/console/sessions/{}/end", shown.between("/console/sessions/", "/end"));
    tab.send(&end, &[]).await.says("Ended.");
    assert_eq!([me(&token(&ada)).await, me(&second).await].iter().filter(|status| **status == 401).count(), 1);
    // All of them, after a page that says what it costs.
    tab.open(&format!("{page}/end-sessions")).await.says("End all sessions of Ada?").says("the next request of each is refused");
    tab.send(&format!("{page}/end-sessions"), &[]).await.says("Saved.").says("On no device.");
    assert_eq!((me(&token(&ada)).await, me(&second).await), (401, 401));

    tab.open(&format!("{page}/ban")).await.says("Ban Ada?").says("every sign-in is refused");
    let refused = tab.send(&format!("{page}/ban"), &[]).await;
    assert_eq!(refused.status, 422);
    refused.says("role=\"alert\"");
    tab.send(&format!("{page}/ban"), &[("reason", "chargebacks")]).await.says("state bad\">banned").says("chargebacks");
    login(&world, EMAIL, PASSWORD).await.refused(403, "account_banned");
    tab.send(&format!("{page}/unban"), &[]).await.says("state good\">active");
    login(&world, EMAIL, PASSWORD).await.ok(200);

    let week = [("reason", "chargebacks"), ("days", "7")];
    tab.send(&format!("{page}/ban"), &week).await.says("It ends 2026-05-28.");
    tab.send(&format!("{page}/unban"), &[]).await.says("state good\">active");

    tab.open(&format!("{page}/edit")).await.says("Change Ada").says("value=\"Ada\"");
    let refused = tab.send(&format!("{page}/edit"), &[("title", "Countess")]).await;
    assert_eq!(refused.status, 422);
    refused.says("role=\"alert\"").says("value=\"Countess\"");
    let changes = [("name", "Ada"), ("title", "Countess"), ("external_id", "40017")];
    tab.send(&format!("{page}/edit"), &changes).await.says("Saved.").says("40017</code>");
    assert_eq!(tab.open("/console/search?q=40017").await.address.split('?').next().unwrap(), page);

    for _ in 0..10 {
        login(&world, EMAIL, "wrong password").await;
    }
    tab.open(&page).await.says("Locked out by wrong passwords, for the 1. time since the last sign-in.").says("Unlock");
    tab.send(&format!("{page}/unlock"), &[]).await.says("state good\">active");
    login(&world, EMAIL, PASSWORD).await.ok(200);

    tab.open(&format!("{page}/reset-password")).await.says("Nobody here sees it.");
    tab.send(&format!("{page}/reset-password"), &[]).await.says("Saved.");
    login(&world, EMAIL, PASSWORD).await.refused(401, "credentials_invalid");

    let export = tab.send(&format!("{page}/export"), &[]).await;
    assert_eq!(export.header("content-type"), "application/json");
    assert!(export.header("content-disposition").starts_with("attachment; filename=\"customer_"));
    let exported: Value = serde_json::from_str(&export.html).unwrap();
    assert_eq!((&exported["customer"]["email"], &exported["orders"], &exported["payments"]), (&json!(EMAIL), &json!([]), &json!([])));

    tab.open(&format!("{page}/close")).await.says("Close the account of Ada for good?").says("It cannot be opened again.");
    let closed = tab.send(&format!("{page}/close"), &[]).await;
    closed.says("The account was closed").says_nothing_of("/reset-password\"");
    assert_eq!(tab.open(&format!("{page}/ban")).await.status, 404);
    closed.says("/erase\"");
    tab.open(&format!("{page}/erase")).await.says("Erase the data of Ada for good?").says("Orders and payments stay.");
    tab.send(&format!("{page}/erase"), &[]).await.says("Saved.").says_nothing_of(EMAIL).says_nothing_of("/erase\"");
}

#[tokio::test]
async fn a_viewer_reads_and_a_developer_knows_of_no_customer() {
    let world = World::new().await;
    let (_, page) = ada(&world).await;
    let mut viewer = world.signed_in(Role::Viewer).await;
    viewer.open(&page).await.says("The customer registered.").says_nothing_of("/end\"").says_nothing_of("/ban\"");
    let mut developer = world.signed_in(Role::Developer).await;
    assert_eq!(developer.open(&page).await.status, 403);
    developer.open(&format!("/console/search?q={EMAIL}")).await.says("Nothing is called exactly");
    for act in ["edit", "ban", "end-sessions", "reset-password", "close", "erase"] {
        assert_eq!(viewer.open(&format!("{page}/{act}")).await.status, 404, "{act}");
        for tab in [&mut viewer, &mut developer] {
            tab.open("/console").await;
            let refused = tab.send(&format!("{page}/{act}"), &[("reason", "a")]).await;
            assert_eq!(refused.status, 403, "{act}");
        }
    }
    for act in ["unban", "unlock", "export"] {
        assert_eq!(viewer.send(&format!("{page}/{act}"), &[]).await.status, 403, "{act}");
    }
    // The changes are for owners.
    let mut owner = world.signed_in(Role::Owner).await;
    owner.open(&page).await;
    owner.send(&format!("{page}/unlock"), &[]).await.says("Changed by").says("locked_out_until");
    // The id of a request leads to what it changed, and a change to all of its request.
    let changes = world.get("changes?kind=customer").await;
    let request = changes["changes"][0]["request_id"].as_str().unwrap();
    let found = owner.open(&format!("/console/search?q={request}")).await;
    assert_eq!(found.address, format!("/console/requests/{request}"));
    let change = changes["changes"][0]["id"].as_str().unwrap();
    owner.open(&format!("/console/records/developers/changes/{change}")).await.says(&format!("/console/requests/{request}\""));
    viewer.open(&page).await.says_nothing_of("Changed by");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_browser_a_customer_is_found_and_a_session_ended() {
    let world = World::new().await;
    let Some(browser) = Browser::open(&world).await else { return };
    let (ada, page) = ada(&world).await;
    let status = async || world.storefront_get("customers/me").token(&token(&ada)).send().await.status;
    assert_eq!(status().await, 200);
    world.operator("ada@acme.example", Role::Support).await;
    let enter = async |css: &str, text: &str| browser.client.find(Locator::Css(css)).await.unwrap().send_keys(text).await.unwrap();
    browser.goto("/console/sign-in").await;
    enter("#email", "ada@acme.example").await;
    // Enter sends the form.
    enter("#password", &format!("{}\u{e007}", crate::support::console::PASSWORD)).await;
    until("somebody is signed in", async || browser.path().await == "/console").await;

    enter("#search", &format!("{EMAIL}\u{e007}")).await;
    browser.arrives_at(&page).await;
    assert!(browser.text().await.contains("The customer registered."));
    browser.is_accessible().await;
    browser.client.find(Locator::Css("form[action$='/end'] button")).await.unwrap().click().await.unwrap();
    until("the session has ended", async || browser.text().await.contains("On no device.")).await;
    assert_eq!(status().await, 401);
    for page in [page.clone(), format!("{page}/ban"), format!("{page}/close"), "/console/texts".to_owned(), "/console".to_owned()] {
        browser.goto(&page).await;
        let shown =
            browser.run("return [document.documentElement.scrollWidth <= innerWidth, document.querySelectorAll('h1').length]").await;
        assert_eq!(shown, json!([true, 1]), "{page}");
        browser.is_accessible().await;
        browser.has_nothing_to_complain_of().await;
    }
    browser.client.clone().close().await.unwrap();
}
