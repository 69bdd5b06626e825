//! References of declared records: the referenced record must exist and belong to the same company.

use std::pin::pin;

use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::declared::garden;
use crate::declared::records::{ask, warehouse};
use crate::resources::every_resource::of_every_resource_in;
use crate::support::World;
use crate::support::customers::EMAIL;
use crate::support::fleet::{id, uuid};
use crate::support::routes::RESOURCES;

#[tokio::test]
async fn references_lead_to_live_records_of_the_same_company() {
    let world = World::new().await;
    let (_, other) = world.another_company(&[Scope::Admin]).await;
    let theirs = world.request(Method::POST, "/inventory/int/v1/warehouses").key(&other).json(&json!({ "name": "x", "code": "X" }));
    let foreign = theirs.send().await.ok(201)["warehouse"].take();
    let own = warehouse(&world, "HAM").await;
    let item = |warehouse: &Value| json!({ "sku": "MUG", "quantity": 1, "warehouse": warehouse });
    let create = |body: Value| ask(&world, Method::POST, "inventory/int/v1/stock-items").json(&body).send();
    let ticket = ask(&world, Method::POST, "support/int/v1/tickets").json(&json!({ "subject": "Hm" })).send().await.ok(201);
    let (nobody, order) = (json!("record_01h455vb4pex5vsknk084sn02q"), json!("order_01h455vb4pex5vsknk084sn02q"));
    for wrong in [&foreign["id"], &ticket["ticket"]["id"], &nobody, &order, &json!("x")] {
        assert!(create(item(wrong)).await.refused(422, "body_invalid")["fields"].get("warehouse").is_some());
    }
    let made = create(item(&own["id"])).await.ok(201)["stock_item"].take();
    ask(&world, Method::DELETE, &format!("inventory/int/v1/warehouses/{}", id(&own))).send().await.ok(200);
    create(item(&own["id"])).await.refused(422, "body_invalid");
    // Existing references stay valid.
    let path = format!("inventory/int/v1/stock-items/{}", id(&made));
    ask(&world, Method::PUT, &path).json(&json!({ "quantity": 2 })).send().await.ok(200);

    let order = world.order(json!({})).await;
    let customer = world.register(EMAIL).await["customer"]["id"].clone();
    let ticket = json!({ "subject": "Where is it?", "order": order["uuid"], "customer": customer });
    let ticket = ask(&world, Method::POST, "support/int/v1/tickets").json(&ticket).send().await.ok(201)["ticket"].take();
    assert_eq!((&ticket["order"], &ticket["customer"], &ticket["priority"]), (&order["id"], &customer, &json!(3)));
    let of_the_order = ask(&world, Method::GET, &format!("support/int/v1/tickets?order={}", id(&order))).send().await.ok(200);
    assert_eq!(of_the_order["tickets"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_referred_to_is_there_when_the_reference_is_committed() {
    let world = World::new().await;
    let own = warehouse(&world, "HAM").await;
    let mut deleting = world.hold().await;
    sqlx::query("update declared_records set deleted_at = now() where id = $1").bind(uuid(&own)).execute(&mut *deleting).await.unwrap();
    let item = json!({ "sku": "MUG", "quantity": 1, "warehouse": own["id"] });
    let mut create = pin!(ask(&world, Method::POST, "inventory/int/v1/stock-items").json(&item).send());
    tokio::select! {
        answer = &mut create => panic!("the request did not wait for the lock: {answer:?}"),
        () = world.somebody_waits() => {}
    }
    deleting.commit().await.unwrap();
    create.await.refused(422, "body_invalid");
}

/// Every built-in kind of record can be referenced: a pot has a member for each.
#[tokio::test]
async fn every_kind_can_be_referred_to() {
    let is_declared = |namespace: &str| ["inventory", "support"].contains(&namespace);
    let kinds = RESOURCES.iter().filter(|(namespace, ..)| !is_declared(namespace));
    let kinds: Vec<_> = kinds.map(|(namespace, plural, _)| (member(namespace, plural), format!("{namespace}/{plural}"))).collect();
    let of_each = |written: fn(&(String, String)) -> String| kinds.iter().map(written).collect::<Vec<_>>().join(", ");
    let directory = garden(&format!(
        r#"
        namespace = "garden"
        [resources.pots]
        singular = "pot"
        version = 1
        description = "A pot."
        filters = [{}]
        references = {{ {} }}
        schema = {{ type = "object", properties = {{ {} }} }}
        sample = {{}}
        "#,
        of_each(|(member, _)| format!(r#""{member}""#)),
        of_each(|(member, kind)| format!(r#"{member} = "{kind}""#)),
        of_each(|(member, _)| format!(r#"{member} = {{ type = "string" }}"#)),
    ));
    let world = World::with(&[("extensions.directory", directory.path().to_str().unwrap())]).await;
    world.state.declared.take_schemas().await.unwrap();
    of_every_resource_in(world, move |resource| {
        Box::pin(async move {
            if is_declared(resource.namespace) {
                return;
            }
            let (world, record) = (resource.world, resource.record().await);
            let (_, other) = world.another_company(&Scope::ALL).await;
            let member = member(resource.namespace, resource.plural);
            let member = member.as_str();
            let pot = json!({ member: record["uuid"] });
            let create = |key: &str| world.request(Method::POST, "/garden/int/v1/pots").key(key).json(&pot).send();
            assert_eq!(create(&world.api_key).await.ok(201)["pot"][member], record["id"], "{member}");
            create(&other).await.refused(422, "body_invalid");
            let found = world.api(Method::GET, &format!("/garden/int/v1/pots?{member}={}", id(&record))).send().await.ok(200);
            assert_eq!(found["pots"].as_array().unwrap().len(), 1, "{member}");
        })
    })
    .await;
}

/// The member of a pot that refers to this kind.
fn member(namespace: &str, plural: &str) -> String {
    format!("{namespace}_{plural}").replace('-', "_")
}
