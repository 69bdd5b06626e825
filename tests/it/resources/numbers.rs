//! Numbers keep all of their digits on every way: a client's ids and amounts are not ours to round.

use std::fs;

use portico::dev::temporary::TemporaryDirectory;
use reqwest::Method;
use serde_json::Value;

use crate::support::{Answer, World};

/// Numbers beyond the integers of a double, of 64 bits and of any machine.
const NUMBERS: [&str; 7] = [
    "9007199254740993",
    "18446744073709551615",
    "-9223372036854775809",
    "1000000000000000000000000000001",
    "3.14159265358979323846264338327950288",
    "0.10",
    "-0.000000000000000000000000000000000001",
];

impl World {
    /// A request with this very text as its body.
    async fn as_written(&self, method: Method, path: &str, body: &str) -> Answer {
        self.api(method, path).header("content-type", "application/json").body(body.to_owned()).send().await
    }
}

fn list() -> String {
    format!("[{}]", NUMBERS.join(","))
}

#[tokio::test]
async fn numbers_in_the_data_of_a_client_are_stored_shown_and_delivered_digit_by_digit() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let body = format!(r#"{{"payload":{{"pickup":"a","dropoff":"b"}},"meta":{{"ids":{}}}}}"#, list());
    let created = world.as_written(Method::POST, "/fleet/int/v1/orders", &body).await.ok(201)["order"].take();
    let path = format!("/fleet/int/v1/orders/{}", created["id"].as_str().unwrap());
    let found = world.api(Method::GET, &path).send().await;
    let version = found.header("etag").unwrap().to_owned();
    for order in [&created, &found.body["order"]] {
        assert_eq!(order["meta"]["ids"].to_string(), list());
    }

    // The same numbers again are no change, in whatever way they are written.
    let again = format!(r#"{{"meta":{{"ids":{}}}}}"#, list().replace("9007199254740993", "9.007199254740993e15"));
    let same = world.api(Method::PUT, &path).header("if-match", &version).header("content-type", "application/json").body(again);
    assert_eq!(same.send().await.header("etag"), Some(&*version));
    world.as_written(Method::PUT, &path, r#"{"meta":{"ids":[9007199254740992]}}"#).await.ok(200);
    assert_ne!(world.api(Method::GET, &path).send().await.header("etag"), Some(&*version));

    world.deliver().await;
    let bodies: Vec<Value> = receiver.received().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    let order = bodies.iter().find(|body| body["event"] == "order.created").unwrap();
    assert_eq!(order["data"]["meta"]["ids"].to_string(), list());
    let event = format!("/developers/int/v1/events/{}", order["id"].as_str().unwrap());
    assert_eq!(world.api(Method::GET, &event).send().await.ok(200)["event"]["data"]["meta"]["ids"].to_string(), list());
    let changes = bodies.iter().filter(|body| body["event"] == "order.updated").count();
    assert_eq!(changes, 1);
}

#[tokio::test]
async fn numbers_of_declared_records_and_published_events_keep_their_digits_and_are_validated_with_them() {
    let directory = TemporaryDirectory::make("numbers").unwrap();
    let text = "namespace = 'bank'\n[resources.accounts]\nsingular = 'account'\nversion = 1\ndescription = 'An account.'\nfilters = ['number']\n\
                [resources.accounts.schema]\ntype = 'object'\nrequired = ['number']\n\
                [resources.accounts.schema.properties]\nnumber = { type = 'integer', maximum = 9007199254740993 }\nbalance = { type = 'number' }\n\
                [resources.accounts.sample]\nnumber = 1\n";
    fs::write(directory.path().join("bank.toml"), text).unwrap();
    let world = World::with(&[("extensions.directory", directory.path().to_str().unwrap())]).await;
    world.state.declared.take_schemas().await.unwrap();
    let (receiver, _) = world.subscriber("shop.test").await;
    let accounts = "/bank/int/v1/accounts";
    let body = r#"{"number":9007199254740993,"balance":-123456789012345678901234567890.01}"#;
    let created = world.as_written(Method::POST, accounts, body).await.ok(201)["account"].take();
    let found = world.api(Method::GET, &format!("{accounts}/{}", created["id"].as_str().unwrap())).send().await.ok(200)["account"].take();
    for account in [created, found] {
        assert_eq!(account["number"].to_string(), "9007199254740993");
        assert_eq!(account["balance"].to_string(), "-123456789012345678901234567890.01");
    }
    world.as_written(Method::POST, accounts, r#"{"number":9007199254740994}"#).await.refused(422, "body_invalid");
    world.as_written(Method::POST, accounts, r#"{"number":9007199254740993.5}"#).await.refused(422, "body_invalid");

    let mut sample = world.state.developers.catalogue.find("order.created").unwrap().sample.clone();
    sample["meta"] = serde_json::from_str(&format!(r#"{{"ids":{}}}"#, list())).unwrap();
    let body = format!(r#"{{"event":"order.created","data":{}}}"#, Value::Object(sample));
    world.as_written(Method::POST, "/developers/int/v1/events", &body).await.ok(201);
    world.deliver().await;
    let delivered: Vec<_> = receiver.received().into_iter().map(|request| String::from_utf8(request.body.to_vec()).unwrap()).collect();
    assert!(delivered.iter().any(|body| body.contains(r#""number":9007199254740993"#)), "{delivered:?}");
    assert!(delivered.iter().any(|body| body.contains(&format!(r#""ids":{}"#, list()))), "{delivered:?}");
}

#[tokio::test]
async fn a_number_that_cannot_be_kept_is_refused_and_never_rounded() {
    let world = World::new().await;
    for beyond in ["1e309", "1e130000", "1e-400", &"9".repeat(401)] {
        let body = format!(r#"{{"payload":{{"pickup":"a","dropoff":"b"}},"meta":{{"number":{beyond}}}}}"#);
        let refused = world.as_written(Method::POST, "/fleet/int/v1/orders", &body).await.refused(422, "body_invalid");
        assert!(refused["detail"].as_str().unwrap().contains("400 digits"), "{refused}");
    }
    assert_eq!(world.count("select count(*) from orders").await, 0);
}

#[tokio::test]
async fn a_request_whose_body_did_not_arrive_creates_and_changes_nothing() {
    let world = World::new().await;
    let orders = "/fleet/int/v1/orders";
    world.api(Method::POST, orders).send().await.refused(400, "json_invalid");
    assert_eq!(world.count("select count(*) from orders").await, 0);
    let order = world.as_written(Method::POST, orders, "{}").await.ok(201)["order"].take();
    let path = format!("{orders}/{}", order["id"].as_str().unwrap());
    world.api(Method::PUT, &path).send().await.refused(400, "json_invalid");
    world.as_written(Method::PUT, &path, "{}").await.ok(200);
    // What is missing is named where something must be there.
    let refused = world.api(Method::POST, "/developers/int/v1/events").send().await;
    assert!(refused.status >= 400 && refused.status < 500, "{refused:?}");
    // A route that does something by itself needs none, and the documentation says of each.
    let (_, webhook) = world.subscriber("shop.test").await;
    world.api(Method::POST, &format!("/developers/int/v1/webhooks/{}/test", webhook["id"].as_str().unwrap())).send().await.ok(201);
    let document = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    let required = |path: &str| &document["paths"][path]["post"]["requestBody"]["required"];
    assert_eq!((required(orders), required("/developers/int/v1/webhooks/{uuid}/test")), (&Value::Bool(true), &Value::Bool(false)));
}
