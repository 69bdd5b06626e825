//! What each role sees and may do.

use portico::operators::Role;
use serde_json::json;

use crate::support::World;
use crate::support::fleet::id;

/// Lists of the five areas.
const LISTS: [(&str, [Role; 4]); 7] = {
    use Role::{Developer, Owner, Support, Viewer};
    [
        ("storefront/customers", [Owner, Support, Viewer, Viewer]),
        ("fleet/orders", [Owner, Developer, Support, Viewer]),
        ("developers/deliveries", [Owner, Developer, Support, Viewer]),
        ("developers/webhooks", [Owner, Developer, Support, Viewer]),
        ("developers/changes", [Owner, Owner, Owner, Owner]),
        ("developers/operators", [Owner, Owner, Owner, Owner]),
        ("developers/api-keys", [Owner, Developer, Developer, Developer]),
    ]
};

#[tokio::test]
async fn a_role_opens_the_lists_of_its_areas_and_knows_of_no_others() {
    let world = World::new().await;
    for role in [Role::Owner, Role::Developer, Role::Support, Role::Viewer] {
        let mut tab = world.signed_in(role).await;
        let navigation = tab.open("/console").await;
        for (list, roles) in LISTS {
            let shown = tab.open(&format!("/console/records/{list}")).await;
            let expected = if roles.contains(&role) { 200 } else { 404 };
            assert_eq!(shown.status, expected, "{role:?} {list}");
            assert_eq!(navigation.html.contains(&format!("/console/records/{list}\"")), expected == 200, "{role:?} {list}");
        }
    }
}

#[tokio::test]
async fn support_and_viewers_see_no_secret_and_change_no_webhook() {
    let world = World::new().await;
    let receiver = world.endpoint("hooks.test").await;
    let webhook = world.subscribe(&receiver, json!({})).await;
    let (secret, id) = (webhook["secret"].as_str().unwrap().to_owned(), id(&webhook));
    for role in [Role::Support, Role::Viewer] {
        let mut tab = world.signed_in(role).await;
        let shown = tab.open(&format!("/console/webhooks/{id}")).await;
        shown.says("hooks.test").says_nothing_of(&secret).says_nothing_of("rotate-secret");
        for act in ["secret", "rotate-secret", "test", "disable", "enable"] {
            let refused = tab.send(&format!("/console/webhooks/{id}/{act}"), &[]).await;
            assert_eq!(refused.status, 403, "{role:?} {act}");
            refused.says("Your role does not allow this").says_nothing_of("whsec_");
        }
        assert_eq!(tab.open(&format!("/console/records/developers/webhooks/{id}/edit")).await.status, 404);
        assert_eq!(tab.open("/console/records/developers/webhooks/new").await.status, 404);
    }
    let mut owner = world.signed_in(Role::Owner).await;
    owner.open(&format!("/console/webhooks/{id}")).await.says_nothing_of(&secret);
    owner.send(&format!("/console/webhooks/{id}/secret"), &[]).await.says(&secret);
}

#[tokio::test]
async fn a_developer_makes_no_key_that_reaches_customers() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Developer).await;
    tab.open("/console/records/developers/api-keys/new").await;
    let refused = tab.send("/console/records/developers/api-keys/new", &[("name", "Reports"), ("scopes", "read")]).await;
    assert_eq!(refused.status, 403);
    refused.says("A key with the scope read reaches customers, which this operator does not.");
    let made = tab.send("/console/records/developers/api-keys/new", &[("name", "Publisher"), ("scopes", "events")]).await;
    made.says("Copy this now. It is not shown again.").says("key_");
}

#[tokio::test]
async fn an_operator_sees_only_their_own_company() {
    let world = World::new().await;
    let order = world.order(json!({ "internal_id": "A-1" })).await;
    let (other, _) = world.another_company(&[]).await;
    world.operator_of(other, "eve@other.example", Role::Owner).await;
    let mut tab = world.tab();
    tab.sign_in("eve@other.example", crate::support::console::PASSWORD).await;
    tab.open("/console/records/fleet/orders").await.says_nothing_of("A-1");
    assert_eq!(tab.open(&format!("/console/records/fleet/orders/{}", id(&order))).await.status, 404);
    tab.open("/console/search?q=A-1").await.says("Nothing is called exactly");
}
