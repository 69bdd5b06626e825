//! A role that owns the tables, and another one that the service works with (operating, "Two roles").

use std::process::Output;

use chrono::TimeDelta;
use portico::dev::temporary::TemporaryDirectory;
use reqwest::Method;
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor};
use url::Url;

use crate::platform::companies::fill;
use crate::support::World;
use crate::support::database;
use crate::support::program::{finding, portico, printed, refused};
use crate::support::waiting::until;

const GUIDE: &str = include_str!("../../../docs/operating.md");

/// An empty database with an owner and another role, which may not even connect.
struct Roles {
    /// The URL of a superuser.
    superuser: String,
    owner: String,
    guest: String,
}

impl Roles {
    /// Makes them by the statements of the guide, with names of the story's own.
    async fn new() -> Self {
        let beside = database::empty().await;
        let name = format!("{}_of_two_roles", Url::parse(&beside).unwrap().path().trim_start_matches('/'));
        let (owner, guest) = (format!("owner_of_{name}"), format!("guest of {name}"));
        let (_, statements) = GUIDE.split_once("```sql\n").unwrap();
        let statements = statements.split("```").next().unwrap().replace("portico_owner", &owner);
        let statements =
            statements.replace("role portico ", &format!("role \"{guest}\" ")).replace("database portico ", &format!("database {name} "));
        let pool = database::pool(&beside);
        for statement in statements.lines().chain([format!("revoke all on database {name} from public").as_str()]) {
            pool.execute(AssertSqlSafe(statement.to_owned())).await.unwrap();
        }
        pool.close().await;
        let url_of = |role: Option<&str>| {
            let mut url = Url::parse(&beside).unwrap();
            url.set_path(&name);
            if let Some(role) = role {
                url.set_username(role).unwrap();
            }
            String::from(url)
        };
        Self { superuser: url_of(None), owner: url_of(Some(&owner)), guest: url_of(Some(&guest)) }
    }

    fn settings(&self) -> [(&'static str, &str); 2] {
        [("database.url", self.guest.as_str()), ("database.owner_url", self.owner.as_str())]
    }

    /// What `portico doctor` says of the roles.
    async fn judged(&self) -> String {
        let Output { stdout, .. } = portico(&["doctor"], &self.settings()).output().await.unwrap();
        finding(&String::from_utf8(stdout).unwrap(), "roles  ").to_owned()
    }

    /// Executes a statement about the role `guest`.
    async fn as_superuser(&self, statement: &'static str) {
        let pool = database::pool(&self.superuser);
        pool.execute(AssertSqlSafe(statement.replace("guest", &self.quoted_guest()))).await.unwrap();
        pool.close().await;
    }

    fn quoted_guest(&self) -> String {
        let url = Url::parse(&self.guest).unwrap();
        format!("\"{}\"", url.username().replace("%20", " "))
    }
}

/// The code with which PostgreSQL refuses what a role may not do.
async fn refusal(world: &World, statement: &'static str) -> String {
    let error = world.pool.execute(statement).await.unwrap_err();
    error.as_database_error().unwrap().code().unwrap().into_owned()
}

#[tokio::test]
async fn the_service_does_all_its_work_with_a_role_that_owns_nothing() {
    let roles = Roles::new().await;
    printed(&["migrate"], &roles.settings()).await;
    assert!(roles.judged().await.starts_with("ok "), "{}", roles.judged().await);

    let world = World::on(&roles.guest, &[("database.owner_url", &roles.owner)]).await;
    world.state.declared.take_schemas().await.unwrap();
    world.state.declared.make_indexes().await.unwrap();
    world.state.webhooks.create_partitions().await.unwrap();
    fill(&world).await;
    world.api(Method::POST, "/inventory/int/v1/warehouses").json(&json!({ "name": "North", "code": "N1" })).send().await.ok(201);
    let (receiver, _) = world.subscriber("late.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    assert!(receiver.received().iter().any(|post| post.header("x-service-event") == "order.created"));
    let mut stream = world.stream("", None).await;
    let next = world.publish("order.updated").await;
    assert_eq!(stream.next().await.unwrap().id, next.to_string());
    drop(stream);

    // The days are those of the owner, and go when they have expired.
    let days = "select count(*) from pg_inherits join pg_class on pg_class.oid = inhrelid
                where inhparent = 'events'::regclass and relname <> 'events_default' and relowner::regrole::text like 'owner_of_%'";
    assert_eq!(world.count(days).await, 4);
    world.deliver().await;
    world.pass(TimeDelta::days(40));
    world.state.webhooks.maintain_partitions().await.unwrap();
    world.state.sweep().await.unwrap();
    assert_eq!(world.count(days).await, 4, "today and the next three days, and none of the first day");
    assert_eq!(world.count("select count(*) from attempts").await, 0);
    let crowd = "insert into outbox (event_id, company_id, name) select gen_random_uuid(), gen_random_uuid(), 'order.created' from generate_series(1, 20000)";
    world.pool.execute(crowd).await.unwrap();
    world.pool.execute("delete from outbox").await.unwrap();
    until("the outbox is vacuumed", async || {
        world.state.webhooks.vacuum_queue().await.unwrap();
        world.count("select count(*) from pg_stat_user_tables where relname = 'outbox' and vacuum_count > 0").await == 1
    })
    .await;

    for beyond in [
        "drop table customers",
        "truncate orders",
        "alter table orders drop column status",
        "create table loot (id int)",
        "create schema loot",
        "delete from _sqlx_migrations",
        "update schema_compatibility set at_least = 1",
        "create index on customers (name)",
        "select setval('event_places', 1)",
        "set role portico",
    ] {
        assert_eq!(refusal(&world, beyond).await, "42501", "{beyond}");
    }

    assert!(roles.judged().await.starts_with("ok "), "{}", roles.judged().await);
    printed(&["company", "suspend", "Acme"], &roles.settings()).await;
    printed(&["company", "delete", "Acme", "--yes"], &roles.settings()).await;
    assert_eq!(world.count("select count(*) from companies").await, 0);
}

#[tokio::test]
async fn migrating_gives_the_role_what_it_lacks_and_takes_what_is_too_much() {
    let roles = Roles::new().await;
    printed(&["migrate"], &[("database.url", roles.owner.as_str())]).await;
    let said = refused(&["company", "list"], &roles.settings()).await;
    assert!(said.contains("has no right to the tables: run portico migrate"), "{said}");
    assert!(roles.judged().await.contains("run portico migrate"), "{}", roles.judged().await);

    printed(&["migrate"], &roles.settings()).await;
    assert!(roles.judged().await.starts_with("ok "), "{}", roles.judged().await);
    for (statement, judged) in [
        ("grant truncate on orders to guest", "can do more than it needs: truncate on table orders"),
        ("revoke select on customers from guest", "lacks select on table customers: run portico migrate"),
        ("revoke select on outbox_position_seq from guest", "lacks select on sequence outbox_position_seq"),
        ("grant insert on schema_compatibility to guest", "can do more than it needs: insert on table schema_compatibility"),
        ("grant create on schema public to guest", "can do more than it needs: create on schema public"),
    ] {
        roles.as_superuser(statement).await;
        let said = roles.judged().await;
        assert!(said.starts_with("BAD ") && said.contains(judged), "{said}");
        printed(&["migrate"], &roles.settings()).await;
        assert!(roles.judged().await.starts_with("ok "), "{}", roles.judged().await);
    }
    // No grant restricts these.
    roles.as_superuser("alter role guest createrole").await;
    assert!(roles.judged().await.contains("can do more than it needs: take createdb, createrole"), "{}", roles.judged().await);
    roles.as_superuser("alter role guest superuser").await;
    assert!(roles.judged().await.contains("may do what only owner_of_"), "{}", roles.judged().await);
}

#[tokio::test]
async fn what_a_migration_makes_anew_can_be_used_at_once() {
    let roles = Roles::new().await;
    printed(&["migrate"], &roles.settings()).await;
    let world = World::on(&roles.guest, &[("database.owner_url", &roles.owner)]).await;
    let owner = database::pool(&roles.owner);
    for statement in ["create table hats (id bigint generated always as identity)", "create view hat_list as select id from hats"] {
        owner.execute(statement).await.unwrap();
    }
    owner.close().await;
    world.pool.execute("insert into hats default values").await.unwrap();
    assert_eq!(world.count("select count(*) from hat_list").await, 1);
    assert!(roles.judged().await.starts_with("ok "), "{}", roles.judged().await);
}

#[tokio::test]
async fn backups_are_made_and_restored_by_the_owner() {
    let (roles, empty) = (Roles::new().await, Roles::new().await);
    printed(&["migrate"], &roles.settings()).await;
    let world = World::on(&roles.guest, &[("database.owner_url", &roles.owner)]).await;
    let directory = TemporaryDirectory::make("portico-backup").unwrap();
    let path = directory.path().join("backup");
    let key = [("application_key", world.application_key_setting.as_str())];
    printed(&["backup", path.to_str().unwrap()], &[roles.settings().as_slice(), key.as_slice()].concat()).await;
    printed(&["restore", path.to_str().unwrap()], &[empty.settings().as_slice(), key.as_slice()].concat()).await;
    assert!(empty.judged().await.starts_with("ok "), "{}", empty.judged().await);
    assert!(printed(&["company", "list"], &empty.settings()).await.contains("Acme"));
}
