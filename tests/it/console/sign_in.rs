//! Who gets in, and who stays in.

use chrono::TimeDelta;
use portico::contact::EmailAddress;
use portico::kernel::ids::OperatorId;
use portico::operators::{self, OneTimeLink, Role};

use crate::support::World;
use crate::support::console::PASSWORD;

#[tokio::test]
async fn an_operator_signs_in_and_out() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    let mut tab = world.tab();
    let asked = tab.open("/").await;
    assert_eq!(asked.address, "/console/sign-in?then=%2Fconsole");
    asked.says("Sign in").says_nothing_of("Sign out");

    let shown = tab.sign_in("Ada@acme.example", PASSWORD).await;
    assert_eq!((shown.status, shown.address.as_str()), (200, "/console"));
    shown.says("ada@acme.example").says("owner");

    let token = tab.cookies["portico-session"].clone();
    let shown = tab.send("/console/sign-out", &[]).await;
    assert_eq!(shown.address, "/console/sign-in");
    // The token is worth nothing any more.
    tab.cookies.insert("portico-session".to_owned(), token);
    assert!(tab.open("/console").await.address.starts_with("/console/sign-in"));
}

#[tokio::test]
async fn one_gets_to_the_page_that_one_wanted() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Viewer).await;
    let mut tab = world.tab();
    let asked = tab.open("/console/records/fleet/orders?status=created").await;
    let then = asked.between(r#"name="then" value=""#, "\"").replace("&#38;", "&").replace("&amp;", "&");
    assert_eq!(then, "/console/records/fleet/orders?status=created");
    let fields = [("email", "ada@acme.example"), ("password", PASSWORD), ("then", then.as_str())];
    assert_eq!(tab.send("/console/sign-in", &fields).await.address, then);
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_are_told_the_same() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    let mut tab = world.tab();
    for (email, password) in [("ada@acme.example", "wrong"), ("eve@acme.example", PASSWORD), ("no address", PASSWORD), ("", "")] {
        let shown = tab.sign_in(email, password).await;
        assert_eq!(shown.status, 401, "{email:?}");
        shown.says("The address or the password is not right.").says_nothing_of(PASSWORD);
        assert!(!tab.cookies.contains_key("portico-session"));
    }
}

#[tokio::test]
async fn a_session_ends_after_a_while_without_use_and_at_last_in_any_case() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    for _ in 0..16 {
        world.pass(TimeDelta::hours(10));
        assert_eq!(tab.open("/console").await.address, "/console");
    }
    world.pass(TimeDelta::hours(9));
    assert!(tab.open("/console").await.address.starts_with("/console/sign-in"), "seven days are over");

    let mut tab = world.tab();
    tab.sign_in("viewer@acme.example", PASSWORD).await;
    world.pass(TimeDelta::hours(12));
    assert!(tab.open("/console").await.address.starts_with("/console/sign-in"), "twelve hours without use");
    world.state.operators.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from operator_sessions").await, 0);
}

#[tokio::test]
async fn an_operator_who_is_removed_is_signed_out() {
    let world = World::new().await;
    // The last owner stays.
    world.operator("ada@acme.example", Role::Owner).await;
    let mut tab = world.signed_in(Role::Owner).await;
    let (caller, email) = (portico::callers::Caller::command_line(world.company), EmailAddress::parse("owner@acme.example").unwrap());
    let conn = &mut world.pool.acquire().await.unwrap();
    operators::remove_operator(conn, &caller, &email, world.clock.now()).await.unwrap();
    assert!(tab.open("/console").await.address.starts_with("/console/sign-in"));
}

#[tokio::test]
async fn guessing_is_limited_where_it_happens_and_keeps_nobody_out_of_a_browser_they_know() {
    let world = World::new().await;
    let mut known = world.signed_in(Role::Owner).await;
    known.send("/console/sign-out", &[]).await;

    let mut guesser = world.tab().from("203.0.113.9");
    for _ in 0..10 {
        assert_eq!(guesser.sign_in("owner@acme.example", "wrong").await.status, 401);
    }
    let refused = guesser.sign_in("owner@acme.example", PASSWORD).await;
    assert_eq!(refused.status, 429);
    refused.says("Too many attempts. Try again in 15 min.");

    // From many networks together, a hundred a day.
    for network in 0..9 {
        let mut guesser = world.tab().from(&format!("203.0.114.{network}"));
        for _ in 0..10 {
            assert_eq!(guesser.sign_in("owner@acme.example", "wrong").await.status, 401);
        }
    }
    let mut elsewhere = world.tab().from("192.0.2.1");
    assert_eq!(elsewhere.sign_in("owner@acme.example", PASSWORD).await.status, 429);
    assert_eq!(known.sign_in("owner@acme.example", PASSWORD).await.status, 200);

    world.pass(TimeDelta::hours(24) + TimeDelta::seconds(1));
    assert_eq!(elsewhere.sign_in("owner@acme.example", PASSWORD).await.status, 200);
}

#[tokio::test]
async fn one_network_guesses_at_fifty_operators_at_most() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    let mut tab = world.tab();
    for number in 0..50 {
        assert_eq!(tab.sign_in(&format!("somebody-{number}@acme.example"), "wrong").await.status, 401);
    }
    assert_eq!(tab.sign_in("ada@acme.example", PASSWORD).await.status, 429);
    assert_eq!(world.tab().from("192.0.2.1").sign_in("ada@acme.example", PASSWORD).await.status, 200);
}

#[tokio::test]
async fn a_link_signs_in_once_and_not_for_ever() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    let conn = &mut world.pool.acquire().await.unwrap();
    let operator = operators::find_by_email(conn, world.company, &EmailAddress::parse("ada@acme.example").unwrap()).await.unwrap().unwrap();
    let link = OneTimeLink::create(conn, operator.id, world.clock.now()).await.unwrap();

    let mut tab = world.tab();
    tab.open("/console/sign-in/once").await.says("This link signs you in once");
    let shown = tab.send("/console/sign-in/once", &[("key", link.reveal())]).await;
    assert_eq!(shown.address, "/console");
    let again = world.tab().send("/console/sign-in/once", &[("key", link.reveal())]).await;
    assert_eq!(again.status, 401);
    again.says("This link has been used or has expired.");

    let late = OneTimeLink::create(conn, operator.id, world.clock.now()).await.unwrap();
    world.pass(TimeDelta::hours(1));
    assert_eq!(world.tab().send("/console/sign-in/once", &[("key", late.reveal())]).await.status, 401);
    world.state.operators.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from operator_links").await, 0);
}

#[tokio::test]
async fn signing_in_and_out_is_in_the_audit_trail() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    tab.send("/console/sign-out", &[]).await;
    let rows: Vec<(String, String, Option<OperatorId>)> =
        sqlx::query_as("select action, caller, caller_id from changes where kind = 'operator_session' order by created_at, action")
            .fetch_all(&world.pool)
            .await
            .unwrap();
    let owner = sqlx::query_scalar("select id from operators").fetch_one(&world.pool).await.unwrap();
    assert_eq!(
        rows,
        [("created".to_owned(), "operator".to_owned(), Some(owner)), ("deleted".to_owned(), "operator".to_owned(), Some(owner))]
    );
}

#[tokio::test]
async fn many_sign_in_at_once_and_each_has_a_session_of_their_own() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    let mut tabs: Vec<_> = (0..8).map(|_| world.tab()).collect();
    let signing = tabs.iter_mut().map(|tab| tab.sign_in("ada@acme.example", PASSWORD));
    for shown in futures::future::join_all(signing).await {
        assert_eq!(shown.status, 200);
    }
    let mut tokens: Vec<_> = tabs.iter().map(|tab| tab.cookies["portico-session"].clone()).collect();
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 8);
}

#[tokio::test]
async fn a_session_cannot_be_planted() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    let mut tab = world.tab();
    tab.cookies.insert("portico-session".to_owned(), "planted".to_owned());
    assert!(tab.open("/console").await.address.starts_with("/console/sign-in"));
    tab.sign_in("ada@acme.example", PASSWORD).await;
    assert_ne!(tab.cookies["portico-session"], "planted");
}

#[tokio::test]
async fn an_operator_sees_where_they_are_signed_in_and_ends_it() {
    let world = World::new().await;
    let mut here = world.signed_in(Role::Viewer).await;
    let mut there = world.tab().from("192.0.2.9");
    there.user_agent = "Lost phone";
    there.sign_in("viewer@acme.example", PASSWORD).await;
    let mut elsewhere = world.tab().from("192.0.2.10");
    elsewhere.sign_in("viewer@acme.example", PASSWORD).await;

    let shown = here.open("/console/account").await;
    shown.says("Lost phone").says("192.0.2.9").says("192.0.2.10").says("this one");
    let lost = shown.html.split("<tr>").find(|row| row.contains("Lost phone")).unwrap();
    let end = lost.split("action=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    here.send(&end, &[]).await.says("Ended.").says_nothing_of("Lost phone");
    assert!(there.open("/console").await.address.starts_with("/console/sign-in"));
    assert_eq!(elsewhere.open("/console").await.address, "/console");

    here.send("/console/account/sessions/end-others", &[]).await.says_nothing_of("192.0.2.10");
    assert!(elsewhere.open("/console").await.address.starts_with("/console/sign-in"));
    assert_eq!(here.open("/console").await.address, "/console");

    // Nobody ends the session of somebody else.
    let mut owner = world.signed_in(Role::Owner).await;
    owner.open("/console/account").await;
    let id: portico::kernel::ids::OperatorSessionId =
        sqlx::query_scalar("select id from operator_sessions order by created_at limit 1").fetch_one(&world.pool).await.unwrap();
    owner.send(&format!("/console/account/sessions/{id}/end"), &[]).await;
    assert_eq!(here.open("/console").await.address, "/console");
}

#[tokio::test]
async fn signing_in_again_ends_the_session_before() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    let before = tab.cookies["portico-session"].clone();
    let proof = tab.cookies["portico-browser"].clone();
    tab.sign_in("owner@acme.example", PASSWORD).await;
    assert_eq!(world.count("select count(*) from operator_sessions").await, 1);
    assert_ne!(tab.cookies["portico-session"], before);
    // A browser has one proof of being known, however often it signs in.
    assert_eq!(tab.cookies["portico-browser"], proof);
}
