//! The mailbox of development.

use portico::operators::Role;

use crate::support::World;
use crate::support::customers::EMAIL;

#[tokio::test]
async fn what_would_have_been_sent_is_shown_with_its_code() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Support).await;
    tab.open("/console/mailbox").await.says("Nothing was sent yet.");
    let body = serde_json::json!({ "identity": EMAIL });
    world.storefront("customers/request-creation-code").json(&body).send().await.ok(200);
    let code = world.last_code();
    let list = tab.open("/console/mailbox").await;
    list.says(&format!("<code data-copy>{code}</code>")).says(EMAIL);
    tab.open("/console").await.says("href=\"/console/mailbox\"");

    let message = tab.open("/console/mailbox/1").await;
    message.says(&code).says("sandbox=\"\"").says("src=\"/console/mailbox/1/html\"");
    assert!(message.header("content-security-policy").contains("frame-src 'self'"));
    let frame = tab.open("/console/mailbox/1/html").await;
    frame.says(&code);
    let policy = frame.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("sandbox") && policy.contains("frame-ancestors 'self'"), "{policy}");
    assert!(!policy.contains("script-src"), "{policy}");
    for nothing in ["/console/mailbox/7", "/console/mailbox/0/html", "/console/mailbox/x"] {
        assert!([400, 404].contains(&tab.open(nothing).await.status), "{nothing}");
    }
}

#[tokio::test]
async fn nobody_reads_it_without_signing_in() {
    let world = World::new().await;
    for page in ["/console/mailbox", "/console/mailbox/1", "/console/mailbox/1/html"] {
        assert!(world.tab().open(page).await.address.starts_with("/console/sign-in"), "{page}");
    }
}

#[tokio::test]
async fn production_has_none() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    let production = world.reconfigured("", &[("environment", "production")]);
    let mut there = production.tab();
    there.cookies.insert("__Host-portico-session".to_owned(), tab.cookies["portico-session"].clone());
    there.open("/console").await.says("Overview").says_nothing_of("Mailbox");
    assert_eq!(there.open("/console/mailbox").await.status, 404);
    assert_eq!(there.open("/console/mailbox/1/html").await.status, 404);
    tab.open("/console").await.says("Mailbox");
}
