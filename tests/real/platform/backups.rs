//! `portico backup` and `portico restore`: docs/operating.md, "Backups".

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use portico::dev::temporary::TemporaryDirectory;
use portico::kernel::database::programs::find_program;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor};

use crate::support::World;
use crate::support::database::empty_beside;
use crate::support::fleet::id;
use crate::support::own_postgres::OwnPostgres;
use crate::support::program::{ask_to_stop, portico, printed, refused};
use crate::support::proxy::percent_decode;
use crate::support::sealed_shop::{Shop, everything_works, new_key};
use crate::support::waiting::{in_time, until};

/// A backup of a shop, and an empty database beside its own.
struct BackedUp {
    shop: Shop,
    directory: TemporaryDirectory,
    empty: String,
}

impl BackedUp {
    async fn new() -> Self {
        let shop = Shop::open().await;
        shop.world.api(Method::POST, "/inventory/int/v1/warehouses").json(&json!({ "name": "North", "code": "N1" })).send().await.ok(201);
        let directory = TemporaryDirectory::make("portico-backup").unwrap();
        let this = Self { empty: empty_beside(&shop.world).await, shop, directory };
        printed(&["backup", this.path().to_str().unwrap()], &this.settings(&this.shop.world.database)).await;
        this
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("backup")
    }

    fn settings<'a>(&'a self, database: &'a str) -> [(&'static str, &'a str); 2] {
        [("database.url", database), ("application_key", self.shop.world.application_key_setting.as_str())]
    }

    fn manifest(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path().join("manifest.json")).unwrap()).unwrap()
    }

    /// Changes the manifest, as if the backup were another one.
    fn edit(&self, edit: impl FnOnce(&mut Value)) {
        let mut manifest = self.manifest();
        edit(&mut manifest);
        fs::write(self.path().join("manifest.json"), manifest.to_string()).unwrap();
    }

    /// The refusal of a restore with these settings beside the usual ones, which leaves the empty database empty.
    async fn refused(&self, settings: &[(&str, &str)]) -> String {
        let settings = [self.settings(&self.empty).as_slice(), settings].concat();
        let refusal = refused(&["restore", self.path().to_str().unwrap()], &settings).await;
        let pool = crate::support::database::pool(&self.empty);
        let tables = "select count(*) from pg_class where relnamespace = 'public'::regnamespace";
        assert_eq!(sqlx::query_scalar::<_, i64>(tables).fetch_one(&pool).await.unwrap(), 0);
        pool.close().await;
        refusal
    }
}

#[tokio::test]
async fn a_backup_is_restored_into_an_empty_database_and_everything_works() {
    let shop = Shop::open().await;
    let (world, receiver) = (&shop.world, &shop.receiver);
    let order = world.new_record();
    world.deliver().await;
    let failed = world.fail(receiver, "order.created").await;
    let waiting = world.publish_about(order, "order.created").await;
    world.fan_out().await;
    world.developers(Method::POST, &format!("deliveries/{}/replay", id(&failed)), json!({})).await.ok(201);
    let directory = TemporaryDirectory::make("portico-backup").unwrap();
    let path = directory.path().join("backup");
    let settings = |database| [("database.url", database), ("application_key", shop.world.application_key_setting.as_str())];
    let made = printed(&["backup", path.to_str().unwrap(), "--json"], &settings(&world.database)).await;
    let made: Value = serde_json::from_str(&made).unwrap();
    let fingerprint = world.application_key.fingerprint().to_string();
    assert_eq!(made["backup"]["manifest"]["sealed"], json!({ fingerprint.as_str(): 14 }));

    // Lost with the database: what happens after the backup.
    world.deliver().await;
    let lost = world.publish_about(order, "order.updated").await;
    let empty = empty_beside(world).await;
    let restored = printed(&["restore", path.to_str().unwrap()], &settings(&empty)).await;
    assert!(restored.starts_with("The database is as it was at ") && restored.ends_with("+00:00.\n"), "{restored}");

    let again = world.moved_to(&empty);
    let deliveries = |id: String| receiver.received().into_iter().filter(|post| post.header("webhook-id") == id).count();
    let replayed = failed["event_id"].as_str().unwrap().to_owned();
    let before = (deliveries(waiting.to_string()), deliveries(replayed.clone()));
    again.pass(chrono::TimeDelta::minutes(1));
    again.deliver().await;
    assert_eq!(
        (deliveries(waiting.to_string()), deliveries(replayed)),
        (before.0 + 1, before.1 + 1),
        "deliveries and replays that had not been made are made, again for those who have them"
    );
    let next = again.publish_about(order, "order.updated").await;
    again.deliver().await;
    let post = receiver.received().into_iter().find(|post| post.header("webhook-id") == next.to_string()).unwrap();
    assert_eq!(post.header("x-service-sequence"), "2", "the number of the lost event is given again");
    again.everything_is_fanned_out().await;
    let mut stream = again.stream("?events=order.updated", Some(&waiting.to_string())).await;
    assert_eq!(stream.next().await.unwrap().id, next.to_string());
    assert_eq!(again.stream_of(&again.api_key, "", Some(&lost.to_string())).await.status(), 404);
    drop(stream);
    everything_works(&shop, &again, 1).await;
    let doctor = portico(&["doctor"], &settings(&empty)).output().await.unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("all migrations are applied"), "{doctor}");
}

#[tokio::test]
async fn on_a_server_that_has_counted_fewer_transactions_streams_go_on() {
    let (own, other) = (OwnPostgres::start().await, OwnPostgres::start().await);
    let world = World::on(&own.url(), &[]).await;
    world.pool.execute(count(3_000)).await.unwrap();
    let before = world.publish("order.created").await;
    world.everything_is_fanned_out().await;
    let directory = TemporaryDirectory::make("portico-backup").unwrap();
    let path = directory.path().join("backup");
    let settings = |database| [("database.url", database), ("application_key", world.application_key_setting.as_str())];
    printed(&["backup", path.to_str().unwrap()], &settings(&world.database)).await;
    let mut url = url::Url::parse(&other.url()).unwrap();
    other.connect().await.execute("create database restored template template0").await.unwrap();
    url.set_path("restored");
    printed(&["restore", path.to_str().unwrap()], &settings(url.as_str())).await;

    let again = world.moved_to(url.as_str());
    let mut stream = again.stream("", Some(&before.to_string())).await;
    let next = again.publish("order.updated").await;
    assert_eq!(stream.next().await.unwrap().id, next.to_string());
    let mut new = again.stream("", None).await;
    let last = again.publish("order.dispatched").await;
    assert_eq!(new.next().await.unwrap().id, last.to_string());
    drop((stream, new));
    other.end(again).await;
    own.end(world).await;
}

/// A statement that lets the server count so many transactions.
fn count(transactions: u32) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!(
        "do $$ begin
             perform set_config('synchronous_commit', 'off', false);
             for i in 1..{transactions} loop perform pg_catalog.pg_current_xact_id(); commit; end loop;
         end $$"
    ))
}

#[tokio::test]
async fn a_backup_says_what_it_needs_and_nothing_secret() {
    let backed_up = BackedUp::new().await;
    let (path, manifest) = (backed_up.path(), backed_up.manifest());
    assert_eq!((&manifest["format"], &manifest["portico"]), (&json!(1), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!(manifest["kinds"], json!(["inventory/warehouses"]));
    let key = backed_up.shop.world.application_key.fingerprint().to_string();
    assert_eq!(manifest["recovery_codes"], json!({ key.as_str(): 1 }), "one operator has recovery codes");
    let dump = fs::read(path.join("database.dump")).unwrap();
    assert_eq!(manifest["dump"]["bytes"], dump.len());
    assert_eq!(manifest["dump"]["sha256"], hex::encode(portico::kernel::crypto::sha256(&dump)));
    assert!(!manifest.to_string().contains(&backed_up.shop.world.application_key_setting));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join("database.dump"))), (0o700, 0o600));
    assert_eq!(fs::read_dir(backed_up.directory.path()).unwrap().count(), 1, "nothing unfinished is left");

    let settings = backed_up.settings(&backed_up.shop.world.database);
    let said = refused(&["backup", path.to_str().unwrap()], &settings).await;
    assert!(said.contains("exists already: name a directory that does not"), "{said}");
}

#[tokio::test]
async fn a_backup_whose_recovery_codes_need_another_key_is_restored_and_the_command_says_so() {
    let backed_up = BackedUp::new().await;
    backed_up.edit(|manifest| manifest["recovery_codes"] = json!({ "0123456789abcdef": 3 }));
    let settings = backed_up.settings(&backed_up.empty);
    let restored = portico(&["restore", backed_up.path().to_str().unwrap()], &settings).output().await.unwrap();
    let said = String::from_utf8(restored.stderr).unwrap();
    assert!(restored.status.success(), "{said}");
    assert!(
        said.contains("the recovery codes of 3 operators need the application key 0123456789abcdef, which is not configured"),
        "{said}"
    );
}

#[tokio::test]
async fn a_backup_that_does_not_fit_is_refused_and_nothing_is_changed() {
    let backed_up = BackedUp::new().await;
    let fingerprint = backed_up.shop.world.application_key.fingerprint();
    let other = new_key();
    let said = backed_up.refused(&[("application_key", &other)]).await;
    assert!(said.contains(&format!("the backup needs the application key {fingerprint}, and the configured one is ")), "{said}");
    let nothing = TemporaryDirectory::make("portico-no-extensions").unwrap();
    let said = backed_up.refused(&[("extensions.directory", nothing.path().to_str().unwrap())]).await;
    assert!(said.contains("has records of inventory/warehouses, which no file in extensions.directory declares"), "{said}");

    let whole = backed_up.manifest();
    backed_up.edit(|manifest| manifest["migrations"].as_array_mut().unwrap().push(json!(20_990_101_000_000_i64)));
    backed_up.edit(|manifest| manifest["portico"] = json!("9.0.0"));
    let said = backed_up.refused(&[]).await;
    assert!(said.contains("has 1 migrations that this version does not know: restore it with Portico 9.0.0"), "{said}");
    backed_up.edit(|manifest| *manifest = json!({ "format": 2, "whatever": true }));
    let said = backed_up.refused(&[]).await;
    assert!(said.contains("the backup has the form 2, which this version does not know"), "{said}");

    backed_up.edit(|manifest| *manifest = whole);
    let dump = backed_up.path().join("database.dump");
    let mut bytes = fs::read(&dump).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&dump, &bytes).unwrap();
    assert!(backed_up.refused(&[]).await.contains("the dump is not the one that the manifest describes"));
    bytes[middle] ^= 1;
    fs::write(&dump, &bytes).unwrap();

    let path = backed_up.path();
    let restore = ["restore", path.to_str().unwrap()];
    let output = portico(&restore, &backed_up.settings(&backed_up.shop.world.database)).output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("tables and views already: create an empty one (createdb), and name it in database.url"), "{said}");
    // The key may also be one that is being replaced.
    let previous = backed_up.shop.world.application_key_setting.clone();
    let settings = [("database.url", backed_up.empty.as_str()), ("application_key", &other), ("previous_application_keys", &previous)];
    printed(&restore, &settings).await;
}

#[tokio::test]
async fn the_password_is_not_among_the_arguments_and_one_of_several_servers_is_found() {
    let world = World::new().await;
    let url = url::Url::parse(&world.database).unwrap();
    let (socket, name) = (percent_decode(url.host_str().unwrap()), url.path().trim_start_matches('/').to_owned());
    // The server trusts whoever reaches its socket; the program before pg_dump writes down what everybody can see.
    let directory = TemporaryDirectory::make("portico-pg-dump").unwrap();
    let (program, seen) = (directory.path().join("pg_dump"), directory.path().join("seen"));
    let real = find_program("pg_dump").unwrap();
    let script = format!("#!/bin/sh\necho \"$@\" \"($PGPASSWORD)\" >{}\nexec {} \"$@\"\n", seen.display(), real.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let nobody = percent_encoded(directory.path());
    let several = format!("postgres://portico:s3cret@{nobody},{}/{name}", percent_encoded(Path::new(&socket)));
    let path = directory.path().join("backup");
    let mut command = portico(&["backup", path.to_str().unwrap()], &[("database.url", &several)]);
    let output = command.env("PATH", directory.path()).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = fs::read_to_string(seen).unwrap();
    let (arguments, password) = seen.trim().rsplit_once(' ').unwrap();
    assert!(!arguments.contains("s3cret") && arguments.contains("target_session_attrs=read-write"), "{arguments}");
    assert_eq!(password, "(s3cret)");
}

#[tokio::test]
async fn a_backup_that_is_stopped_leaves_nothing_and_can_be_made_again() {
    let world = World::new().await;
    let directory = TemporaryDirectory::make("portico-stopped").unwrap();
    // Writes down which process it is, and goes on for ever.
    let (program, begun, path) = (directory.path().join("pg_dump"), directory.path().join("begun"), directory.path().join("backup"));
    fs::write(&program, format!("#!/bin/sh\necho $$ >{}\nexec /bin/sleep 600\n", begun.display())).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let settings = [("database.url", world.database.as_str()), ("application_key", world.application_key_setting.as_str())];
    let mut command = portico(&["backup", path.to_str().unwrap()], &settings);
    let child = command.env("PATH", directory.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let dumping = || fs::read_to_string(&begun).unwrap_or_default();
    until("the dump has begun", async || dumping().ends_with('\n')).await;
    ask_to_stop(&child);
    let stopped = in_time("the command stops", child.wait_with_output()).await.unwrap();
    let said = String::from_utf8(stopped.stderr).unwrap();
    assert_eq!(stopped.status.code(), Some(1), "{said}");
    assert!(said.contains("portico: stopped: what was not complete is taken back"), "{said}");
    assert!(!path.exists() && !path.with_file_name("backup.unfinished").exists());
    let process = PathBuf::from(format!("/proc/{}/exe", dumping().trim()));
    until("pg_dump has ended", async || !process.exists()).await;
    printed(&["backup", path.to_str().unwrap()], &settings).await;
}

fn percent_encoded(path: &Path) -> String {
    path.to_str().unwrap().replace('/', "%2F")
}
