//! An example body of every kind of record, and bodies that change it.

use chrono::TimeDelta;
use portico::kernel::clock::timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::resources::every_resource::Resource;
use crate::support::customers::{EMAIL, PHONE};
use crate::support::fleet::id;
use crate::support::gateways::paid;

impl Resource<'_> {
    /// The body that creates a record; `None` for kinds that the service creates, of which one then exists.
    pub async fn example(&self) -> Option<Value> {
        let world = self.world;
        let body = match (self.namespace, self.plural) {
            ("fleet", "orders") => json!({}),
            ("fleet", "drivers" | "vehicles" | "fleets") => json!({ "name": "North" }),
            ("fleet", "issues") => json!({ "report": "Flat tyre" }),
            ("fleet", "proofs") => json!({ "order": id(&world.order(json!({})).await), "data": "M0 0L9 9" }),
            ("fleet", "tracking-statuses") => json!({ "order": id(&world.order(json!({})).await), "status": "at_the_depot" }),
            ("developers", "webhooks") => {
                world.resolver.insert("hooks.example", &["127.0.0.1".parse().unwrap()]);
                json!({ "url": "https://hooks.example:8443/" })
            }
            ("storefront", "stores") => json!({ "name": "Outlet" }),
            ("storefront", "test-identities") => {
                let ends = timestamp(world.clock.now() + TimeDelta::days(30));
                json!({ "store": world.store, "identity": "review@example.com", "code": "424242", "expires_at": ends })
            }
            ("storefront", "identity-providers") => {
                world.resolver.insert("id.example", &["127.0.0.1".parse().unwrap()]);
                json!({ "name": "own-id", "issuers": ["own"], "audiences": ["shop"], "jwks_url": "https://id.example:8443/keys" })
            }
            ("storefront", "registration-hooks") => {
                world.resolver.insert("hooks.example", &["127.0.0.1".parse().unwrap()]);
                let (store, _) = world.another_store().await;
                json!({ "store": store, "url": "https://hooks.example:8443/" })
            }
            ("storefront", "message-providers") => {
                let account = json!({ "account_sid": "AC7", "from": "+15005550006" });
                json!({ "channel": "sms", "kind": "twilio", "settings": account, "secret": "own-secret" })
            }
            ("storefront", "message-wordings") => json!({ "language": "de", "messages": {} }),
            ("developers", "api-keys") => json!({ "name": "Reports", "scopes": ["read"] }),
            ("developers", "operators") => json!({ "email": "eve@acme.example", "role": "viewer" }),
            ("developers", "portal-links") => json!({ "owner": "tenant-7" }),
            ("ledger", "gateways") => json!({ "name": "Cash", "driver": "manual" }),
            ("ledger", "callbacks" | "payments") => {
                let gateway = world.card().await;
                world.call_back(&gateway, &paid("evt_1")).await.ok(200);
                return None;
            }
            ("fleet", "tracking-numbers") | ("developers", "events") => {
                world.order(json!({})).await;
                return None;
            }
            ("developers", "deliveries") => {
                let (_receiver, webhook) = world.subscriber("hooks.example").await;
                world.developers(Method::POST, &format!("webhooks/{}/test", id(&webhook)), json!({})).await.ok(201);
                return None;
            }
            ("developers", "changes") => {
                // The newest change is one that has a caller with an id.
                world.pass(TimeDelta::milliseconds(1));
                world.developers(Method::POST, "api-keys", json!({ "name": "Reports", "scopes": ["read"] })).await.ok(201);
                return None;
            }
            ("developers", "replays") => {
                let (_receiver, webhook) = world.subscriber("hooks.example").await;
                let since = json!({ "since": world.clock.now() });
                world.developers(Method::POST, &format!("webhooks/{}/replay", id(&webhook)), since).await.ok(202);
                return None;
            }
            ("storefront", "customers" | "tokens" | "sign-ins") => {
                world.register(EMAIL).await;
                return None;
            }
            ("storefront", "texts") => {
                world.register(PHONE).await;
                return None;
            }
            ("inventory", "warehouses") => json!({ "name": "Harbour", "code": "HAM-1" }),
            ("inventory", "stock-items") => {
                let harbour = json!({ "name": "Harbour", "code": "HAM-1" });
                let made = world.api(Method::POST, "/inventory/int/v1/warehouses").json(&harbour).send().await.ok(201);
                json!({ "sku": "MUG", "warehouse": id(&made["warehouse"]), "quantity": 3 })
            }
            ("support", "tickets") => json!({ "subject": "Where is it?" }),
            (namespace, plural) => panic!("{namespace}/int/v1/{plural} needs an example here"),
        };
        Some(body)
    }

    /// A body that changes a record, different for each `time`.
    pub(super) fn change(&self, time: u8) -> Value {
        let text = format!("TEXT-{time}");
        let member = match self.plural {
            "orders" => "notes",
            "issues" => "title",
            "proofs" => "remarks",
            "tracking-numbers" => "tracking_number",
            "tracking-statuses" => "details",
            "webhooks" => "description",
            "stock-items" => return json!({ "quantity": 100 + i32::from(time) }),
            "tickets" => "subject",
            "test-identities" => return json!({ "code": format!("{time:06}") }),
            "registration-hooks" => return json!({ "url": format!("https://hooks.example:8443/{time}") }),
            "identity-providers" => return json!({ "audiences": [text] }),
            "message-wordings" => return json!({ "messages": { "sign_in": { "subject": text } } }),
            "message-providers" => return json!({ "settings": { "account_sid": "AC7", "from": text } }),
            _ => "name",
        };
        json!({ member: text })
    }
}
