//! The second factor of operators: an authenticator app, and recovery codes.

use base64::Engine;
use chrono::TimeDelta;
use futures::future::join_all;
use portico::operators::Role;
use reqwest::Method;
use serde_json::json;
use totp_rs::{Builder, Secret};

use crate::support::World;
use crate::support::console::{PASSWORD, Shown, Tab};
use crate::support::fleet::id;

/// An authenticator app that has scanned a secret.
struct App(String);

impl App {
    /// The code at this moment.
    fn code(&self, world: &World) -> String {
        let secret = Secret::try_from_base32(&self.0).unwrap();
        let time = u64::try_from(world.clock.now().timestamp()).unwrap();
        Builder::new().with_secret(secret).with_account_name("a").build_noncompliant().generate(time).to_string()
    }
}

impl Tab<'_> {
    /// Sets up an app, and returns it with the recovery codes.
    async fn enrol(&mut self, world: &World) -> (App, Vec<String>) {
        let page = self.open("/console/account/totp").await;
        let app = App(page.between("<code data-copy>", "</code>").replace(' ', ""));
        let shown = self.send("/console/account/totp", &[("code", &app.code(world))]).await;
        shown.says("They are not shown again.");
        let codes: Vec<_> = shown.between("data-copy>", "</pre>").lines().map(str::to_owned).collect();
        assert_eq!(codes.len(), 10);
        // The code that has proven the app is used up.
        world.pass(TimeDelta::seconds(30));
        (app, codes)
    }

    async fn enter_code(&mut self, code: &str) -> Shown {
        self.send("/console/sign-in/code", &[("code", code), ("then", "/console/account")]).await
    }
}

#[tokio::test]
async fn an_operator_sets_up_an_app_and_signs_in_with_its_codes() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    let wrong = tab.send("/console/account/totp", &[("code", "000000")]).await;
    assert_eq!(wrong.status, 422);
    let page = tab.open("/console/account/totp").await;
    page.says("<svg class=\"qr\"").says("Scan this");
    let (app, codes) = tab.enrol(&world).await;
    tab.open("/console/account").await.says("10 recovery codes are left.");

    let mut there = world.tab();
    let asked = there.sign_in("viewer@acme.example", PASSWORD).await;
    assert_eq!(asked.address, "/console/sign-in/code?then=%2Fconsole");
    asked.says("One more step");
    // The password alone opens nothing.
    assert!(!there.cookies.contains_key("portico-session"));
    assert!(there.open("/console").await.address.starts_with("/console/sign-in"));
    let shown = there.enter_code(&app.code(&world)).await;
    assert_eq!((shown.status, shown.address.as_str()), (200, "/console/account"));
    assert!(!there.cookies.contains_key("portico-step"));

    // A recovery code does too, once, however it is typed.
    let typed = codes[3].to_uppercase().replace('-', " ");
    for expected in [200, 401] {
        let mut lost = world.tab();
        lost.sign_in("viewer@acme.example", PASSWORD).await;
        assert_eq!(lost.enter_code(&typed).await.status, expected);
    }
    tab.open("/console/account").await.says("9 recovery codes are left.");
    let stored: Vec<Vec<u8>> = sqlx::query_scalar("select digest from operator_recovery_codes").fetch_all(&world.pool).await.unwrap();
    assert!(stored.iter().all(|digest| !base64::engine::general_purpose::STANDARD.encode(digest).contains(&codes[0])));
}

#[tokio::test]
async fn a_code_works_once_for_those_who_send_it_at_the_same_moment() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    let (app, codes) = tab.enrol(&world).await;
    for code in [app.code(&world), codes[0].clone()] {
        let mut tabs: Vec<_> = (0..6).map(|number| world.tab().from(&format!("203.0.113.{number}"))).collect();
        for tab in &mut tabs {
            tab.sign_in("viewer@acme.example", PASSWORD).await;
        }
        let shown = join_all(tabs.iter_mut().map(|tab| tab.enter_code(&code))).await;
        assert_eq!(shown.iter().filter(|shown| shown.status == 200).count(), 1, "{code}");
    }
    // Nor does an earlier one work after a later one.
    let earlier = app.code(&world);
    world.pass(TimeDelta::seconds(30));
    let mut tab = world.tab();
    tab.sign_in("viewer@acme.example", PASSWORD).await;
    assert_eq!(tab.enter_code(&app.code(&world)).await.status, 200);
    let mut tab = world.tab();
    tab.sign_in("viewer@acme.example", PASSWORD).await;
    assert_eq!(tab.enter_code(&earlier).await.status, 401);
}

#[tokio::test]
async fn the_step_between_belongs_to_the_browser_and_ends() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    let (app, _) = tab.enrol(&world).await;
    let mut ada = world.tab();
    ada.sign_in("viewer@acme.example", PASSWORD).await;
    // Another browser has no step, and one that was made up is none.
    let mut eve = world.tab();
    let refused = eve.enter_code(&app.code(&world)).await;
    assert_eq!(refused.status, 401);
    refused.says("This sign-in was not begun in this browser").says_nothing_of("This link");
    eve.cookies.insert("portico-step".to_owned(), "planted".to_owned());
    assert_eq!(eve.enter_code(&app.code(&world)).await.status, 401);
    assert_eq!(eve.open("/console/sign-in/code").await.address, "/console/sign-in");
    // A link that leads elsewhere leads home.
    let fields = [("code", "000000"), ("then", "https://evil.example/")];
    assert_eq!(ada.send("/console/sign-in/code", &fields).await.status, 401);
    let code = app.code(&world);
    assert_eq!(ada.send("/console/sign-in/code", &[("code", &code), ("then", "//evil.example")]).await.address, "/console");

    let mut late = world.tab();
    late.sign_in("viewer@acme.example", PASSWORD).await;
    world.pass(TimeDelta::minutes(10));
    let over = late.enter_code(&app.code(&world)).await;
    over.says("This sign-in was finished or has waited too long. Sign in with your password.");
}

#[tokio::test]
async fn a_form_that_comes_twice_is_told_what_is_the_case() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    let (app, _) = tab.enrol(&world).await;
    let again = tab.send("/console/account/totp", &[("code", &app.code(&world))]).await;
    again.says("The second factor is set up already. If you did not get to see the recovery codes, make new ones.");
    let mut tab = world.tab();
    tab.sign_in("viewer@acme.example", PASSWORD).await;
    let step = tab.cookies["portico-step"].clone();
    tab.enter_code(&app.code(&world)).await;
    tab.cookies.insert("portico-step".to_owned(), step);
    tab.enter_code(&app.code(&world)).await.says("This sign-in was finished or has waited too long.");
}

#[tokio::test]
async fn guessing_codes_is_limited_and_keeps_nobody_out_of_a_browser_they_know() {
    let world = World::new().await;
    let mut known = world.signed_in(Role::Viewer).await;
    let (app, _) = known.enrol(&world).await;
    known.send("/console/sign-out", &[]).await;
    // Somebody who knows the password, from many networks.
    for network in 0..3 {
        let mut guesser = world.tab().from(&format!("203.0.114.{network}"));
        guesser.sign_in("viewer@acme.example", PASSWORD).await;
        for _ in 0..10 {
            assert_eq!(guesser.enter_code("000000").await.status, 401);
        }
        assert_eq!(guesser.enter_code(&app.code(&world)).await.status, 429);
    }
    let mut elsewhere = world.tab().from("192.0.2.1");
    elsewhere.sign_in("viewer@acme.example", PASSWORD).await;
    assert_eq!(elsewhere.enter_code(&app.code(&world)).await.status, 429);
    known.sign_in("viewer@acme.example", PASSWORD).await;
    assert_eq!(known.enter_code(&app.code(&world)).await.status, 200);
}

#[tokio::test]
async fn whoever_must_have_a_second_factor_sets_it_up_before_all_else() {
    let world = World::with(&[("operators.totp", "owners")]).await;
    world.operator("viewer@acme.example", Role::Viewer).await;
    assert_eq!(world.tab().sign_in("viewer@acme.example", PASSWORD).await.address, "/console");
    world.operator("owner@acme.example", Role::Owner).await;
    let mut tab = world.tab();
    let forced = tab.sign_in("owner@acme.example", PASSWORD).await;
    assert_eq!(forced.address, "/console/account/totp");
    forced.says("Your role must have a second factor. Set it up to go on.");
    for page in
        ["/console", "/console/records/fleet/orders", "/console/account", "/console/search?q=x", "/console/mailbox", "/console/nowhere/x/y"]
    {
        let shown = tab.open(page).await;
        assert!(shown.address == "/console/account/totp" || shown.status == 404, "{page}: {}", shown.address);
    }
    let shown = tab.send("/console/records/fleet/drivers/new", &[("name", "Eve")]).await;
    assert_eq!(shown.address, "/console/account/totp");
    assert_eq!(world.count("select count(*) from drivers").await, 0);
    let (app, _) = tab.enrol(&world).await;
    assert_eq!(tab.open("/console").await.address, "/console");
    let refused = tab.send("/console/account/totp/disable", &[("code", &app.code(&world))]).await;
    assert_eq!(refused.status, 403);
    tab.open("/console/account/totp").await.says_nothing_of("Remove the second factor");
}

#[tokio::test]
async fn a_second_factor_is_removed_with_a_code_or_by_an_owner() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    let (app, _) = tab.enrol(&world).await;
    assert_eq!(tab.send("/console/account/totp/disable", &[("code", "000000")]).await.status, 422);
    let fresh = tab.send("/console/account/recovery-codes", &[("code", &app.code(&world))]).await;
    fresh.says("They are not shown again.");
    world.pass(TimeDelta::seconds(30));
    assert_eq!(tab.send("/console/account/totp/disable", &[("code", &app.code(&world))]).await.address, "/console/account?done=saved");
    assert_eq!(world.tab().sign_in("viewer@acme.example", PASSWORD).await.address, "/console");

    let (_, _) = tab.enrol(&world).await;
    let mut owner = world.signed_in(Role::Owner).await;
    let viewer =
        world.api(Method::GET, "/developers/int/v1/operators?email=viewer@acme.example").send().await.ok(200)["operators"][0].take();
    assert!(viewer["totp_enabled_at"].is_string());
    let page = format!("/console/operators/{}", id(&viewer));
    owner.open(&format!("{page}/reset-totp")).await.says("Be sure that it is they who ask for it.");
    owner.send(&format!("{page}/reset-totp"), &[]).await.says_nothing_of("An authenticator app, since");
    assert!(tab.open("/console").await.address.starts_with("/console/sign-in"), "their sessions have ended");
    assert_eq!(tab.sign_in("viewer@acme.example", PASSWORD).await.address, "/console");
    let entries = "select count(*) from changes where kind = 'operator' and fields = '{totp_enabled_at}'";
    assert_eq!(world.count(entries).await, 4);
    assert_eq!(world.count("select count(*) from operator_recovery_codes").await, 0);
}

#[tokio::test]
async fn a_new_password_does_not_get_around_the_second_factor() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    tab.enrol(&world).await;
    let mut thief = world.tab();
    thief.send("/console/forgot", &[("email", "viewer@acme.example")]).await;
    let key = world.mailed_key("viewer@acme.example").await.unwrap();
    let shown = thief.send("/console/password", &[("key", &key), ("password", "another good password")]).await;
    assert_eq!(shown.address, "/console/sign-in/code?then=%2Fconsole");
    assert!(!thief.cookies.contains_key("portico-session"));
}

#[tokio::test]
async fn the_secret_is_stored_sealed_and_another_tab_gets_the_same() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    let pages = [tab.open("/console/account/totp").await, tab.open("/console/account/totp").await];
    let secrets = pages.map(|page| page.between("<code data-copy>", "</code>").replace(' ', ""));
    assert_eq!(secrets[0], secrets[1]);
    let plain = Secret::try_from_base32(&secrets[0]).unwrap();
    let sealed: Vec<u8> = sqlx::query_scalar("select sealed_totp_secret from operators").fetch_one(&world.pool).await.unwrap();
    assert!(!sealed.windows(20).any(|window| window == plain.as_bytes()));
    let shown = world.api(Method::GET, "/developers/int/v1/operators").send().await.ok(200);
    assert_eq!(shown["operators"][0]["totp_enabled_at"], json!(null));
    assert!(!shown.to_string().contains(&secrets[0]));
}
