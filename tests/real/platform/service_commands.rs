//! The commands that ask a running service, and what all commands have in common: tables, JSON, exit codes, secrets, the manual.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::Stdio;

use nix::pty::openpty;
use nix::sys::termios::{LocalFlags, tcgetattr};
use portico::dev::temporary::TemporaryDirectory;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::task::{spawn_blocking, yield_now};

use crate::support::World;
use crate::support::gateways::SECRET_KEY;
use crate::support::program::{portico, printed};
use crate::support::waiting::in_time;

/// A command that asks the service of a world with its API key.
fn asking(world: &World, arguments: &[&str]) -> Command {
    let mut command = portico(arguments, &[]);
    command.env("PORTICO_URL", format!("http://{}", world.address)).env("PORTICO_API_KEY", &world.api_key);
    command
}

/// How a command ends: its code, what it prints and what it complains of.
async fn ended(mut command: Command) -> (i32, String, String) {
    let output = command.output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// What a command prints; the story ends if it fails.
async fn answered(world: &World, arguments: &[&str]) -> String {
    let (code, printed, complaint) = ended(asking(world, arguments)).await;
    assert_eq!(code, 0, "{arguments:?}: {complaint}");
    printed
}

#[tokio::test]
async fn a_webhook_is_created_listed_shown_changed_and_deleted_from_the_command_line() {
    let world = World::new().await;
    let url = world.endpoint("shop.test").await.url();
    let create = ["webhook", "create", "--url", &url, "--events", "order.*,driver.online", "--rate-limit", "5"];
    let created: Value = serde_json::from_str(&answered(&world, &[&create[..], &["--json"]].concat()).await).unwrap();
    let (id, webhook) = (created["webhook"]["id"].as_str().unwrap(), &created["webhook"]);
    assert_eq!((&webhook["events"], &webhook["rate_limit"]), (&json!(["order.*", "driver.online"]), &json!(5)));

    let table = answered(&world, &["webhook", "list"]).await;
    let rows: Vec<_> = table.lines().collect();
    assert!(rows.len() == 2 && rows[0].starts_with("id  ") && rows[1].starts_with(id), "{table}");
    let column = rows[0].find("url").unwrap();
    assert!(rows[1][column..].starts_with(&url), "{table}");
    let chosen = answered(&world, &["webhook", "list", "--status", "enabled", "--columns", "rate_limit,health.state"]).await;
    assert!(chosen.starts_with("rate_limit") && !chosen.contains(id), "{chosen}");

    assert!(answered(&world, &["webhook", "update", id, "--rate-limit", "", "--description", "Ours"]).await.contains("Ours"));
    let shown = answered(&world, &["webhook", "show", id]).await;
    assert!(shown.contains("description") && !shown.contains("rate_limit") && !shown.contains('{'), "{shown}");
    assert!(answered(&world, &["webhook", "pause", id]).await.contains("paused"));
    assert!(answered(&world, &["webhook", "resume", id]).await.contains("enabled"));
    assert!(answered(&world, &["webhook", "test", id]).await.contains("webhook.test"));
    let changes = answered(&world, &["changes", "list", "--record", id]).await;
    assert!(changes.lines().count() >= 4 && changes.contains("updated"), "{changes}");
    answered(&world, &["webhook", "delete", id]).await;
    let (code, nothing, remark) = ended(asking(&world, &["webhook", "list"])).await;
    assert_eq!((code, nothing.as_str(), remark.as_str()), (0, "", "There are none.\n"));
}

#[tokio::test]
async fn a_secret_is_printed_only_if_it_is_asked_for() {
    let world = World::new().await;
    let url = world.endpoint("shop.test").await.url();
    let create = ["webhook", "create", "--url", &url];
    let (_, lines, remark) = ended(asking(&world, &create)).await;
    assert!(!lines.contains("whsec_") && remark.contains("--show-secrets"), "{lines} {remark}");
    let id = lines.split_whitespace().find(|word| word.starts_with("webhook_")).unwrap();
    assert!(!answered(&world, &["webhook", "rotate-secret", id, "--overlap", "0", "--json"]).await.contains("whsec_"));
    let rotated = answered(&world, &["webhook", "rotate-secret", id, "--overlap", "0", "--show-secrets"]).await;
    let secret = rotated.split_whitespace().find(|word| word.starts_with("whsec_")).unwrap();
    assert!(answered(&world, &["webhook", "secret", id]).await.contains(secret));

    // What the API only takes is read from a file.
    let directory = TemporaryDirectory::make("portico-secret").unwrap();
    let file = directory.path().join("secret");
    fs::write(&file, "a-secret-of-the-bank\n").unwrap();
    let cards = world.gateway(json!({ "name": "Cards", "driver": "card", "secret_key": SECRET_KEY })).await;
    let update = ["gateway", "update", cards["id"].as_str().unwrap(), "--signing-secret-file", file.to_str().unwrap()];
    let updated = answered(&world, &update).await;
    assert!(updated.lines().any(|line| line.starts_with("has_signing_secret") && line.ends_with("true")), "{updated}");
    assert!(!updated.contains("of-the-bank"), "{updated}");
}

#[tokio::test]
async fn a_list_has_as_many_records_as_are_asked_for() {
    let world = World::new().await;
    for _ in 0..130 {
        world.publish("order.created").await;
    }
    let ids = |lines: &str| -> Vec<String> {
        let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.map(|record| record["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = ids(&answered(&world, &["event", "list", "--all", "--json"]).await);
    let mut distinct = all.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!((all.len(), distinct.len()), (130, 130));
    let some = ended(asking(&world, &["event", "list", "--limit", "105", "--json"])).await;
    assert_eq!(ids(&some.1), all[..105]);
    assert!(some.2.contains("These are 105, and there are more"), "{}", some.2);
    assert_eq!(answered(&world, &["event", "list"]).await.lines().count(), 26);
}

#[tokio::test]
async fn a_command_that_fails_ends_with_the_code_of_the_cause() {
    let mut world = World::new().await;
    let nobody = "webhook_01h455vb4pex5vsknk084sn02q";
    let (code, _, complaint) = ended(asking(&world, &["webhook", "show", nobody])).await;
    assert!(code == 3 && complaint.contains("(record_not_found)") && complaint.contains("  request "), "{complaint}");
    let (code, _, complaint) = ended(asking(&world, &["webhook", "show", nobody, "--json"])).await;
    let problem: Value = serde_json::from_str(&complaint).unwrap();
    assert_eq!((code, &problem["code"], &problem["status"]), (3, &json!("record_not_found"), &json!(404)));

    let (code, _, complaint) = ended(asking(&world, &["webhook", "create", "--url", "http://shop.test/", "--timeout", "99"])).await;
    assert!(code == 4 && complaint.contains("\n  url: ") && complaint.contains("(body_invalid)"), "{complaint}");
    for misunderstood in [&["webhook", "create"][..], &["webhook", "list", "--colour", "red"], &["webhook", "update"], &["nothing"]] {
        assert_eq!(ended(asking(&world, misunderstood)).await.0, 2, "{misunderstood:?}");
    }
    let (code, _, complaint) = ended(asking(&world, &["webhook", "list", "--service", "http://127.0.0.1:9"])).await;
    assert!(code == 5 && complaint.contains("127.0.0.1:9"), "{complaint}");
    let (code, _, complaint) = ended(portico(&["webhook", "list"], &[])).await;
    assert!(code == 1 && complaint.contains("PORTICO_API_KEY"), "{complaint}");
    world.api_key = format!("key_{}", "0".repeat(40));
    assert_eq!(ended(asking(&world, &["webhook", "list"])).await.0, 4);

    // The commands on the database have the same codes.
    let create = ["store", "create", "Shop", "--company", "company_01h455vb4pex5vsknk084sn02q"];
    assert_eq!(ended(portico(&create, &[("database.url", &world.database)])).await.0, 3);
    assert_eq!(ended(portico(&create, &[("database.url", "postgres://nobody@127.0.0.1:9/none")])).await.0, 5);
    assert_eq!(ended(portico(&create, &[("database.max_connections", "none")])).await.0, 2);
}

#[tokio::test]
async fn an_api_key_is_read_from_a_file_or_from_standard_input() {
    let world = World::new().await;
    let directory = TemporaryDirectory::make("portico-key").unwrap();
    let file = directory.path().join("key");
    fs::write(&file, format!("{}\n", world.api_key)).unwrap();
    let service = format!("http://{}", world.address);
    let list = ["webhook", "list", "--service", &service, "--api-key-file"];
    assert_eq!(ended(portico(&[&list[..], &[file.to_str().unwrap()]].concat(), &[])).await.0, 0);
    let mut command = portico(&[&list[..], &["-"]].concat(), &[]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(world.api_key.as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn a_password_that_is_typed_at_a_terminal_does_not_appear_there() {
    let world = World::new().await;
    let (company, password) = (world.company.to_string(), "correct horse battery");
    let terminal = openpty(None, None).unwrap();
    let end = || Stdio::from(terminal.slave.try_clone().unwrap());
    let create = ["operator", "create", "ada@example.com", "--company", &company];
    let mut command = portico(&create, &[("database.url", &world.database)]);
    let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    drop((command, terminal.slave));
    let mut keyboard = File::from(terminal.master.try_clone().unwrap());
    let hidden = async {
        while tcgetattr(&terminal.master).unwrap().local_flags.contains(LocalFlags::ECHO) {
            yield_now().await;
        }
    };
    in_time("the terminal shows nothing that is typed", hidden).await;
    keyboard.write_all(format!("{password}\n").as_bytes()).unwrap();
    // A terminal whose last program has ended fails to be read.
    let shown = spawn_blocking(move || {
        let mut shown = Vec::new();
        let _ = File::from(terminal.master).read_to_end(&mut shown);
        String::from_utf8(shown).unwrap()
    });
    let shown = in_time("the program ends", shown).await.unwrap();
    assert!(child.wait().await.unwrap().success(), "{shown}");
    assert!(shown.starts_with("The operator's password: ") && shown.contains("operator_") && !shown.contains(password), "{shown}");
}

#[tokio::test]
async fn shells_and_the_manual_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&["completions", shell], &[]).await;
        for word in ["rotate-secret", "signing-secret-file", "completions"] {
            assert!(script.contains(word), "{shell} {word}");
        }
    }
    let directory = TemporaryDirectory::make("portico-man").unwrap();
    let pages = directory.path().join("man1");
    assert!(printed(&["man", pages.to_str().unwrap()], &[]).await.contains("pages were written"));
    let page = |name: &str| fs::read_to_string(pages.join(name)).unwrap();
    assert!(page("portico.1").contains("Exit codes:"));
    assert!(page("portico-webhook-rotate-secret.1").contains("overlap"));
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/commands.md")).unwrap();
    for line in printed(&["--help"], &[]).await.lines().skip_while(|line| *line != "Exit codes:").skip(1) {
        let (code, meaning) = line.trim().split_once("  ").unwrap();
        let meaning = meaning.split([';', ':']).next().unwrap();
        assert!(guide.lines().any(|line| line.starts_with(&format!("| {code} | {meaning}"))), "{line}");
    }
}
