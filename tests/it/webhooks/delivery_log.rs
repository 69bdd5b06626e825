//! The log of deliveries is narrowed and searched: decisions, section 7.

use chrono::TimeDelta;
use portico::callers::Scope;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::receiver::Reply;

#[tokio::test]
async fn the_log_is_narrowed_and_searched_within_one_webhook() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(500)]);
    let mut ids = Vec::new();
    for (event, note) in [("order.created", "ünïcode ☂"), ("order.updated", "100% wool"), ("driver.online", "100 wool")] {
        let mut body = json!({ "event": event, "data": world.state.developers.catalogue.find(event).unwrap().sample });
        body["data"]["meta"]["note"] = json!(note);
        ids.push(world.developers(Method::POST, "events", body).await.ok(201)["event"]["id"].take());
        world.deliver().await;
        world.pass(TimeDelta::minutes(1));
    }
    let webhook = webhook["id"].as_str().unwrap();
    let found = async |query: &str| -> Vec<Value> {
        let list = world.get(&format!("deliveries?sort=created_at&{query}")).await;
        list["deliveries"].as_array().unwrap().iter().map(|delivery| delivery["event_id"].clone()).collect()
    };
    assert_eq!(found(&format!("webhook={webhook}&status=delivered")).await, ids[1..]);
    assert_eq!(found("status=retrying").await, ids[..1]);
    assert_eq!(found("event=driver.online").await, ids[2..]);
    assert_eq!(found(&format!("event_id={}", ids[1].as_str().unwrap())).await, ids[1..2]);
    assert_eq!(found("created_after=2026-05-21T10:15:30Z&created_before=2026-05-21T10:16:30Z").await, ids[1..2]);
    assert_eq!(found(&format!("webhook={webhook}&query=%C3%BCn%C3%AFCODE+%E2%98%82")).await, ids[..1]);
    assert_eq!(found(&format!("webhook={webhook}&query=100%25+wool")).await, ids[1..2]);
    assert_eq!(found(&format!("webhook={webhook}&query=wool&event=driver.online")).await, ids[2..]);
    world.developers(Method::GET, "deliveries?query=wool", json!({})).await.refused(422, "parameter_invalid");
}

#[tokio::test]
async fn every_status_can_be_looked_for_and_each_delivery_shows_when_it_was_tried() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let failed = world.fail(&receiver, "order.created").await;
    let started: Vec<_> = failed["attempts"].as_array().unwrap().iter().map(|attempt| attempt["started_at"].as_str().unwrap()).collect();
    let expected = ["11:15:00", "11:20:00", "11:50:00", "13:50:00", "21:50:00"].map(|time| format!("2026-05-21T{time}.000+00:00"));
    assert_eq!(started, expected);

    let publish = async || {
        world.pass(TimeDelta::seconds(1));
        world.publish("order.updated").await
    };
    let tried = async || {
        publish().await;
        world.deliver().await;
        world.last_delivery().await
    };
    receiver.will([Reply::status(500), Reply::status(500)]);
    let cancelled = tried().await;
    let cancel = format!("deliveries/{}/cancel", cancelled["id"].as_str().unwrap());
    world.developers(Method::POST, &cancel, json!({})).await.ok(200);
    let retrying = tried().await;
    assert_eq!(retrying["next_attempt_at"], "2026-05-21T21:55:02.000+00:00", "five minutes after its attempt");
    let delivered = tried().await;
    publish().await;
    world.fan_out().await;
    let pending = world.last_delivery().await;
    for (status, delivery) in
        [("failed", failed), ("cancelled", cancelled), ("retrying", retrying), ("delivered", delivered), ("pending", pending)]
    {
        let mut found = world.get(&format!("deliveries?status={status}")).await["deliveries"].take();
        let found: Vec<_> = found.as_array_mut().unwrap().iter_mut().map(|delivery| delivery["id"].take()).collect();
        assert_eq!(found, [delivery["id"].clone()], "{status}");
    }
}

#[tokio::test]
async fn a_search_goes_on_where_a_page_of_it_ended() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    let needle = world.publish("order.updated").await;
    world.deliver().await;
    world.pass(TimeDelta::seconds(1));
    world.publish("order.created").await;
    world.deliver().await;
    let many = "insert into deliveries (id, company_id, subscription_id, event_id, event, state, attempts, created_at, closed_at)
                select gen_random_uuid(), company_id, subscription_id, event_id, event, state, attempts, created_at, closed_at
                from deliveries, generate_series(1, 6000) where event = 'order.created'";
    sqlx::query(many).execute(&world.pool).await.unwrap();
    let path = format!("deliveries?webhook={}&query=Ring+three", webhook["id"].as_str().unwrap());
    let first = world.get(&path).await;
    assert_eq!(first["deliveries"], json!([]), "not among the first records that the search reads");
    let next = first["meta"]["next"].as_str().unwrap();
    let second = world.get(&format!("{path}&after={next}")).await;
    assert_eq!((&second["deliveries"][0]["event_id"], &second["meta"]["next"]), (&json!(needle), &json!(null)));
}

#[tokio::test]
async fn whoever_may_only_read_sees_no_signature_with_which_a_request_could_be_repeated() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    let path = format!("/developers/int/v1/deliveries/{}", world.last_delivery().await["id"].as_str().unwrap());
    let sent = receiver.received();
    for (scopes, shown) in [(&[Scope::Read][..], false), (&[Scope::Read, Scope::Write], true), (&[Scope::Admin], true)] {
        let key = world.key_of(world.company, scopes).await;
        let mut delivery = world.request(Method::GET, &path).key(&key).send().await.ok(200)["delivery"].take();
        let headers = delivery["attempts"][0]["request_headers"].take();
        for name in ["x-service-signature", "webhook-signature"] {
            assert_eq!(headers[name], if shown { sent[0].header(name) } else { "********" }, "{scopes:?}");
        }
        assert_eq!(headers["webhook-id"], sent[0].header("webhook-id"));
    }
    // An operator likewise: a viewer reads webhooks, a developer changes them.
    for (role, shown) in [(Role::Viewer, false), (Role::Developer, true)] {
        let mut tab = world.signed_in(role).await;
        let page = tab.open(&path.replace("/developers/int/v1", "/console")).await;
        assert_eq!(page.html.contains(sent[0].header("x-service-signature")), shown, "{role:?}");
    }
}
