//! Owners of webhooks and events, and their links to the portal.

use portico::callers::Caller;
use portico::kernel::client_address::ClientAddress;
use portico::kernel::ids::EventId;
use portico::portal::LinkKey;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::receiver::Receiver;

impl World {
    /// An endpoint of an owner that subscribes to all events.
    pub async fn subscriber_of(&self, name: &str, owner: &str) -> (Receiver, Value) {
        let receiver = self.endpoint(name).await;
        let webhook = self.subscribe(&receiver, json!({ "owner": owner, "description": format!("Of {name}") })).await;
        (receiver, webhook)
    }

    /// Publishes an event for an owner, whose data says `note`.
    pub async fn publish_to(&self, owner: Option<&str>, note: &str) -> EventId {
        let mut data = self.state.developers.catalogue.find("order.created").unwrap().sample.clone();
        data["meta"] = json!({ "note": note });
        let body = json!({ "event": "order.created", "data": data, "owner": owner });
        let published = self.developers(Method::POST, "events", body).await.ok(201);
        published["event"]["id"].as_str().unwrap().parse().unwrap()
    }

    /// A link for an owner, with its key and path.
    pub async fn portal_link(&self, owner: &str) -> Value {
        self.developers(Method::POST, "portal-links", json!({ "owner": owner })).await.ok(201)["portal_link"].take()
    }

    /// Somebody who has opened a link for an owner.
    pub async fn portal_caller(&self, owner: &str) -> Caller {
        let link = self.portal_link(owner).await;
        let key = LinkKey::claimed(link["key"].as_str().unwrap());
        let token = self.state.portal.open(&key, ClientAddress::of_this_process()).await.unwrap();
        self.state.portal.find_session(&token, ClientAddress::of_this_process()).await.unwrap().unwrap().caller(None)
    }
}
