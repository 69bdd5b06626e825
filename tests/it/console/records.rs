//! Lists, details and forms that are drawn from declarations.

use portico::operators::Role;
use serde_json::json;

use crate::support::World;
use crate::support::fleet::id;

#[tokio::test]
async fn a_record_is_created_found_changed_and_deleted() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Support).await;
    tab.open("/console/records/fleet/drivers").await.says("There is nothing here yet.").says("New driver");
    tab.open("/console/records/fleet/drivers/new").await.says("name=\"name\"");
    let made = tab.send("/console/records/fleet/drivers/new", &[("name", "Ada Lovelace"), ("email", "ada@drivers.example")]).await;
    made.says("Created.").says("Ada Lovelace");
    let page = made.address.split('?').next().unwrap().to_owned();

    tab.open("/console/records/fleet/drivers").await.says("Ada Lovelace");
    let changed = tab.edit(&page, &[("name", "Ada King")]).await;
    changed.says("Saved.").says("Ada King").says("ada@drivers.example");
    tab.edit(&page, &[]).await.says("Nothing was changed.");

    tab.open(&format!("{page}/delete")).await.says("Delete “Ada King”?");
    tab.send(&format!("{page}/delete"), &[]).await.says("Deleted.").says_nothing_of("Ada King");
    assert_eq!(tab.open(&page).await.status, 404);
}

#[tokio::test]
async fn what_nobody_has_touched_stays_as_it_is() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let order = json!({ "internal_id": "A-1", "driver": id(&driver), "scheduled_at": "2026-05-22T08:00:00.123Z", "notes": "two\nlines" });
    let order = world.order(order).await;
    let mut tab = world.signed_in(Role::Support).await;
    let page = format!("/console/records/fleet/orders/{}", id(&order));
    tab.edit(&page, &[("type", "parcel")]).await.says("Saved.");
    let after = world.fleet_list(&format!("orders/{}", id(&order))).await["order"].take();
    assert_eq!(after["type"], "parcel");
    for field in ["driver_assigned", "scheduled_at", "notes", "internal_id"] {
        assert_eq!(after[field], order[field], "{field}");
    }
}

#[tokio::test]
async fn two_who_change_a_record_do_not_overwrite_each_other_unseen() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let mut tab = world.signed_in(Role::Support).await;
    let page = format!("/console/records/fleet/drivers/{}", id(&driver));
    let form = tab.form(&page).await;
    world.change_driver(&driver, json!({ "name": "Ada King", "email": "ada@drivers.example" })).await;

    // Of another field, both changes stay.
    tab.post(&page, &form, &[("phone", "+12015550123")]).await.says("Saved.").says("Ada King");
    // Of the same field, the second is told of the first, and may still have it their way.
    let refused = tab.post(&page, &form, &[("name", "Ada Byron")]).await;
    assert_eq!(refused.status, 422);
    refused.says("Somebody has changed this meanwhile to “Ada King”.").says("Ada Byron");
    let form = crate::support::console::fields(&refused);
    tab.post(&page, &form, &[]).await.says("Saved.").says("Ada Byron").says("ada@drivers.example");
}

#[tokio::test]
async fn a_new_record_has_its_defaults_unless_somebody_says_otherwise() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    let new = "/console/records/inventory/warehouses/new";
    let form = tab.open(new).await;
    let made =
        tab.send(new, &crate::support::console::with(&crate::support::console::fields(&form), &[("name", "North"), ("code", "N-1")])).await;
    made.says("Created.");
    assert_eq!(world.count("select count(*) from declared_records where data->>'active' = 'true'").await, 1);
}

#[tokio::test]
async fn every_error_stands_beside_its_field_and_nothing_is_entered_twice() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    tab.open("/console/records/fleet/vehicles/new").await;
    let fields = [("name", "Van 1"), ("meta", "no object"), ("driver", "driver_00000000000000000000000001")];
    let refused = tab.send("/console/records/fleet/vehicles/new", &fields).await;
    assert_eq!(refused.status, 422);
    refused.says("This must be a JSON object.").says("no object").says("Van 1");
    let fields = [("name", "Van 1"), ("driver", "driver_00000000000000000000000001")];
    let refused = tab.send("/console/records/fleet/vehicles/new", &fields).await;
    refused.says("There is no such driver.").says("Van 1");
    assert_eq!(world.count("select count(*) from vehicles").await, 0);
}

#[tokio::test]
async fn filters_and_pages_are_addresses() {
    let world = World::new().await;
    for number in 0..30 {
        world.order(json!({ "internal_id": format!("A-{number:02}") })).await;
    }
    let mut tab = world.signed_in(Role::Viewer).await;
    let first = tab.open("/console/records/fleet/orders?status=created&nonsense=1").await;
    let older = first.between("rel=\"next\" href=\"", "\"").replace("&#38;", "&").replace("&amp;", "&");
    assert!(older.contains("status=created") && older.contains("after=") && !older.contains("nonsense"), "{older}");
    let second = tab.open(&older).await;
    let on = |page: &str| (0..30).filter(|number| page.contains(&format!("A-{number:02}"))).count();
    assert_eq!((on(&first.html), on(&second.html)), (25, 5));
    tab.open("/console/records/fleet/orders?status=completed").await.says("Nothing matches these filters.");
    tab.open("/console/records/fleet/orders?driver=nobody").await.says("refusal");
    let found = tab.open("/console/search?q=A-07").await;
    assert_eq!(found.address, "/console/records/fleet/orders?internal_id=A-07");
    found.says("A-07").says_nothing_of("A-08");
}

#[tokio::test]
async fn the_console_speaks_german_to_those_who_want_it() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    tab.open("/console").await.says("Overview");
    let shown = tab.send("/console/preferences", &[("language", "de"), ("theme", "dark"), ("here", "/console/records/fleet/orders")]).await;
    assert_eq!(shown.address, "/console/records/fleet/orders");
    shown.says("<html lang=\"de\" data-theme=\"dark\">").says("Aufträge").says("Hier ist noch nichts.");
}
