//! From what people write down to the page that has it.

use portico::operators::Role;
use serde_json::json;

use crate::support::World;
use crate::support::fleet::id;
use crate::support::gateways::paid;

#[tokio::test]
async fn an_id_leads_to_its_page() {
    let world = World::new().await;
    let order = world.order(json!({ "internal_id": "A-1" })).await;
    let mut tab = world.signed_in(Role::Viewer).await;
    let found = tab.open(&format!("/console/search?q=%20{}%20", id(&order))).await;
    assert_eq!(found.address, format!("/console/records/fleet/orders/{}", id(&order)));
    found.says("A-1").says("Events about it").says_nothing_of("Changes of it");
}

#[tokio::test]
async fn what_is_written_down_leads_to_the_list_that_has_it() {
    let world = World::new().await;
    let gateway = world.card().await;
    world.call_back(&gateway, &paid("evt_1")).await.ok(200);
    let transaction = world.payment().await["gateway_transaction_id"].as_str().unwrap().to_owned();
    let driver = json!({ "name": "Ada", "email": "ada@drivers.example", "phone": "+12015550199", "license_number": "B-7" });
    world.create("drivers", driver).await;
    world.create("vehicles", json!({ "name": "Van", "plate_number": "HH-AB 7", "vin": "1HGCM82633A004352" })).await;
    let order = world.order(json!({ "internal_id": "A-1" })).await;
    let mut tab = world.signed_in(Role::Owner).await;
    for (wanted, list) in [
        ("A-1", "fleet/orders?internal_id"),
        (order["tracking_number"].as_str().unwrap(), "fleet/orders?tracking_number"),
        ("ada@drivers.example", "fleet/drivers?email"),
        ("+12015550199", "fleet/drivers?phone"),
        ("B-7", "fleet/drivers?license_number"),
        ("HH-AB 7", "fleet/vehicles?plate_number"),
        ("1HGCM82633A004352", "fleet/vehicles?vin"),
        (&transaction, "ledger/payments?gateway_transaction_id"),
        ("order.created", "developers/events?event"),
    ] {
        let query: String = url::form_urlencoded::byte_serialize(wanted.as_bytes()).collect();
        let found = tab.open(&format!("/console/search?q={query}")).await;
        assert_eq!(found.address, format!("/console/records/{list}={query}"), "{wanted}");
    }
    tab.open("/console/search?q=%00%27%22").await.says("Nothing is called exactly");
}
