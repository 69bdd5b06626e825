//! Start-up: changed schemas and missing indexes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use futures::future::join_all;
use portico::app;
use portico::declared::{BuiltIn, Declared, Unsuitable, load};
use portico::kernel::clock::Clock;
use portico::kernel::database::Pool;
use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::declared::garden;
use crate::support::program::{Service, portico, refused};
use crate::support::waiting::until;
use crate::support::{World, database};

fn file(version: u32, members: &str, required: &str) -> String {
    let members = format!("label = {{ type = 'string', maxLength = 90 }}, size = {{ type = 'integer' }}, {members}");
    let text = pots(version, "'label', 'size'", &members, required);
    format!("{text}\nlabel = 'Blue'\nsize = 3\nglaze = 'matt'\n")
}

/// The file with the given fields and an empty sample at its end.
fn pots(version: u32, filters: &str, members: &str, required: &str) -> String {
    format!(
        r#"
        namespace = "garden"
        [resources.pots]
        singular = "pot"
        version = {version}
        description = "A pot."
        filters = [{filters}]
        [resources.pots.schema]
        type = "object"
        required = [{required}]
        properties = {{ {members} }}
        [resources.pots.sample]
        "#
    )
}

/// The file, as loaded by an instance of the program.
fn declared(pool: &Pool, directory: &Path, text: &str) -> Declared {
    fs::write(directory.join("garden.toml"), text).unwrap();
    let declarations = load(directory, &BuiltIn { kinds: &[], events: &app::catalogue() }).unwrap();
    Declared::new(pool.clone(), Clock::System, declarations.into_iter().map(Arc::new).collect(), &[])
}

/// A world whose program declares the file.
async fn world(directory: &Path) -> World {
    let world = World::with(&[("extensions.directory", directory.to_str().unwrap())]).await;
    world.state.declared.take_schemas().await.unwrap();
    world
}

#[tokio::test]
async fn a_changed_schema_needs_a_new_version_that_old_records_fit() {
    let first = file(1, "glaze = { type = 'string' }", "'label'");
    let directory = garden(&first);
    let world = world(directory.path()).await;
    let start = async |version, members: &str, required: &str| {
        declared(&world.pool, directory.path(), &file(version, members, required)).take_schemas().await
    };
    start(1, "glaze = { type = 'string', description = 'Its surface.' }", "'label'").await.unwrap();

    // Without records, a new version may change anything.
    let changed = start(1, "glaze = { enum = ['matt', 'raw'] }", "'label'").await;
    assert!(matches!(changed, Err(Unsuitable::VersionMissing(kind, 1)) if kind == "garden/pots"));
    start(2, "glaze = { enum = ['matt', 'raw'] }", "'label'").await.unwrap();
    // An instance that still has the replaced schema cannot write.
    let pot = json!({ "label": "Blue", "glaze": "gloss" });
    assert_eq!(world.api(Method::POST, "/garden/int/v1/pots").json(&pot).send().await.status, 500);
    assert_eq!(world.count("select count(*) from declared_records").await, 0);

    let newer = World::on(&world.database, &[("extensions.directory", directory.path().to_str().unwrap())]).await;
    newer.api(Method::POST, "/garden/int/v1/pots").json(&json!({ "label": "Blue", "glaze": "matt" })).send().await.ok(201);
    // With records, only compatible changes are allowed.
    for (members, required, reason) in [
        ("glaze = { enum = ['matt'] }", "'label'", "glaze: a value that was allowed before is not allowed any more"),
        ("glaze = { enum = ['matt', 'raw'], type = 'string' }", "'label'", "glaze: type was added, or may be stricter than before"),
        ("glaze = { enum = ['matt', 'raw'] }", "'label', 'glaze'", "glaze: it is required, and stored records may lack it"),
    ] {
        let Unsuitable::Incompatible(kind, 2, 3, why) = start(3, members, required).await.unwrap_err() else { panic!("{reason}") };
        assert_eq!((kind.as_str(), why.to_string().as_str()), ("garden/pots", reason));
    }
    start(3, "glaze = { enum = ['matt', 'raw', 'gloss'] }, weight = { type = 'number' }", "").await.unwrap();
    let older = start(2, "glaze = { enum = ['matt', 'raw'] }", "'label'").await;
    assert!(matches!(older, Err(Unsuitable::Older(_, 3, 2))), "an older program does not start on newer records");
    // An instance with the previous schema may continue while it is replaced: everything it writes fits the new schema.
    newer.api(Method::POST, "/garden/int/v1/pots").json(&json!({ "label": "Red" })).send().await.ok(201);
    let versions = "select string_agg(version::text, ' ' order by version) from declared_schemas where kind = 'garden/pots'";
    assert_eq!(sqlx::query_scalar::<_, String>(versions).fetch_one(&world.pool).await.unwrap(), "2 3");
}

#[tokio::test]
async fn the_program_refuses_to_start_with_a_schema_that_records_may_not_fit() {
    let directory = garden(&file(1, "glaze = { type = 'string' }", "'label'"));
    let world = world(directory.path()).await;
    world.api(Method::POST, "/garden/int/v1/pots").json(&json!({ "label": "Blue" })).send().await.ok(201);
    fs::write(directory.path().join("garden.toml"), file(2, "glaze = { type = 'string' }", "'label', 'size'")).unwrap();
    let settings = [("database.url", world.database.as_str()), ("extensions.directory", directory.path().to_str().unwrap())];
    let reason = "records of garden/pots that are valid under version 1 of its schema may be invalid under version 2: \
                  size: it is required, and stored records may lack it";
    let said = refused(&["serve"], &settings).await;
    assert!(said.contains(reason), "{said}");
    // The doctor reports the same and changes nothing.
    let doctor = portico(&["doctor"], &settings).output().await.unwrap();
    assert!(String::from_utf8_lossy(&doctor.stdout).contains(reason), "{doctor:?}");
    assert_eq!(world.count("select count(*) from declared_schemas where kind = 'garden/pots'").await, 1);
}

#[tokio::test]
async fn instances_that_start_together_make_each_index_once() {
    let world = World::new().await;
    let directory = garden(&file(1, "glaze = { type = 'string' }", "'label'"));
    let indexes =
        "select count(*) from pg_index join pg_class on pg_class.oid = indexrelid where relname ~ '^declared_[0-9a-f]{16}$' and indisvalid";
    let before = world.count(indexes).await;
    let text = fs::read_to_string(directory.path().join("garden.toml")).unwrap();
    let instances: Vec<_> = (0..8).map(|_| declared(&world.pool, directory.path(), &text)).collect();
    for taken in join_all(instances.iter().map(Declared::take_schemas)).await {
        taken.unwrap();
    }
    for made in join_all(instances.iter().map(Declared::make_indexes)).await {
        made.unwrap();
    }
    assert_eq!(world.count(indexes).await, before + 2);
    // An index whose creation was interrupted is invalid and is created again.
    let interrupt = "update pg_index set indisvalid = false where indexrelid in
                     (select oid from pg_class where relname ~ '^declared_[0-9a-f]{16}$' order by oid desc limit 1)";
    sqlx::query(interrupt).execute(&world.pool).await.unwrap();
    assert_eq!(world.count(indexes).await, before + 1);
    instances[0].make_indexes().await.unwrap();
    assert_eq!(world.count(indexes).await, before + 2);
}

#[tokio::test]
async fn an_index_of_an_older_version_refuses_nothing_that_fits_the_newer() {
    let members = "label = { type = 'string', maxLength = 90 }, size = { type = 'integer' }, fired = { type = 'boolean' }";
    let first = pots(1, "'label', 'size', 'fired'", members, "");
    let directory = garden(&first);
    let database = database::fresh().await;
    let pool = database::pool(&database);
    let start = async |text: &str| {
        let instance = declared(&pool, directory.path(), text);
        instance.take_schemas().await.unwrap();
        instance.make_indexes().await.unwrap();
        World::on(&database, &[("extensions.directory", directory.path().to_str().unwrap())]).await
    };
    let make = async |version, filters: &str, members: &str, pot: &Value| {
        let newer = start(&pots(version, filters, members, "")).await;
        newer.api(Method::POST, "/garden/int/v1/pots").json(pot).send().await.ok(201);
        newer.api(Method::GET, "/garden/int/v1/pots?size=XL").send().await
    };
    start(&first).await;
    // Letters without repetition, so that the text cannot be compressed.
    let label: String = (0..10_000).map(|n: u32| char::from_u32(0x4e00 + n * 7919 % 20_000).unwrap()).collect();
    // Other types, while there are no records.
    let members = "label = { type = 'string' }, size = { type = 'string', maxLength = 9 }, fired = { type = 'string' }";
    let found = make(2, "'size'", members, &json!({ "label": label, "size": "XL", "fired": "twice" })).await.ok(200);
    assert_eq!(found["pots"].as_array().unwrap().len(), 1);
    // Wider types, with records.
    let members = "label = { type = ['string', 'array'] }, size = { type = ['string', 'number'] }, fired = {}";
    make(3, "", members, &json!({ "label": [label], "size": 1.5, "fired": { "at": "dawn" } })).await.refused(422, "parameter_invalid");
}

#[tokio::test]
async fn the_program_starts_without_its_database_and_takes_the_schemas_when_it_is_there() {
    let world = World::new().await;
    let directory = garden(&file(1, "glaze = { type = 'string' }", "'label'"));
    let text = fs::read_to_string(directory.path().join("garden.toml")).unwrap();
    sqlx::query("alter table declared_schemas rename to elsewhere").execute(&world.pool).await.unwrap();
    let (instance, lifecycle) = (declared(&world.pool, directory.path(), &text), Lifecycle::default());
    instance.start(&lifecycle).await.unwrap();
    assert!(instance.take_schemas().await.unwrap_err().may_pass());
    sqlx::query("alter table elsewhere rename to declared_schemas").execute(&world.pool).await.unwrap();
    let taken = "select count(*) from declared_schemas where kind = 'garden/pots'";
    until("the schema is taken", async || world.count(taken).await > 0).await;
    lifecycle.stop().await;
}

#[tokio::test]
async fn a_filtered_list_is_read_from_the_index_of_its_filter() {
    // A single connection, so that the list runs the statement that was prepared on it.
    let world = World::with(&[("database.max_connections", "1")]).await;
    sqlx::query(
        "insert into declared_records (id, company_id, version, created_at, updated_at, kind, schema_version, data)
         select gen_random_uuid(), $1, 1, now(), now(), kind, 1, jsonb_build_object('sku', 'S-' || n, 'priority', 1 + n % 5)
         from generate_series(1, 3000) n, unnest(array['inventory/stock-items', 'support/tickets']) kind",
    )
    .bind(world.company.uuid())
    .execute(&world.pool)
    .await
    .unwrap();
    sqlx::query("analyze declared_records").execute(&world.pool).await.unwrap();
    for (path, kind, column, value) in [
        ("/inventory/int/v1/stock-items?sku=S-77", "inventory/stock-items", "data ->> 'sku'", "'S-77'"),
        ("/support/int/v1/tickets?priority=5&limit=1", "support/tickets", "data ->> 'priority'", "5"),
    ] {
        let list = world.api(Method::GET, path).send().await.ok(200);
        let found = list.as_object().unwrap().values().find_map(Value::as_array).unwrap();
        assert_eq!(found.len(), 1, "{path}");
        let prepared = "select name from pg_prepared_statements where statement like 'select id, company_id%' || $1 || '%limit%'";
        let name: String = sqlx::query_scalar(prepared).bind(kind).fetch_one(&world.pool).await.unwrap();
        for mode in ["force_custom_plan", "force_generic_plan"] {
            sqlx::raw_sql(AssertSqlSafe(format!("set plan_cache_mode = {mode}"))).execute(&world.pool).await.unwrap();
            let explain = format!("explain execute \"{name}\" ('{}', {value}, 26)", world.company.uuid());
            let plan: Vec<String> = sqlx::query_scalar(AssertSqlSafe(explain)).fetch_all(&world.pool).await.unwrap();
            let plan = plan.join("\n");
            assert!(plan.contains("using declared_") && plan.contains(column) && !plan.contains("Filter"), "{mode} {path}: {plan}");
            assert!(!plan.contains("Sort") && !plan.contains("of_company"), "{mode} {path}: {plan}");
        }
    }
}

#[tokio::test]
async fn records_whose_file_is_missing_keep_the_program_from_starting() {
    let directory = garden(&file(1, "glaze = { type = 'string' }", "'label'"));
    let world = world(directory.path()).await;
    for label in ["Blue", "Red"] {
        world.api(Method::POST, "/garden/int/v1/pots").json(&json!({ "label": label })).send().await.ok(201);
    }
    fs::remove_file(directory.path().join("garden.toml")).unwrap();
    let path = directory.path().to_str().unwrap();
    let settings = [("database.url", world.database.as_str()), ("extensions.directory", path)];
    let reason = "no file in extensions.directory declares garden/pots, of which there are 2 records: bring the files back; if they were \
                  removed on purpose, name the kinds in extensions.retired, and their records stay in the database without being served";
    let said = refused(&["serve"], &settings).await;
    assert!(said.contains(reason), "{said}");
    let doctor = portico(&["doctor"], &settings).output().await.unwrap();
    assert!(String::from_utf8_lossy(&doctor.stdout).contains(reason), "{doctor:?}");

    // On purpose: the kind is retired, and not served.
    let retired = |kinds| [("database.url", world.database.as_str()), ("extensions.directory", path), ("extensions.retired", kinds)];
    let service = Service::start(&retired("garden/pots")).await;
    let get = reqwest::Client::builder().no_proxy().build().unwrap().get(format!("http://{}/garden/int/v1/pots", service.address));
    assert_eq!(get.bearer_auth(&world.api_key).send().await.unwrap().status(), 404);
    // An entry that stays although the file is back would hide that it is missing the next time.
    fs::write(directory.path().join("garden.toml"), file(1, "glaze = { type = 'string' }", "'label'")).unwrap();
    let both = portico(&["serve"], &retired("garden/pots")).output().await.unwrap();
    assert!(String::from_utf8_lossy(&both.stderr).contains("extensions.retired names garden/pots, which a file declares"), "{both:?}");

    // Deleted records need no file.
    let list = world.api(Method::GET, "/garden/int/v1/pots").send().await.ok(200);
    for pot in list["pots"].as_array().unwrap() {
        world.api(Method::DELETE, &format!("/garden/int/v1/pots/{}", pot["id"].as_str().unwrap())).send().await.ok(200);
    }
    fs::remove_file(directory.path().join("garden.toml")).unwrap();
    Service::start(&settings).await;
}
