//! Databases from before the first edition of the schema: a configured one is refused and not changed, that of development is set aside.

use portico::dev::postgres::{DATABASE, PrivatePostgres, Settings};
use portico::dev::temporary::TemporaryDirectory;
use reqwest::Method;
use serde_json::Value;
use sqlx::{Connection, Executor, PgConnection};

use crate::support::program::{Service, portico, refused};
use crate::support::waiting::until;
use crate::support::{World, database};

/// What is left of the first migration of the former schema.
const FORMER: &str = "
    create table _sqlx_migrations (version bigint primary key, description text not null, installed_on timestamptz not null default now(),
                                   success boolean not null, checksum bytea not null, execution_time bigint not null);
    insert into _sqlx_migrations values (20261121090000, 'create rate limits', now(), true, '', 0);
    create table rate_limits (bucket text primary key);
    insert into rate_limits values ('of before');";

const REFUSAL: &str = "created before the first edition of the schema";

async fn buckets(url: &str) -> Vec<String> {
    let mut conn = PgConnection::connect(url).await.unwrap();
    sqlx::query_scalar("select bucket from rate_limits").fetch_all(&mut conn).await.unwrap()
}

#[tokio::test]
async fn a_configured_database_of_before_is_refused_and_not_changed() {
    let world = World::new().await;
    let url = database::empty_beside(&world).await;
    PgConnection::connect(&url).await.unwrap().execute(FORMER).await.unwrap();
    let production = [("database.url", url.as_str())];
    let directory = TemporaryDirectory::make("portico-edition").unwrap();
    let development = [production[0], ("environment", "development"), ("dev.data_dir", directory.path().to_str().unwrap())];
    for (arguments, settings) in [
        (&["migrate"][..], &production[..]),
        (&["serve"], &production),
        (&["serve", "--migrate"], &production),
        (&["company", "create", "My Shop"], &production),
        (&["serve"], &development),
        (&["demo"], &development),
    ] {
        let words = refused(arguments, settings).await;
        assert!(words.contains(REFUSAL) && words.contains("configure an empty database"), "{arguments:?}: {words}");
    }
    let report = portico(&["doctor"], &production).output().await.unwrap();
    assert!(String::from_utf8(report.stdout).unwrap().contains(REFUSAL));
    assert_eq!(buckets(&url).await, ["of before"]);
}

/// What a newer version leaves behind: a migration, and the oldest one that a version must know to work with it.
async fn migrate_further(world: &World, at_least: i64) {
    for sql in [
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
         values (20991231235959, 'of a newer version', true, '', 0) on conflict do nothing",
        "create table if not exists of_a_newer_version ()",
    ] {
        world.pool.execute(sql).await.unwrap();
    }
    sqlx::query("update schema_compatibility set at_least = $1").bind(at_least).execute(&world.pool).await.unwrap();
}

#[tokio::test]
async fn an_older_version_works_with_a_newer_schema_that_lacks_nothing() {
    let world = World::new().await;
    migrate_further(&world, 20261126000000).await;
    let settings = [("database.url", world.database.as_str())];
    let migrated = portico(&["migrate"], &settings).output().await.unwrap();
    let words = String::from_utf8(migrated.stderr).unwrap();
    assert!(migrated.status.success() && words.contains("migrated by a newer version of Portico"), "{words}");
    let service = Service::start_with(&["--migrate"], &settings).await;
    assert!(service.log().contains("this version works with it"), "{}", service.log());
    let readyz = format!("http://{}/readyz", service.address);
    until("the service is ready", async || reqwest::get(&readyz).await.unwrap().status() == 200).await;
    world.request(Method::GET, "/readyz").send().await.ok(200);
}

#[tokio::test]
async fn a_version_that_needs_what_was_taken_away_refuses_and_changes_nothing() {
    let world = World::new().await;
    let instance = world.another_instance();
    instance.request(Method::GET, "/readyz").send().await.ok(200);
    migrate_further(&world, 20991231235959).await;
    let settings = [("database.url", world.database.as_str())];
    for arguments in [&["migrate"][..], &["serve"], &["serve", "--migrate"], &["company", "create", "My Shop"]] {
        let words = refused(arguments, &settings).await;
        assert!(words.contains("run a version that knows migration 20991231235959"), "{arguments:?}: {words}");
    }
    until("the next check finds it", async || instance.request(Method::GET, "/readyz").send().await.status == 503).await;
    let unready = instance.request(Method::GET, "/readyz").send().await.refused(503, "database_unavailable");
    assert!(unready["detail"].as_str().unwrap().contains("migrated beyond what this version"), "{unready}");
    assert_eq!(world.count("select count(*) from companies").await, 1);
}

#[tokio::test]
async fn an_instance_on_a_database_of_before_is_not_ready() {
    let world = World::new().await;
    world.request(Method::GET, "/readyz").send().await.ok(200);
    world
        .pool
        .execute("update _sqlx_migrations set version = 20261121090000 where version = (select min(version) from _sqlx_migrations)")
        .await
        .unwrap();
    until("the next check finds it", async || world.request(Method::GET, "/readyz").send().await.status == 503).await;
    let unready = world.request(Method::GET, "/readyz").send().await.refused(503, "database_unavailable");
    assert!(unready["detail"].as_str().unwrap().contains(REFUSAL), "{unready}");
}

#[tokio::test]
async fn the_development_database_of_before_is_set_aside_and_kept() {
    let directory = TemporaryDirectory::make("portico-edition").unwrap();
    let data_dir = directory.path().join("data");
    let settings = Settings { data_dir: data_dir.clone(), durable: false, max_connections: 10 };
    let start = async || {
        let settings = settings.clone();
        tokio::task::spawn_blocking(move || PrivatePostgres::start(&settings).unwrap()).await.unwrap()
    };
    let former = start().await;
    PgConnection::connect(&former.url(DATABASE)).await.unwrap().execute(FORMER).await.unwrap();
    former.stop().await;

    let development = [("environment", "development"), ("dev.data_dir", data_dir.to_str().unwrap())];
    let demo = async || {
        let output = portico(&["demo", "--json"], &development).output().await.unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{words}");
        (serde_json::from_slice::<Value>(&output.stdout).unwrap()["company"].take(), words)
    };
    let (company, words) = demo().await;
    let aside = data_dir.canonicalize().unwrap().join("postgres-set-aside-1");
    assert!(words.contains(REFUSAL) && words.contains(aside.to_str().unwrap()), "{words}");
    let (again, words) = demo().await;
    assert!(again == company && !words.contains(REFUSAL), "{words}");

    std::fs::remove_dir_all(data_dir.join("postgres")).unwrap();
    std::fs::rename(aside, data_dir.join("postgres")).unwrap();
    let former = start().await;
    assert_eq!(buckets(&former.url(DATABASE)).await, ["of before"]);
    former.stop().await;
}
