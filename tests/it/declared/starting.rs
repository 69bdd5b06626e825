//! What happens at start: schemas that have changed, indexes that are not there yet.

use std::fs;
use std::path::Path;

use portico::declared::{Declared, PrepareError, Settings};
use portico::dev::temporary::TemporaryDirectory;
use portico::kernel::clock::Clock;
use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

use crate::support::World;

fn file(version: u32, members: &str, required: &str) -> String {
    format!(
        r#"
        namespace = "garden"
        [resources.pots]
        singular = "pot"
        version = {version}
        description = "A pot."
        filters = ["label", "size"]
        schema = {{ type = "object", required = [{required}], properties = {{ label = {{ type = "string" }}, size = {{ type = "integer" }}, {members} }} }}
        sample = {{ label = "Blue", glaze = "matt" }}
        "#
    )
}

/// What a start of the program says to the file.
async fn start(pool: &PgPool, directory: &Path, text: &str) -> Result<(), PrepareError> {
    fs::write(directory.join("garden.toml"), text).unwrap();
    let settings = Settings { directory: Some(directory.to_owned()) };
    Declared::new(pool.clone(), Clock::System, &settings, &[]).unwrap().prepare().await
}

#[tokio::test]
async fn a_changed_schema_needs_a_new_version_that_old_records_fit() {
    let directory = TemporaryDirectory::make("declared").unwrap();
    let first = file(1, "glaze = { type = 'string' }", "'label'");
    fs::write(directory.path().join("garden.toml"), &first).unwrap();
    let world = World::with(&[("extensions.directory", directory.path().to_str().unwrap())]).await;
    world.state.declared.prepare().await.unwrap();
    let (pool, path) = (&world.pool, directory.path());
    start(pool, path, &first).await.unwrap();

    // Without records anything may change, in a new version.
    let other = file(1, "glaze = { enum = ['matt'] }", "'label'");
    assert!(matches!(start(pool, path, &other).await, Err(PrepareError::VersionMissing(kind, 1)) if kind == "garden/pots"));
    start(pool, path, &file(2, "glaze = { enum = ['matt'] }", "'label'")).await.unwrap();
    start(pool, path, &file(3, "glaze = { type = 'string' }", "'label'")).await.unwrap();
    world.api(Method::POST, "/garden/int/v1/pots").json(&json!({ "label": "Blue" })).send().await.ok(201);

    // With records, only what they fit.
    for narrower in [file(4, "glaze = { type = 'string', maxLength = 9 }", "'label'"), file(4, "glaze = { type = 'string' }", "'label', 'glaze'")] {
        let refused = start(pool, path, &narrower).await.unwrap_err();
        let PrepareError::Incompatible(kind, 3, 4, why) = refused else { panic!("{refused:?}") };
        assert_eq!((kind.as_str(), why.member.as_str()), ("garden/pots", "glaze"));
    }
    start(pool, path, &file(4, "glaze = { type = ['string', 'null'] }, weight = { type = 'number' }", "'label'")).await.unwrap();
    assert!(matches!(start(pool, path, &first).await, Err(PrepareError::Older(_, 4, 1))), "an older program does not write to newer records");
    assert_eq!(world.count("select version::bigint from declared_schemas").await, 4);
}

#[tokio::test]
async fn instances_that_start_together_make_each_index_once() {
    let world = World::with(&[("extensions.directory", "config/extensions")]).await;
    let starts = (0..8).map(|_| world.state.declared.prepare());
    for started in futures::future::join_all(starts).await {
        started.unwrap();
    }
    let indexes = "select count(*) from pg_index join pg_class on pg_class.oid = indexrelid where relname ~ '^declared_[0-9a-f]{16}$'";
    assert_eq!(world.count(indexes).await, 9);
    // One whose making was interrupted is made anew.
    sqlx::query("update pg_index set indisvalid = false where indexrelid = (select oid from pg_class where relname ~ '^declared_[0-9a-f]{16}$' limit 1)")
        .execute(&world.pool)
        .await
        .unwrap();
    world.state.declared.prepare().await.unwrap();
    let invalid = "select count(*) from pg_index where not indisvalid";
    assert_eq!((world.count(indexes).await, world.count(invalid).await), (9, 0));
}

#[tokio::test]
async fn a_filtered_list_uses_its_index() {
    let world = World::with(&[("extensions.directory", "config/extensions")]).await;
    world.state.declared.prepare().await.unwrap();
    sqlx::query(
        "insert into declared_records (id, company_id, version, created_at, updated_at, kind, data)
         select gen_random_uuid(), $1, 1, now(), now(), 'inventory/stock-items', jsonb_build_object('sku', 'S-' || n) from generate_series(1, 5000) n",
    )
    .bind(world.company.uuid())
    .execute(&world.pool)
    .await
    .unwrap();
    sqlx::query("analyze declared_records").execute(&world.pool).await.unwrap();
    let plan: Vec<String> = sqlx::query_scalar(
        "explain select id from declared_records where deleted_at is null and company_id = $1 and kind = 'inventory/stock-items'
         and (data->>'sku') = $2 order by created_at desc, id desc limit 26",
    )
    .bind(world.company.uuid())
    .bind("S-77")
    .fetch_all(&world.pool)
    .await
    .unwrap();
    let plan = plan.join("\n");
    assert!(plan.contains("declared_") && plan.contains("->> 'sku'"), "{plan}");
}
