//! Queries on large tables use an index: every parameter that narrows a list, and the check that prevents the deletion of a
//! referenced record. A new filter is found in the OpenAPI document; it needs an index, or an entry in the table of filters without
//! one.

use portico::kernel::database::Pool;
use reqwest::Method;
use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::resources::every_resource::filters::rare;
use crate::resources::every_resource::{Resource, of_every_resource_in};
use crate::support::fleet::id;
use crate::support::routes::NOBODY;
use crate::support::{World, database};

/// Filters without an index of their own, and why they need none.
const WITHOUT: &[(&str, &str, &[&str])] = &[
    // It changes with every position, which is too often for an index; a company's drivers and vehicles are few enough to scan.
    ("fleet", "drivers", &["online"]),
    ("fleet", "vehicles", &["online"]),
    // A company has only a handful of these.
    ("ledger", "gateways", &["driver", "status"]),
    ("developers", "webhooks", &["status", "url"]),
    ("developers", "replays", &["webhook"]),
    // A few values, all of them common, in tables that every callback writes.
    ("ledger", "callbacks", &["type"]),
    ("ledger", "payments", &["kind", "currency"]),
    // Written with every delivery, kept for some weeks, and narrowed by time.
    ("developers", "deliveries", &["webhook", "subscription", "event_id", "event", "status"]),
    // A few values; changes are narrowed by record, by caller and by time.
    ("developers", "changes", &["action", "kind", "caller"]),
    // A store has a handful of these.
    ("storefront", "test-identities", &["store", "identity"]),
    // A company has only a handful of these.
    ("storefront", "identity-providers", &["status"]),
    // A store has one.
    ("storefront", "registration-hooks", &["store", "status"]),
    ("storefront", "message-providers", &["channel", "status"]),
    ("storefront", "message-wordings", &["language"]),
    // Their tables have other names; `tests/it/storefront/timeline.rs` looks at the plans. What is common is narrowed by time.
    ("storefront", "customers", &["store", "email", "phone", "external_id"]),
    ("storefront", "tokens", &["store", "customer"]),
    ("storefront", "texts", &["store", "number", "number_range", "country", "status", "refusal", "rule"]),
    ("storefront", "sign-ins", &["store", "customer", "method", "identity", "outcome", "address"]),
];

/// So many records that a full scan costs more than an index lookup.
const RECORDS: i32 = 5000;

/// A single connection, so that prepared statements can be inspected, planned for the actual values.
const ONE_CONNECTION: &[(&str, &str)] = &[("database.max_connections", "1")];

/// Multiplies each record that the company has in the table, with new ids and new values in all uniquely indexed columns. It has more time
/// than the statements of the service, whose connection plans for the actual values afterwards.
async fn multiply(world: &World, table: &str) {
    let pool = &database::pool(&world.database);
    let columns = "select attname, atttypid::regtype::text from pg_attribute
                   where attrelid = $1::regclass and attnum > 0 and attname <> 'company_id' and atttypid in ('uuid'::regtype, 'text'::regtype, 'bytea'::regtype)
                   and (atttypid = 'uuid'::regtype or exists (select from pg_index where indrelid = attrelid and attnum = any(indkey)))
                   and not exists (select from pg_constraint where conrelid = attrelid and contype = 'c' and conkey = array[attnum])";
    let columns: Vec<(String, String)> = sqlx::query_as(columns).bind(table).fetch_all(pool).await.unwrap();
    let changed = columns.iter().filter(|(name, _)| name != "kind" || table != "declared_records").map(|(name, kind)| {
        let value = match kind.as_str() {
            "uuid" => "gen_random_uuid()",
            "bytea" => "uuid_send(gen_random_uuid())",
            _ => "'Text ' || n",
        };
        format!("'{name}', {value}")
    });
    let changed = changed.collect::<Vec<_>>().join(", ");
    let written = "select string_agg(quote_ident(attname), ', ') from pg_attribute
                   where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''";
    let written: String = sqlx::query_scalar(written).bind(table).fetch_one(pool).await.unwrap();
    let company = world.company.uuid();
    // `copy` has a name before it is taken apart: PostgreSQL would make it again for each column.
    let insert = format!(
        "set session_replication_role = replica;
         insert into {table} ({written}) select {written}
         from (select (copy).* from (
             select jsonb_populate_record(record, jsonb_build_object({changed})) as copy from {table} record, generate_series(1, {RECORDS}) n
             where record.company_id = '{company}'
         ) copies) taken_apart;
         set session_replication_role = origin;
         analyze {table}"
    );
    sqlx::raw_sql(AssertSqlSafe(insert)).execute(pool).await.unwrap();
    pool.close().await;
    sqlx::raw_sql("set plan_cache_mode = force_custom_plan").execute(&world.pool).await.unwrap();
}

/// The plans of the statements with this beginning for these values; at most `most`, the last prepared first.
async fn plans(pool: &Pool, beginning: &str, most: i64, values: &str) -> Vec<String> {
    let prepared = "select name from pg_prepared_statements where starts_with(statement, $1) order by prepare_time desc limit $2";
    let names: Vec<String> = sqlx::query_scalar(prepared).bind(beginning).bind(most).fetch_all(pool).await.unwrap();
    let mut plans = Vec::new();
    for name in names {
        let explain = AssertSqlSafe(format!("explain execute \"{name}\" ({values})"));
        plans.push(sqlx::query_scalar::<_, String>(explain).fetch_all(pool).await.unwrap().join("\n"));
    }
    plans
}

/// Whether the plan finds the value by an index, possibly a partial one for this value, without filtering rows with other values.
fn is_found_by_index(plan: &str, value: &str) -> bool {
    plan.contains("Index") && !plan.lines().any(|line| line.contains("Filter") && line.contains(value))
}

async fn every_filter_has_an_index(resource: &Resource<'_>) {
    let (world, pool) = (resource.world, &resource.world.pool);
    let without = WITHOUT.iter().find(|(namespace, plural, _)| (*namespace, *plural) == (resource.namespace, resource.plural));
    let without = without.map_or(&[][..], |(_, _, names)| names);
    let filters = resource.filters().await;
    assert!(without.iter().all(|name| filters.iter().any(|filter| filter["name"] == *name)), "{without:?}");
    let indexed: Vec<_> = filters.iter().filter(|filter| !without.contains(&filter["name"].as_str().unwrap())).collect();
    if indexed.is_empty() {
        return;
    }
    let record = resource.record().await;
    let is_declared = ["inventory", "support"].contains(&resource.namespace);
    let table = match resource.plural {
        _ if is_declared => "declared_records".to_owned(),
        "webhooks" => "subscriptions".to_owned(),
        plural => plural.replace('-', "_"),
    };
    multiply(world, &table).await;
    for filter in indexed {
        let name = filter["name"].as_str().unwrap();
        // Stored as a UUID, as which the plan shows it, and written without hyphens.
        let is_request = (resource.plural, name) == ("events", "request_id");
        let value = if is_request { NOBODY.to_owned() } else { rare(filter, &record) };
        let asked = if is_request { value.replace('-', "") } else { value.clone() };
        world.api(Method::GET, &format!("/{}?{name}={asked}", resource.name())).send().await.ok(200);
        let values = format!("'{}', '{value}', 26", world.company.uuid());
        let plan = plans(pool, "select id, company_id, version", 1, &values).await.swap_remove(0);
        assert!(is_found_by_index(&plan, &value), "{name}: {plan}");
    }
    if table == "events" {
        // What is in the outbox was published; the thousands of copies need not be checked when the world ends.
        sqlx::query("delete from events where id not in (select event_id from outbox)").execute(pool).await.unwrap();
    }
}

#[tokio::test]
async fn every_list_is_narrowed_by_an_index() {
    of_every_resource_in(World::with(ONE_CONNECTION).await, |resource| Box::pin(every_filter_has_an_index(resource))).await;
}

#[tokio::test]
async fn what_keeps_a_record_is_found_by_an_index() {
    let world = World::with(ONE_CONNECTION).await;
    let (driver, vehicle) = (world.driver("Ada").await, world.vehicle("Truck 7").await);
    let fleet = world.fleet(Method::POST, "fleets").json(&json!({ "name": "North" })).send().await.ok(201)["fleet"].take();
    world.order(json!({ "driver": id(&driver), "vehicle": id(&vehicle) })).await;
    world.fleet(Method::PUT, &format!("drivers/{}", id(&driver))).json(&json!({ "fleet": id(&fleet) })).send().await.ok(200);
    let vehicle_of = json!({ "driver": id(&driver), "fleet": id(&fleet) });
    world.fleet(Method::PUT, &format!("vehicles/{}", id(&vehicle))).json(&vehicle_of).send().await.ok(200);
    let part_of = json!({ "name": "Part", "parent": id(&fleet) });
    world.fleet(Method::POST, "fleets").json(&part_of).send().await.ok(201);
    for table in ["orders", "drivers", "vehicles", "fleets"] {
        multiply(&world, table).await;
    }
    for (plural, body) in
        [("drivers", json!({ "name": "Bob" })), ("vehicles", json!({ "name": "Truck 8" })), ("fleets", json!({ "name": "South" }))]
    {
        let unused = world.fleet(Method::POST, plural).json(&body).send().await.ok(201);
        let unused = unused.as_object().unwrap().values().next().unwrap();
        world.fleet(Method::DELETE, &format!("{plural}/{}", id(unused))).send().await.ok(200);
    }
    let plans = plans(&world.pool, "select exists (select from", 10, &format!("'{NOBODY}'")).await;
    assert_eq!(plans.len(), 6);
    for plan in plans {
        assert!(is_found_by_index(&plan, NOBODY), "{plan}");
    }
}
