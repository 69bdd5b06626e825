//! Filters and search: they find the records with the value, and no others.

use reqwest::Method;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::resources::every_resource::{Resource, of_every_resource};
use crate::support::customers::EMAIL;
use crate::support::fleet::id;
use crate::support::gateways::event;
use crate::support::routes::NOBODY;

/// Parameters without a value of their name in the record of this test.
const UNSET: &[(&str, &str, &[&str])] = &[
    // Shown in `driver_assigned` and `payload`; `tests/it/fleet/orders.rs` finds orders by them.
    ("fleet", "orders", &["driver", "query in pickup", "query in dropoff"]),
    // Shown as `gateway_transaction_id`; `tests/it/gateways/documented.rs` finds a payment by it.
    ("ledger", "payments", &["query in transaction_id"]),
    // Not shown; `tests/it/webhooks/delivery_log.rs` finds the deliveries of one webhook, `replaying.rs` its replays.
    ("developers", "deliveries", &["webhook", "subscription"]),
    ("developers", "replays", &["webhook"]),
    // Null here: the customer registered by mail and is unknown to the shop's servers, and the text was sent. `tests/it/storefront` finds customers and texts by them.
    ("storefront", "customers", &["phone", "external_id", "query in phone"]),
    ("storefront", "texts", &["refusal", "rule"]),
    // Null here: the event is about a record of the company; `tests/it/portal/owners.rs` finds events by it.
    ("developers", "events", &["owner"]),
    // Optional fields of declared records, which all have one implementation.
    ("inventory", "stock-items", &["query in title"]),
    ("support", "tickets", &["customer", "order", "query in text"]),
];

/// The parameters of every list.
#[rustfmt::skip]
const EVERYWHERE: [&str; 9] = [
    "limit", "after", "sort", "follow", "query", "created_after", "created_before", "updated_after", "updated_before",
];

/// What a filter expects, and a value that is one and that no record has.
const NOBODYS: &[(&str, &str)] = &[
    ("text", "Nobody"),
    ("text that the field can have", "NOBODY-1"),
    ("a number that the field can have", "4"),
    ("the id of a record", NOBODY),
    ("the id of a request", "01890a5dac96774bbcceb302099a8057"),
    ("a phone number", "+12015550199"),
    ("an email address", "nobody@example.com"),
    ("a phone number or an email address", "nobody@example.com"),
    ("an https URL", "https://nobody.example/"),
    ("a vehicle identification number", "1M8GDM9AXKP042789"),
    ("a tracking number", "NOBODY-1"),
    ("a word such as at_the_depot", "nowhere"),
    ("a word such as password", "nothing"),
    ("signed_in or the code of a problem", "card_not_configured"),
    ("the name of an event such as order.created", "nobody.came"),
    ("the name of a driver", "card"),
    ("the tag of a language", "fr"),
    ("an IP address", "192.0.2.1"),
    ("the beginning of a phone number", "+99"),
    ("a country such as DE", "FJ"),
    ("a currency such as USD", "XXX"),
    ("the name of an event such as order", "order.never"),
];

/// A valid value of the parameter that no record has.
pub fn rare(parameter: &Value, record: &Value) -> String {
    let taken = &record[parameter["name"].as_str().unwrap()];
    if let Some(words) = parameter["schema"]["enum"].as_array() {
        return words.iter().find(|word| *word != taken).unwrap().as_str().unwrap().to_owned();
    }
    let (_, expected) = parameter["description"].as_str().unwrap().split_once(": ").unwrap();
    let (expected, _) = expected.split_once('.').unwrap();
    match NOBODYS.iter().find(|(known, _)| *known == expected) {
        Some((_, nobodys)) => (*nobodys).to_owned(),
        None if expected == "true or false" => (taken != &json!(true)).to_string(),
        None => panic!("{expected} needs a value here"),
    }
}

impl Resource<'_> {
    /// The documented parameters of the list.
    async fn parameters(&self) -> Vec<Value> {
        self.document().await["paths"][format!("/{}", self.name())]["get"]["parameters"].as_array().unwrap().clone()
    }

    /// The documented filters of the list.
    pub async fn filters(&self) -> Vec<Value> {
        let mut parameters = self.parameters().await;
        parameters.retain(|parameter| !EVERYWHERE.contains(&parameter["name"].as_str().unwrap()));
        parameters
    }

    /// The fields that `query` searches. Deliveries are searched together with a filter, as their own tests show.
    async fn search_fields(&self) -> Vec<String> {
        if self.plural == "deliveries" {
            return Vec::new();
        }
        let parameters = self.parameters().await;
        let query = parameters.iter().find(|parameter| parameter["name"] == "query");
        let description = query.map_or("", |query| query["description"].as_str().unwrap());
        let (sentence, limit) = description.split_once(". ").unwrap_or_default();
        assert_eq!(query.is_some(), limit.contains("at most 5000 of the records"), "a search says what it does not find at once: {limit}");
        let fields = sentence.split_once(", in ").map_or("", |(_, fields)| fields.trim_end_matches('.'));
        fields.split(" or ").filter(|field| !field.is_empty()).map(str::to_owned).collect()
    }

    /// Whether the list with this parameter contains the record.
    async fn lists(&self, name: &str, value: &str, record: &Value) -> bool {
        let query = form_urlencoded::Serializer::new("?".to_owned()).append_pair(name, value).finish();
        let list = self.ask(Method::GET, &query, None).await.ok(200);
        list[self.plural.replace('-', "_")].as_array().unwrap().iter().any(|listed| listed["id"] == record["id"])
    }

    /// A record with a value in as many fields as possible, no two of them alike.
    async fn filled(&self) -> Value {
        let world = self.world;
        match (self.namespace, self.plural) {
            ("ledger", "callbacks") => {
                // It has no amount.
                let intent = event("evt_1", "payment_intent.succeeded", json!({ "id": "pi_1" }));
                world.call_back(&world.card().await, &intent).await.refused(400, "callback_not_understood");
            }
            ("ledger", "payments") => {
                let customer = world.register(EMAIL).await["customer"]["id"].take();
                let metadata = json!({ "order_id": id(&world.order(json!({})).await), "customer_id": customer });
                let intent = json!({ "id": "pi_1", "amount": 5, "currency": "usd", "metadata": metadata });
                world.call_back(&world.card().await, &event("evt_1", "payment_intent.succeeded", intent)).await.ok(200);
            }
            _ => {
                let Some(mut body) = self.example().await else { return self.newest().await };
                body.as_object_mut().unwrap().extend(self.more().await.as_object().unwrap().clone());
                let made = self.ask(Method::POST, "", Some(&body)).await.ok(201);
                return made.as_object().unwrap().values().next().unwrap().clone();
            }
        }
        self.newest().await
    }

    /// Values for the fields of an example that its lists are narrowed by or search in.
    async fn more(&self) -> Value {
        let world = self.world;
        let driver = async || world.driver("Ada").await["id"].take();
        let vehicle = async || world.vehicle("Van").await["id"].take();
        let fleet = async || world.create("fleets", json!({ "name": "West" })).await["id"].take();
        match (self.namespace, self.plural) {
            ("fleet", "orders") => {
                let customer = world.register(EMAIL).await["customer"]["id"].take();
                json!({ "driver": driver().await, "vehicle": vehicle().await, "customer": customer, "type": "parcel",
                        "internal_id": "A-17", "notes": "Ring twice." })
            }
            ("fleet", "drivers") => json!({ "status": "inactive", "fleet": fleet().await, "phone": "+12015550123",
                                            "email": "Ada@example.com", "license_number": "B072RRE2I55", "online": true }),
            ("fleet", "vehicles") => json!({ "status": "maintenance", "driver": driver().await, "fleet": fleet().await, "online": true,
                                             "type": "van", "plate_number": "HH-AB 12", "vin": "1M8GDM9AXKP042788", "make": "Ford",
                                             "model": "Transit" }),
            ("fleet", "fleets") => json!({ "status": "inactive", "parent": fleet().await, "description": "Up there." }),
            ("fleet", "issues") => json!({ "status": "in_progress", "priority": "high", "type": "damage", "category": "tyres",
                                           "driver": driver().await, "vehicle": vehicle().await,
                                           "order": id(&world.order(json!({})).await), "title": "Nail", "reporter": "Eve" }),
            ("fleet", "proofs") => json!({ "remarks": "At the door." }),
            ("developers", "webhooks") => json!({ "description": "Ours.", "owner": "tenant-7" }),
            _ => json!({}),
        }
    }
}

#[tokio::test]
async fn every_filter_finds_the_records_with_its_value_and_no_others() {
    of_every_resource(|resource| {
        Box::pin(async move {
            let record = resource.filled().await;
            let mut unset = Vec::new();
            for filter in resource.filters().await {
                let name = filter["name"].as_str().unwrap();
                let value = match &record[name] {
                    Value::String(text) => text.clone(),
                    Value::Null => {
                        unset.push(name.to_owned());
                        continue;
                    }
                    other => other.to_string(),
                };
                assert!(resource.lists(name, &value, &record).await, "{name}={value}");
                assert!(!resource.lists(name, &rare(&filter, &record), &record).await, "not {name}={value}");
            }
            let search_fields = resource.search_fields().await;
            assert!(search_fields.is_empty() || !resource.lists("query", NOBODY, &record).await);
            for name in search_fields {
                let Some(text) = record[&name].as_str() else {
                    unset.push(format!("query in {name}"));
                    continue;
                };
                assert!(resource.lists("query", &text[1..].to_uppercase(), &record).await, "{name}: {text}");
            }
            let expected = UNSET.iter().find(|(namespace, plural, _)| (*namespace, *plural) == (resource.namespace, resource.plural));
            assert_eq!(unset, expected.map_or(&[][..], |(.., names)| names));
        })
    })
    .await;
}
