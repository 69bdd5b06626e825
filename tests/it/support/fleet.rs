//! A shop with drivers and orders, and the events about them.

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::request::Request;
use crate::support::{Answer, World};

/// An event as its subscribers receive it.
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

    /// The whole response of a list.
    pub async fn fleet_list(&self, path: &str) -> Value {
        self.fleet(Method::GET, path).send().await.ok(200)
    }

    /// Creates a record.
    pub async fn create(&self, plural: &str, body: Value) -> Value {
        only_member(self.fleet(Method::POST, plural).json(&body).send().await.ok(201))
    }

    /// Changes a record and returns it.
    pub async fn change(&self, plural: &str, record: &Value, body: Value) -> Value {
        only_member(self.fleet(Method::PUT, &format!("{plural}/{}", id(record))).json(&body).send().await.ok(200))
    }

    /// Creates an order.
    pub async fn order(&self, body: Value) -> Value {
        self.create("orders", body).await
    }

    /// Creates a driver.
    pub async fn driver(&self, name: &str) -> Value {
        self.create("drivers", json!({ "name": name })).await
    }

    /// Creates a vehicle.
    pub async fn vehicle(&self, name: &str) -> Value {
        self.create("vehicles", json!({ "name": name })).await
    }

    /// Changes an order and returns it.
    pub async fn change_order(&self, order: &Value, body: Value) -> Value {
        self.change("orders", order, body).await
    }

    /// Changes a driver and returns it.
    pub async fn change_driver(&self, driver: &Value, body: Value) -> Value {
        self.change("drivers", driver, body).await
    }

    /// Tries to delete a record.
    pub async fn delete(&self, plural: &str, record: &Value) -> Answer {
        self.fleet(Method::DELETE, &format!("{plural}/{}", id(record))).send().await
    }

    /// The fields of a body that are refused, which must be the only errors.
    pub async fn refused_members(&self, method: Method, path: &str, body: &Value) -> Vec<String> {
        let refusal = self.fleet(method, path).json(body).send().await.refused(422, "body_invalid");
        assert!(!refusal["detail"].as_str().unwrap().ends_with(".."), "{refusal}");
        refusal["fields"].as_object().unwrap_or_else(|| panic!("{body}: {refusal}")).keys().cloned().collect()
    }

    /// The ids in a list, in order.
    pub async fn listed(&self, path: &str) -> Vec<String> {
        let list = self.fleet_list(path).await;
        let records = list.as_object().unwrap().values().next().unwrap().as_array().unwrap();
        records.iter().map(|record| id(record).to_owned()).collect()
    }

    /// Runs `doing` one second later, and returns the events that it published, sorted by name.
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

    /// The names of the events that `doing` published.
    pub async fn published_names<T>(&self, doing: impl Future<Output = T>) -> Vec<String> {
        self.published(doing).await.1.into_iter().map(|event| event.name).collect()
    }
}

/// The record in a response, which is its only field.
fn only_member(mut answer: Value) -> Value {
    let members = answer.as_object_mut().unwrap();
    assert_eq!(members.len(), 1, "{members:?}");
    members.values_mut().next().unwrap().take()
}

/// The names of the events.
pub fn names(events: &[Published]) -> Vec<&str> {
    events.iter().map(|event| event.name.as_str()).collect()
}

/// The id of a record.
pub fn id(record: &Value) -> &str {
    record["id"].as_str().unwrap()
}

/// The bare UUID of a record.
pub fn uuid(record: &Value) -> Uuid {
    record["uuid"].as_str().unwrap().parse().unwrap()
}

/// Requests another status for an order.
pub async fn to(world: &World, order: &Value, status: &str) -> Answer {
    world.fleet(Method::PUT, &format!("orders/{}", id(order))).json(&json!({ "status": status })).send().await
}
