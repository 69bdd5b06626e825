//! Proofs of delivery: decisions, section 9; interface 2, Events (proof_of_delivery.created).

use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::fleet::{id, names, uuid};

#[tokio::test]
async fn a_proof_is_published_once_and_without_the_captured_data() {
    let world = World::new().await;
    let order = world.order(json!({})).await;
    let strokes = "<svg>…</svg>".repeat(5000);
    let body = json!({ "order": id(&order), "type": "signature", "remarks": "Left with\na neighbour", "data": strokes });
    let (proof, events) = world.published(world.create("proofs", body)).await;
    assert_eq!((names(&events), events[0].subject), (vec!["proof_of_delivery.created"], uuid(&proof)));
    assert_eq!(
        proof,
        json!({
            "id": id(&proof), "uuid": uuid(&proof), "order": id(&order), "type": "signature", "remarks": "Left with\na neighbour",
            "file_url": null, "latitude": null, "longitude": null, "captured_at": proof["created_at"],
            "tracking_number": order["tracking_number"], "meta": {}, "created_at": proof["created_at"], "updated_at": proof["created_at"],
        })
    );
    assert_eq!((&events[0].data["order"], events[0].data.get("data")), (&order["id"], None));
    let found = world.fleet(Method::GET, &format!("proofs/{}", id(&proof))).send().await.ok(200);
    assert_eq!(found["proof"]["data"], strokes);
}

#[tokio::test]
async fn a_proof_stays_as_it_was_captured() {
    let world = World::new().await;
    let (order, other) = (world.order(json!({})).await, world.order(json!({})).await);
    let captured_at = "2026-05-21T09:00:00.000+00:00";
    let body = json!({ "order": id(&order), "file_url": "https://files.example.com/1.png", "captured_at": captured_at, "latitude": 1, "longitude": 2 });
    let proof = world.create("proofs", body.clone()).await;
    assert_eq!((&proof["type"], &proof["captured_at"]), (&json!("photo"), &json!(captured_at)));
    let path = format!("proofs/{}", id(&proof));
    for (body, member) in [
        (json!({ "order": id(&other) }), "order"),
        (json!({ "type": "scan" }), "type"),
        (json!({ "file_url": "https://files.example.com/2.png" }), "file_url"),
        (json!({ "data": "forged" }), "data"),
        (json!({ "captured_at": null }), "captured_at"),
        (json!({ "latitude": 3 }), "latitude"),
    ] {
        assert_eq!(world.refused_members(Method::PUT, &path, &body).await, [member], "{body}");
    }
    let (changed, events) = world.published(world.change("proofs", &proof, json!({ "remarks": "Second floor", "meta": { "a": 1 } }))).await;
    assert_eq!((&changed["remarks"], events.len()), (&json!("Second floor"), 0));
    assert!(world.published_names(world.change("proofs", &proof, body)).await.is_empty());
    assert!(world.published_names(world.delete("proofs", &proof)).await.is_empty());
}

#[tokio::test]
async fn bad_members_are_refused_by_name() {
    let world = World::new().await;
    let order = world.order(json!({})).await;
    let file = "https://files.example.com/1.png";
    for (body, member) in [
        (json!({ "file_url": file }), "order"),
        (json!({ "order": null, "file_url": file }), "order"),
        (json!({ "order": "order_01h455vb4pex5vsknk084sn02q", "file_url": file }), "order"),
        (json!({ "order": id(&order) }), "file_url"),
        (json!({ "order": id(&order), "remarks": "believe me" }), "file_url"),
        (json!({ "order": id(&order), "file_url": "files/1.png" }), "file_url"),
        (json!({ "order": id(&order), "file_url": "javascript:alert(1)" }), "file_url"),
        (json!({ "order": id(&order), "data": "x".repeat(65_537) }), "data"),
        (json!({ "order": id(&order), "data": "x", "type": "rumour" }), "type"),
        (json!({ "order": id(&order), "data": "x", "longitude": 1 }), "latitude"),
        (json!({ "order": id(&order), "data": "x", "tracking_number": "MINE" }), "tracking_number"),
    ] {
        assert_eq!(world.refused_members(Method::POST, "proofs", &body).await, [member], "{body}");
    }
    assert_eq!(world.count("select count(*) from proofs").await, 0);
}

#[tokio::test]
async fn proofs_are_found_by_their_order() {
    let world = World::new().await;
    let (first, second) = (world.order(json!({})).await, world.order(json!({})).await);
    let scan = world.create("proofs", json!({ "order": id(&first), "type": "scan", "data": "4006381333931" })).await;
    let photo = json!({ "order": id(&second), "file_url": "https://files.example.com/1.png", "remarks": "At the gate" });
    let photo = world.create("proofs", photo).await;
    let number = first["tracking_number"].as_str().unwrap();
    for (parameters, expected) in [
        (format!("order={}", id(&second)), &photo),
        (format!("tracking_number={number}"), &scan),
        ("type=scan".to_owned(), &scan),
        ("query=gate".to_owned(), &photo),
    ] {
        assert_eq!(world.listed(&format!("proofs?{parameters}")).await, [id(expected)], "{parameters}");
    }
}
