//! The first sign-in of a customer, without an app.

use portico::operators::Role;

use crate::support::World;
use crate::support::console::Shown;
use crate::support::customers::EMAIL;

fn page(world: &World) -> String {
    format!("/console/stores/{}/try", world.store)
}

fn value(shown: &Shown, name: &str) -> String {
    let rest = shown.html.split_once(&format!("name=\"{name}\"")).unwrap_or_else(|| panic!("{name} is not on the page")).1;
    rest.split_once("value=\"").unwrap().1.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_customer_is_registered_and_signed_in_again_as_an_app_does_it() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Developer).await;
    tab.open(&format!("/console/records/storefront/stores/{}", world.store)).await.says(&page(&world));
    for (asked, route) in [("new", "/storefront/v1/customers"), ("known", "/storefront/v1/customers/verify-code")] {
        tab.open(&page(&world)).await.says("Acme Shop");
        let sent = tab.send(&page(&world), &[("key", &world.store_key), ("identity", EMAIL)]).await;
        assert_eq!(sent.status, 200, "{}", sent.html);
        let code = value(&sent, "code");
        assert_eq!((code.as_str(), value(&sent, "asked").as_str()), (world.last_code().as_str(), asked));
        sent.says("What the customer gets").says("request-creation-code").says("$STORE_KEY");

        let fields = [("key", world.store_key.as_str()), ("identity", EMAIL), ("asked", asked)];
        let wrong = tab.send(&page(&world), &[&fields[..], &[("code", "000000")]].concat()).await;
        assert_eq!(wrong.status, 422);
        let done = tab.send(&page(&world), &[&fields[..], &[("code", &code)]].concat()).await;
        assert_eq!(done.status, 200, "{}", done.html);
        done.says(route).says("is signed in").says("|…").says_nothing_of(&world.store_key);
        world.pass(chrono::TimeDelta::minutes(5));
    }
    assert_eq!(world.count("select count(*) from customers").await, 1);
}

#[tokio::test]
async fn a_refusal_is_told_and_production_has_no_such_page() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    tab.open(&page(&world)).await;
    for (key, identity, status) in [("store_wrong", EMAIL, 422), (world.store_key.as_str(), "nobody", 422), ("\u{7f}", EMAIL, 422)] {
        assert_eq!(tab.send(&page(&world), &[("key", key), ("identity", identity)]).await.status, status, "{key} {identity}");
    }
    tab.site = "cross-site";
    assert_eq!(tab.send(&page(&world), &[("key", &world.store_key), ("identity", EMAIL)]).await.status, 403);
    assert!(world.messages().is_empty());
    let production = world.reconfigured("", &[("environment", "production")]);
    let mut there = production.tab();
    there.cookies.insert("__Host-portico-session".to_owned(), tab.cookies["portico-session"].clone());
    assert_eq!(there.open(&page(&world)).await.status, 404);
    let store = there.open(&format!("/console/records/storefront/stores/{}", world.store)).await;
    assert_eq!(store.status, 200);
    store.says_nothing_of("/try");
}
