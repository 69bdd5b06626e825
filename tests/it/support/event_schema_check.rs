//! Checks at the end of every story that the events of its world match the catalogue.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;

use jsonschema::Validator;
use portico::events::Catalogue;
use portico::kernel::database::Pool;
use portico::kernel::json_schema;
use serde_json::Value;

use crate::support::World;

impl Drop for World {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        let (pool, catalogue) = (self.pool.clone(), self.state.developers.catalogue.clone());
        // The story's own runtime is shutting down and cannot be blocked on here.
        let looked = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let mut schemas = BodySchemas::default();
            runtime.block_on(emitted(&pool)).iter().for_each(|body| check(&catalogue, &mut schemas, body));
        });
        if let Err(failure) = looked.join() {
            resume_unwind(failure);
        }
    }
}

/// The bodies of all events. A story that stops its database ends its world before that.
async fn emitted(pool: &Pool) -> Vec<Vec<u8>> {
    let mut conn = pool.servers().connect().await.expect("the database is there when the story ends");
    sqlx::query_scalar("select body from events").fetch_all(&mut conn).await.unwrap()
}

/// The schemas of whole bodies, by event name, as they are served; compiled on first use.
type BodySchemas = BTreeMap<String, Validator>;

/// Asserts that the event matches its schema, its envelope included, and that its `data` has no fields that the schema does not
/// define.
fn check(catalogue: &Catalogue, schemas: &mut BodySchemas, body: &[u8]) {
    let body: Value = serde_json::from_slice(body).unwrap();
    let name = body["event"].as_str().unwrap();
    let event_type = catalogue.find(name).unwrap_or_else(|| panic!("{name} is not in the catalogue"));
    let schema = schemas.entry(name.to_owned()).or_insert_with(|| json_schema::validator(&event_type.schema()).unwrap());
    json_schema::check(schema, &body).unwrap_or_else(|unfit| panic!("{name} does not fit its schema: {unfit}\n{body:#}"));
    let members: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(members, ["id", "api_version", "event", "created_at", "data"], "{name}");
    let documented = event_type.data_schema["properties"].as_object();
    for member in body["data"].as_object().unwrap().keys() {
        assert!(documented.is_none_or(|documented| documented.contains_key(member)), "{name} has an undocumented member {member}");
    }
}
