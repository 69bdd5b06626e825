//! The commands that set a company up, in the order of the README's section on deployment.

use portico::callers::{Caller, Scope};
use portico::dev::temporary::TemporaryDirectory;
use portico::storefront::create_store_key;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::program::{Service, fed, printed, refused};
use crate::support::{World, database};

/// What a command prints as JSON, below the singular.
async fn made(arguments: &[&str], settings: &[(&str, &str)], singular: &str) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str::<Value>(&printed(&arguments, settings).await).unwrap()[singular].take()
}

#[tokio::test]
async fn an_empty_database_becomes_a_shop_whose_keys_work() {
    let world = World::new().await;
    let url = database::empty_beside(&world).await;
    let database = [("database.url", url.as_str())];

    assert!(refused(&["company", "create", "My Shop"], &database).await.contains("run portico migrate"));
    assert!(printed(&["migrate"], &database).await.contains("migrations were applied"));
    assert_eq!(printed(&["migrate"], &database).await, "All migrations were already applied.\n");

    let company = made(&["company", "create", "My Shop"], &database, "company").await;
    let company = company["id"].as_str().unwrap();
    let store = made(&["store", "create", "My Shop", "--company", company], &database, "store").await;
    let store = store["id"].as_str().unwrap();
    let store_key = made(&["key", "create", "--store", store], &database, "key").await;
    let api_key = made(
        &["key", "create", "--company", company, "--scopes", "read,write", "--networks", "127.0.0.0/8", "--expires-in", "90d"],
        &database,
        "key",
    )
    .await;
    assert_eq!((&api_key["scopes"], &api_key["allowed_networks"]), (&json!(["read", "write"]), &json!(["127.0.0.0/8"])));
    assert!(api_key["expires_at"].is_string());
    assert_eq!(made(&["company", "list"], &database, "companies").await[0]["name"], "My Shop");
    assert_eq!(made(&["store", "list", "--company", company], &database, "stores").await[0]["id"], store);

    let service = Service::start(&database).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |path: &str, key: &Value| {
        http.get(format!("http://{}/{path}", service.address)).bearer_auth(key["key"].as_str().unwrap()).send().await.unwrap().status()
    };
    assert_eq!(ask("fleet/int/v1/orders", &api_key).await, StatusCode::OK);
    assert_eq!(ask("ledger/int/v1/gateways", &store_key).await, StatusCode::UNAUTHORIZED);
    // The store key is accepted; the customer's token is missing.
    let me = http.get(format!("http://{}/storefront/v1/customers/me", service.address)).bearer_auth(store_key["key"].as_str().unwrap());
    assert!(me.send().await.unwrap().text().await.unwrap().contains("customer_token_invalid"));

    let lines = printed(&["key", "revoke", store_key["id"].as_str().unwrap()], &database).await;
    assert!(lines.contains("revoked  true"), "{lines}");
    assert_eq!(made(&["key", "revoke", api_key["id"].as_str().unwrap()], &database, "key").await["revoked"], true);
    assert!(refused(&["key", "revoke", api_key["id"].as_str().unwrap()], &database).await.contains("no such key"));
    drop(service);
}

#[tokio::test]
async fn invalid_arguments_are_refused_and_nothing_is_stored() {
    let world = World::new().await;
    let database = [("database.url", world.database.as_str())];
    let (company, nobody) = (world.company.to_string(), "company_01h455vb4pex5vsknk084sn02q");
    for (arguments, words) in [
        (vec!["company", "create", " "], "a name must have 1 to 255 characters"),
        (vec!["store", "create", "Shop", "--company", nobody], "there is no company"),
        (vec!["key", "create", "--store", "store_01h455vb4pex5vsknk084sn02q"], "there is no store"),
        (vec!["key", "create", "--company", nobody, "--scopes", "read"], "there is no company"),
        (vec!["key", "create", "--company", &company, "--scopes", "everything"], "everything"),
        (vec!["key", "create", "--company", &company, "--scopes", "read", "--networks", "10.0.0.0/99"], "10.0.0.0/99"),
        (vec!["key", "create", "--company", &company, "--scopes", "read", "--expires-in", "0s"], "at least one second"),
        (vec!["key", "create", "--company", &company, "--scopes", "read", "--expires-in", "9000y"], "before the year 10000"),
        (vec!["operator", "remove", "nobody@example.com"], "there is no operator"),
    ] {
        let said = refused(&arguments, &database).await;
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    let counts: (i64, i64, i64) =
        sqlx::query_as("select (select count(*) from companies), (select count(*) from stores), (select count(*) from api_keys)")
            .fetch_one(&world.pool)
            .await
            .unwrap();
    assert_eq!(counts, (1, 1, 1));
}

#[tokio::test]
async fn a_store_has_the_same_limits_whoever_creates_it() {
    let world = World::new().await;
    let database = [("database.url", world.database.as_str())];
    let by_command = made(&["store", "create", "Outlet", "--company", &world.company.to_string()], &database, "store").await;
    let by_request = world.api(Method::POST, "/storefront/int/v1/stores").json(&json!({ "name": "Outlet" })).send().await.ok(201);
    let [by_command, by_request] = [by_command, by_request["store"].clone()].map(|store| store["id"].as_str().unwrap().to_owned());
    let rules = async |store: &str| {
        let mut store = world.api(Method::GET, &format!("/storefront/int/v1/stores/{store}")).send().await.ok(200)["store"].take();
        store.as_object_mut().unwrap().retain(|field, _| !["id", "uuid", "created_at", "updated_at"].contains(&field.as_str()));
        store
    };
    assert_eq!(rules(&by_command).await, rules(&by_request).await);
}

#[tokio::test]
async fn keys_are_listed_without_the_keys_and_a_closed_store_has_none() {
    let world = World::new().await;
    let (settings, company) = ([("database.url", world.database.as_str())], world.company.to_string());
    let list = async || made(&["key", "list", "--company", &company], &settings, "keys").await;
    let keys = list().await;
    let kinds: Vec<_> = keys.as_array().unwrap().iter().map(|key| key["kind"].as_str().unwrap()).collect();
    assert_eq!((kinds, &keys[0]["scopes"][0], &keys[1]["store"]), (vec!["api_key", "store_key"], &json!("callbacks"), &json!(world.store)));
    let table = printed(&["key", "list", "--company", &company], &settings).await;
    assert!(!table.contains(&world.api_key) && table.starts_with("id  "), "{table}");

    let store = world.store.to_string();
    assert!(refused(&["store", "close", &store], &settings).await.contains("--yes"));
    assert!(printed(&["store", "close", &store, "--yes"], &settings).await.contains("closed  true"));
    world.pass(chrono::TimeDelta::seconds(1));
    world.storefront_get("customers/me").send().await.refused(401, "store_key_invalid");
    assert_eq!(
        (list().await.as_array().unwrap().len(), made(&["store", "list", "--company", &company], &settings, "stores").await),
        (1, json!([]))
    );
    assert!(refused(&["store", "close", &store, "--yes"], &settings).await.contains("there is no store"));
}

#[tokio::test]
async fn a_deleted_store_gets_no_key() {
    let world = World::new().await;
    let database = [("database.url", world.database.as_str())];
    world.api(Method::DELETE, &format!("/storefront/int/v1/stores/{}", world.store)).send().await.ok(200);
    let create = ["key", "create", "--store", &world.store.to_string()];
    assert!(refused(&create, &database).await.contains("there is no store"));
    let conn = &mut world.pool.acquire().await.unwrap();
    let caller = Caller::command_line(world.company);
    assert!(create_store_key(conn, &caller, world.store, world.clock.now()).await.unwrap().is_none());
    assert_eq!(world.count("select count(*) from store_keys").await, 1);
}

#[tokio::test]
async fn operators_are_created_listed_and_removed() {
    let world = World::new().await;
    let database = [("database.url", world.database.as_str())];
    let company = world.company.to_string();
    let create = ["operator", "create", "Ada@Example.com", "--company", &company, "--role", "support"];
    assert!(fed(&create, &database, "too short\n").await.unwrap_err().contains("12 to 256 characters"));
    let lines = fed(&create, &database, "correct horse battery\n").await.unwrap();
    assert!(lines.contains("role     support"), "{lines}");
    assert!(fed(&create, &database, "correct horse battery\n").await.unwrap_err().contains("already exists"));
    let elsewhere = ["operator", "create", "bob@example.com", "--company", "company_01h455vb4pex5vsknk084sn02q"];
    assert!(fed(&elsewhere, &database, "correct horse battery\n").await.unwrap_err().contains("there is no company"));

    let list = async || made(&["operator", "list", "--company", &company], &database, "operators").await;
    let listed = list().await;
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["email"]), (1, &json!("ada@example.com")));
    assert!(!listed.to_string().contains("argon2"));
    assert!(printed(&["operator", "remove", "ada@example.com"], &database).await.contains("removed  true"));
    assert_eq!(list().await, json!([]));
}

#[tokio::test]
async fn an_operator_of_several_companies_is_named_with_the_company() {
    let world = World::new().await;
    let database = [("database.url", world.database.as_str())];
    let (other, _) = world.another_company(&[Scope::Read]).await;
    let (ours, theirs, password) = (world.company.to_string(), other.to_string(), "correct horse battery\n");
    for company in [&ours, &theirs] {
        let create = ["operator", "create", "ada@example.com", "--company", company, "--role", "support"];
        fed(&create, &database, password).await.unwrap();
    }
    let remove = ["operator", "remove", "ada@example.com"];
    let ambiguous = refused(&remove, &database).await;
    assert!(ambiguous.contains("say which with --company") && ambiguous.contains(&ours) && ambiguous.contains(&theirs), "{ambiguous}");
    assert!(fed(&["operator", "reset", "ada@example.com"], &database, password).await.unwrap_err().contains("several companies"));
    let reset = ["operator", "reset", "ada@example.com", "--company", &theirs];
    assert!(fed(&reset, &database, password).await.unwrap().contains(&theirs));
    let elsewhere = [&remove[..], &["--company", "company_01h455vb4pex5vsknk084sn02q"]].concat();
    assert!(refused(&elsewhere, &database).await.contains("there is no operator"));
    let here = [&remove[..], &["--company", theirs.as_str()]].concat();
    assert!(printed(&here, &database).await.contains("removed  true"));
    // Only one is left.
    assert!(printed(&remove, &database).await.contains(&ours));
}

#[tokio::test]
async fn a_gateways_secret_key_is_read_from_standard_input() {
    let world = World::new().await;
    let key = world.application_key_setting.clone();
    let settings = [("database.url", world.database.as_str()), ("application_key", key.as_str())];
    let company = world.company.to_string();
    let create = ["gateway", "create", "--company", &company, "--driver", "card", "--json"];
    for bad in ["", "\n", "two words\n", &"x".repeat(2000)] {
        assert!(fed(&create, &settings, bad).await.is_err(), "{bad:?}");
    }
    let with_driver = |driver| ["gateway", "create", "--company", &company, "--driver", driver];
    for (driver, refusal) in [("hmac", "has no secret key"), ("cash", "drivers are card, hmac, manual")] {
        assert!(fed(&with_driver(driver), &settings, "sk_live_1234567890\n").await.unwrap_err().contains(refusal), "{driver}");
    }
    let created: Value = serde_json::from_str(&fed(&create, &settings, "sk_live_1234567890\n").await.unwrap()).unwrap();
    let gateway = created["gateway"]["id"].as_str().unwrap();
    assert!(fed(&create, &settings, "sk_live_1234567890").await.unwrap_err().contains("rotate its secret key instead"));
    fed(&["gateway", "rotate", gateway], &settings, "sk_live_0987654321\n").await.unwrap();
    let unknown = ["gateway", "rotate", "gateway_01h455vb4pex5vsknk084sn02q"];
    assert!(fed(&unknown, &settings, "sk_live_0987654321\n").await.unwrap_err().contains("there is no gateway"));
    let not_called = world.gateway(json!({ "name": "Bank", "driver": "manual" })).await;
    let not_called = ["gateway", "rotate", not_called["id"].as_str().unwrap()];
    assert!(fed(&not_called, &settings, "sk_live_0987654321\n").await.unwrap_err().contains("driver manual has no secret key"));
    assert_eq!(world.count("select count(*) from gateways where driver = 'manual' and secret_key is null").await, 1);
    let stored: Vec<u8> = sqlx::query_scalar("select secret_key from gateways where driver = 'card'").fetch_one(&world.pool).await.unwrap();
    assert!(!String::from_utf8_lossy(&stored).contains("sk_live"));
}

#[tokio::test]
async fn the_demonstration_company_is_for_development_and_has_the_address_of_the_service() {
    let world = World::new().await;
    let database = ("database.url", world.database.as_str());
    let companies = async || sqlx::query_scalar::<_, i64>("select count(*) from companies").fetch_one(&world.pool).await.unwrap();
    assert!(refused(&["demo"], &[database]).await.contains("in development only"));
    assert_eq!(companies().await, 1);

    let directory = TemporaryDirectory::make("portico-demo").unwrap();
    let development = [database, ("environment", "development"), ("dev.data_dir", directory.path().to_str().unwrap())];
    let service = Service::start(&development).await;
    let elsewhere = [&development[..], &[("http.listen", "127.0.0.1:1")]].concat();
    let shell = printed(&["demo", "--shell"], &elsewhere).await;
    assert!(shell.contains(&format!("export URL=http://{}\n", service.address)), "{shell}");
    assert_eq!(companies().await, 2);
}
