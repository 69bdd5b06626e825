//! How operators choose their password: invited, or because they have forgotten it.

use chrono::TimeDelta;
use futures::future::join_all;
use portico::operators::Role;

use crate::support::World;
use crate::support::console::{PASSWORD, Shown, Tab};
use crate::support::smtp::SmtpSink;

const ANOTHER: &str = "another good password";

impl Tab<'_> {
    async fn choose(&mut self, key: &str, password: &str) -> Shown {
        self.send("/console/password", &[("key", key), ("password", password)]).await
    }

    async fn forget(&mut self, email: &str) -> Shown {
        self.send("/console/forgot", &[("email", email)]).await
    }
}

#[tokio::test]
async fn somebody_is_invited_in_the_console_and_chooses_a_password() {
    let world = World::new().await;
    let mut owner = world.signed_in(Role::Owner).await;
    owner.open("/console/records/developers/operators/new").await;
    let made = owner.send("/console/records/developers/operators/new", &[("email", "ada@acme.example"), ("role", "developer")]).await;
    made.says("ada@acme.example").says("invited").says("Invite again");
    assert!(made.address.starts_with("/console/operators/operator_"), "{}", made.address);

    let key = world.mailed_key("ada@acme.example").await.unwrap();
    let mut ada = world.tab();
    // A browser counts what a keyboard has sent, and would cut a password off without a word.
    ada.open("/console/password").await.says("Choose a password").says_nothing_of("maxlength");
    let short = ada.choose(&key, "short").await;
    assert_eq!(short.status, 422);
    short.says("A password has 12 to 256 characters.").says_nothing_of("\"short\"");
    let entered = ada.choose(&key, PASSWORD).await;
    assert_eq!((entered.status, entered.address.as_str()), (200, "/console"));
    entered.says("ada@acme.example").says("developer");
    // The link has worked.
    let again = world.tab().choose(&key, ANOTHER).await;
    assert_eq!(again.status, 401);
    again.says("This link has been used or has expired.");
    assert_eq!(world.tab().sign_in("ada@acme.example", PASSWORD).await.status, 200);
    owner.open(&made.address).await.says("active").says("Reset the password");
}

#[tokio::test]
async fn a_newer_invitation_replaces_the_one_before_and_both_end() {
    let world = World::new().await;
    let mut owner = world.signed_in(Role::Owner).await;
    owner.open("/console/records/developers/operators/new").await;
    let made = owner.send("/console/records/developers/operators/new", &[("email", "ada@acme.example"), ("role", "viewer")]).await;
    let first = world.mailed_key("ada@acme.example").await.unwrap();
    let page = made.address.split('?').next().unwrap().to_owned();
    owner.open(&format!("{page}/send-link")).await.says("Mail ada@acme.example a link");
    owner.send(&format!("{page}/send-link"), &[]).await.says("The mail is on its way.");
    let second = world.mailed_key("ada@acme.example").await.unwrap();
    assert_ne!(first, second);
    assert_eq!(world.tab().choose(&first, PASSWORD).await.status, 401);
    world.pass(TimeDelta::days(3));
    assert_eq!(world.tab().choose(&second, PASSWORD).await.status, 401);
    world.state.operators.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from operator_links").await, 0);
}

#[tokio::test]
async fn a_forgotten_password_is_replaced_and_every_session_ends() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    let mut forgetful = world.tab().from("192.0.2.1");
    forgetful.open("/console/sign-in").await.says("Forgot your password?");
    let asked = forgetful.forget("Owner@Acme.example").await;
    let unknown = forgetful.forget("nobody@acme.example").await;
    assert_eq!((asked.status, unknown.status), (200, 200));
    assert_eq!(asked.html.replace("Owner@Acme.example", ""), unknown.html.replace("nobody@acme.example", ""));
    asked.says("If an operator has this address, a mail with a link is on its way.");

    let key = world.mailed_key("owner@acme.example").await.unwrap();
    assert_eq!(world.messages().len(), 1, "nobody else was mailed");
    assert_eq!(tab.open("/console").await.address, "/console", "nothing has changed so far");
    assert_eq!(forgetful.choose(&key, ANOTHER).await.address, "/console");
    assert!(tab.open("/console").await.address.starts_with("/console/sign-in"));
    assert_eq!(tab.sign_in("owner@acme.example", PASSWORD).await.status, 401);
    assert_eq!(tab.sign_in("owner@acme.example", ANOTHER).await.status, 200);

    forgetful.forget("owner@acme.example").await;
    let late = world.mailed_key("owner@acme.example").await.unwrap();
    world.pass(TimeDelta::hours(1));
    assert_eq!(forgetful.choose(&late, PASSWORD).await.status, 401);
}

#[tokio::test]
async fn a_password_that_is_chosen_on_one_keyboard_is_right_on_another() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    let mut tab = world.tab();
    let (composed, decomposed) = ("grünes Pferd 7", "gru\u{308}nes Pferd 7");
    for (chosen, typed) in [(decomposed, composed), (composed, decomposed)] {
        tab.forget("ada@acme.example").await;
        let key = world.mailed_key("ada@acme.example").await.unwrap();
        assert_eq!(tab.choose(&key, chosen).await.status, 200);
        for spelling in [chosen, typed] {
            assert_eq!(world.tab().sign_in("ada@acme.example", spelling).await.status, 200);
        }
        world.pass(TimeDelta::hours(1));
    }
    // Twelve characters are letters, and not what a keyboard makes of them.
    tab.forget("ada@acme.example").await;
    let key = world.mailed_key("ada@acme.example").await.unwrap();
    assert_eq!(tab.choose(&key, &"u\u{308}".repeat(11)).await.status, 422);
    assert_eq!(tab.choose(&key, &"u\u{308}".repeat(200)).await.status, 200);
}

#[tokio::test]
async fn a_link_works_once_for_those_who_use_it_at_the_same_moment() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Viewer).await;
    world.tab().forget("ada@acme.example").await;
    let key = world.mailed_key("ada@acme.example").await.unwrap();
    let mut tabs: Vec<_> = (0..6).map(|_| world.tab()).collect();
    let shown = join_all(tabs.iter_mut().map(|tab| tab.choose(&key, ANOTHER))).await;
    let mut statuses: Vec<_> = shown.iter().map(|shown| shown.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401, 401, 401, 401, 401]);
    assert_eq!(world.count("select count(*) from operator_sessions").await, 1);
}

#[tokio::test]
async fn asking_for_links_is_limited_and_tells_nothing() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Viewer).await;
    let mut sent = 0;
    for network in 0..5 {
        let mut tab = world.tab().from(&format!("203.0.113.{network}"));
        assert_eq!(tab.forget("ada@acme.example").await.status, 200);
        world.state.operators.send_mails().await.unwrap();
        sent = world.messages().len();
    }
    assert_eq!(sent, 3, "three mails an hour");
    let mut tab = world.tab().from("192.0.2.1");
    for number in 0..20 {
        assert_eq!(tab.forget(&format!("somebody-{number}@acme.example")).await.status, 200);
    }
    tab.forget("ada@acme.example").await.says("Too many attempts.");
    // The last mail that was sent still works.
    let key = world.mailed_key("ada@acme.example").await.unwrap();
    assert_eq!(world.tab().choose(&key, ANOTHER).await.status, 200);
}

#[tokio::test]
async fn a_form_of_another_site_chooses_no_password_and_asks_for_none() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Viewer).await;
    world.tab().forget("ada@acme.example").await;
    let key = world.mailed_key("ada@acme.example").await.unwrap();
    let mut tab = world.tab();
    for site in ["cross-site", "same-site", "none"] {
        tab.site = site;
        assert_eq!(tab.choose(&key, ANOTHER).await.status, 403, "{site}");
        assert_eq!(tab.forget("ada@acme.example").await.status, 403, "{site}");
        assert_eq!(tab.send("/console/sign-in/code", &[("code", "123456")]).await.status, 403, "{site}");
    }
    tab.site = "same-origin";
    assert_eq!(tab.choose(&key, ANOTHER).await.status, 200);
}

#[tokio::test]
async fn a_mail_that_the_server_refuses_is_tried_again_with_another_link() {
    let smtp = SmtpSink::start(true).await;
    let changes = [
        ("mail.smtp_url", smtp.url()),
        ("environment", "production".to_owned()),
        ("operators.console_url", "https://hub.example".to_owned()),
    ];
    let changes: Vec<_> = changes.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let world = World::with(&changes).await;
    world.operator("ada@acme.example", Role::Viewer).await;
    world.tab().forget("ada@acme.example").await;
    world.state.operators.send_mails().await.unwrap();
    smtp.refuse(false);
    world.state.operators.send_mails().await.unwrap();
    assert_eq!(world.count("select count(*) from operator_mails").await, 1, "it waits a minute");
    world.pass(TimeDelta::minutes(1));
    world.state.operators.send_mails().await.unwrap();
    assert_eq!(world.count("select count(*) from operator_mails").await, 0);
    let mail = smtp.mails().pop().unwrap();
    assert!(mail.contains("https://hub.example/console/password#"), "{mail}");
    assert_eq!(world.count("select count(*) from operator_links").await, 1);
}

#[tokio::test]
async fn a_link_leads_to_where_the_console_is_whatever_a_request_says() {
    let world = World::with(&[("operators.console_url", "https://hub.example")]).await;
    world.operator("ada@acme.example", Role::Viewer).await;
    world.tab().forget("ada@acme.example").await;
    world.mailed_key("ada@acme.example").await.unwrap();
    let mail = world.messages().swap_remove(0);
    assert!(mail.text.contains("https://hub.example/console/password#") && !mail.text.contains("127.0.0.1"), "{}", mail.text);
}

#[tokio::test]
async fn a_hostile_name_is_text_in_the_console_and_in_the_mail() {
    let world = World::new().await;
    let hostile = r#"'"><script>alert(1)</script>"#;
    let mut owner = world.signed_in(Role::Owner).await;
    owner.open("/console/records/developers/operators/new").await;
    let fields = [("email", "eve@acme.example"), ("role", "viewer"), ("name", hostile)];
    let made = owner.send("/console/records/developers/operators/new", &fields).await;
    world.mailed_key("eve@acme.example").await.unwrap();
    let page = made.address.split('?').next().unwrap().to_owned();
    let invitation = world.messages().into_iter().find(|message| message.to == "eve@acme.example").unwrap();
    let mail = format!("/console/mailbox/{}", invitation.number);
    for page in [&page, &format!("{page}/send-link"), "/console/mailbox", &mail, &format!("{mail}/html")] {
        let shown = owner.open(page).await;
        assert_eq!(shown.status, 200, "{page}");
        shown.says_nothing_of("<script>alert");
    }
    // Another role does not reach the page.
    let mut viewer = world.signed_in(Role::Viewer).await;
    assert_eq!(viewer.open(&page).await.status, 404);
    assert_eq!(viewer.send(&format!("{page}/send-link"), &[]).await.status, 403);
    assert_eq!(viewer.send(&format!("{page}/sessions/end"), &[]).await.status, 403);
}
