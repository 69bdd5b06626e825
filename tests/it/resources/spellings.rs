//! Filters read a value as the field does: decisions, section 9. Whatever spelling somebody pastes finds the record, and what no record can have
//! is refused.

use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::fleet::id;

impl World {
    /// The ids in a list of any namespace.
    async fn found(&self, path: &str) -> Vec<String> {
        let list = self.api(Method::GET, path).send().await.ok(200);
        list.as_object().unwrap().values().next().unwrap().as_array().unwrap().iter().map(|record| id(record).to_owned()).collect()
    }
}

#[tokio::test]
async fn every_spelling_of_a_value_finds_the_record() {
    let world = World::new().await;
    let ada = world.create("drivers", json!({ "name": "Ada", "email": "Ada+Shop@Example.com", "phone": "+49 1511 2345678" })).await;
    let van = world.create("vehicles", json!({ "name": "Van", "vin": "1HGCM82633A004352" })).await;
    let order = world.order(json!({})).await;
    let number = order["tracking_number"].as_str().unwrap().to_lowercase();
    let code = world.fleet_list("tracking-numbers").await["tracking_numbers"][0].take();
    world.resolver.insert("hooks.example", &["127.0.0.1".parse().unwrap()]);
    let webhook =
        world.developers(Method::POST, "webhooks", json!({ "url": "https://hooks.example:8443" })).await.ok(201)["webhook"].take();
    for (path, expected) in [
        ("fleet/int/v1/drivers?email=ADA%2BSHOP@EXAMPLE.COM".to_owned(), &ada),
        // A plus that nobody has escaped.
        ("fleet/int/v1/drivers?email=ada+shop@example.com".to_owned(), &ada),
        ("fleet/int/v1/drivers?phone=+4915112345678".to_owned(), &ada),
        ("fleet/int/v1/drivers?phone=+49%20151%2012345678".to_owned(), &ada),
        ("fleet/int/v1/drivers?phone=+49+151+12345678".to_owned(), &ada),
        ("fleet/int/v1/drivers?phone=4915112345678".to_owned(), &ada),
        ("fleet/int/v1/vehicles?vin=%201hgcm82633a004352".to_owned(), &van),
        (format!("fleet/int/v1/orders?tracking_number={number}"), &order),
        (format!("fleet/int/v1/tracking-numbers?tracking_number={number}"), &code),
        ("developers/int/v1/webhooks?url=HTTPS://Hooks.Example:8443".to_owned(), &webhook),
    ] {
        assert_eq!(world.found(&format!("/{path}")).await, [id(expected)], "{path}");
    }
}

#[tokio::test]
async fn a_value_that_no_record_can_have_is_refused_and_no_empty_list() {
    let world = World::new().await;
    for (list, value) in [
        ("fleet/int/v1/drivers?email", "nobody"),
        ("fleet/int/v1/drivers?phone", "12"),
        ("fleet/int/v1/drivers?phone", ""),
        ("fleet/int/v1/vehicles?vin", "7"),
        ("fleet/int/v1/vehicles?plate_number", "a-plate-number-without-end"),
        ("fleet/int/v1/tracking-statuses?status", "At the depot"),
        ("developers/int/v1/webhooks?url", "shop.example"),
        ("developers/int/v1/webhooks?owner", ""),
        ("developers/int/v1/events?event", "orders"),
        ("developers/int/v1/deliveries?event", "order.*"),
        ("developers/int/v1/changes?request_id", "7"),
        ("developers/int/v1/operators?email", "eve"),
        ("ledger/int/v1/gateways?driver", "cash"),
        ("ledger/int/v1/payments?currency", "EURO"),
        ("ledger/int/v1/payments?gateway_transaction_id", ""),
        ("ledger/int/v1/callbacks?event_id", ""),
        ("ledger/int/v1/callbacks?reason", "Not understood"),
        ("storefront/int/v1/customers?email", "ada@"),
        ("storefront/int/v1/customers?phone", "+491"),
        ("storefront/int/v1/sign-ins?address", "nowhere"),
        ("storefront/int/v1/sign-ins?identity", "ada"),
        ("ledger/int/v1/callbacks?reason", "bogus"),
        ("storefront/int/v1/sign-ins?method", "Passkey"),
        ("storefront/int/v1/sign-ins?outcome", "Signed in"),
        ("storefront/int/v1/sign-ins?outcome", "bogus"),
        ("storefront/int/v1/texts?refusal", "bogus"),
        ("storefront/int/v1/texts?country", "Germany"),
        ("storefront/int/v1/texts?country", "XX"),
        ("storefront/int/v1/texts?number_range", "Berlin"),
        ("storefront/int/v1/test-identities?identity", "review"),
        ("inventory/int/v1/warehouses?code", "ham-1"),
    ] {
        let refused = world.api(Method::GET, &format!("/{list}={value}")).send().await.refused(422, "parameter_invalid");
        assert_eq!(refused["parameter"], list.split('?').nth(1).unwrap(), "{list}={value}");
    }
}

#[tokio::test]
async fn a_search_is_for_letters_whatever_is_above_them() {
    let world = World::new().await;
    for name in ["José Müller", "Łukasz Żółć", "Søren Ærø", "Ian Strauß", "Jose\u{301}phine"] {
        world.driver(name).await;
    }
    for (words, expected) in [
        ("jose muller", vec!["José Müller"]),
        ("JOSÉ MÜLLER", vec!["José Müller"]),
        ("mu\u{308}ller", vec!["José Müller"]),
        ("jos", vec!["Jose\u{301}phine", "José Müller"]),
        ("lukasz zolc", vec!["Łukasz Żółć"]),
        ("soren aero", vec!["Søren Ærø"]),
        ("strauss", vec!["Ian Strauß"]),
        ("muler", vec![]),
    ] {
        let list = world.fleet_list(&format!("drivers?query={words}&sort=created_at")).await;
        let mut found: Vec<_> = list["drivers"].as_array().unwrap().iter().map(|driver| driver["name"].as_str().unwrap()).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{words}");
    }
}
