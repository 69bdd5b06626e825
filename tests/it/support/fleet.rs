//! A shop with drivers and orders, and the events that tell of them.

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::request::Request;
use crate::support::{Answer, World};

/// An event as its subscribers get it.
#[derive(Debug)]
pub struct Published {
    pub name: String,
    pub subject: Uuid,
    pub data: Value,
}

impl World {
    /// A request to `fleet/int/v1`.
    pub fn fleet(&self, method: Method, path: &str) -> Request {
        self.api(method, &format!("/fleet/int/v1/{path}"))
    }

    /// A list, whole answer.
    pub async fn fleet_list(&self, path: &str) -> Value {
        self.fleet(Method::GET, path).send().await.ok(200)
    }

    /// A new order.
    pub async fn order(&self, body: Value) -> Value {
        self.fleet(Method::POST, "orders").json(&body).send().await.ok(201)["order"].take()
    }

    /// A new driver.
    pub async fn driver(&self, name: &str) -> Value {
        self.fleet(Method::POST, "drivers").json(&json!({ "name": name })).send().await.ok(201)["driver"].take()
    }

    /// Changes an order and gives what it became.
    pub async fn change_order(&self, order: &Value, body: Value) -> Value {
        self.fleet(Method::PUT, &format!("orders/{}", id(order))).json(&body).send().await.ok(200)["order"].take()
    }

    /// Changes a driver and gives what they became.
    pub async fn change_driver(&self, driver: &Value, body: Value) -> Value {
        self.fleet(Method::PUT, &format!("drivers/{}", id(driver))).json(&body).send().await.ok(200)["driver"].take()
    }

    /// Does something a second later, and gives the events it published, sorted by name.
    pub async fn published<T>(&self, doing: impl Future<Output = T>) -> (T, Vec<Published>) {
        self.pass(TimeDelta::seconds(1));
        let done = doing.await;
        let sql = "select name, subject_id, body, created_at from events where created_at = $1 order by name";
        let rows: Vec<(String, Uuid, Vec<u8>, DateTime<Utc>)> =
            sqlx::query_as(sql).bind(self.clock.now()).fetch_all(&self.pool).await.unwrap();
        let event = |(name, subject, body, _): (String, Uuid, Vec<u8>, DateTime<Utc>)| {
            let envelope: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(envelope["event"], name);
            Published { name, subject, data: envelope["data"].clone() }
        };
        (done, rows.into_iter().map(event).collect())
    }

    /// The same, for stories that only care what the events are called.
    pub async fn published_names<T>(&self, doing: impl Future<Output = T>) -> Vec<String> {
        self.published(doing).await.1.into_iter().map(|event| event.name).collect()
    }
}

/// The id of a record.
pub fn id(record: &Value) -> &str {
    record["id"].as_str().unwrap()
}

/// The bare UUID of a record.
pub fn uuid(record: &Value) -> Uuid {
    record["uuid"].as_str().unwrap().parse().unwrap()
}

/// Tries to give an order another status.
pub async fn to(world: &World, order: &Value, status: &str) -> Answer {
    world.fleet(Method::PUT, &format!("orders/{}", id(order))).json(&json!({ "status": status })).send().await
}
