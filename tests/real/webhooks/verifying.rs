//! The verification code in `docs/webhooks.md`, extracted from the document and run on real deliveries.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use chrono::TimeDelta;
use portico::dev::temporary::TemporaryDirectory;
use portico::kernel::clock::Clock;
use portico::operators::Role;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::page::unescaped;
use crate::support::receiver::Received;
use crate::support::skipping::skipped;

const DOCUMENT: &str = include_str!("../../../docs/webhooks.md");

/// The code that the document and the console show.
const FILES: [(&str, &str); 5] = [
    ("Rust", include_str!("../../../docs/examples/webhooks/verify.rs")),
    ("Python", include_str!("../../../docs/examples/webhooks/verify.py")),
    ("Node", include_str!("../../../docs/examples/webhooks/verify.mjs")),
    ("Go", include_str!("../../../docs/examples/webhooks/verify.go")),
    ("PHP", include_str!("../../../docs/examples/webhooks/verify.php")),
];

mod rust_verifier {
    include!("../../../docs/examples/webhooks/verify.rs");
}

/// The code block below a heading of the document.
fn code_below(heading: &str) -> &'static str {
    let below = DOCUMENT.split_once(&format!("### {heading}\n")).unwrap().1;
    let (_, block) = below.split_once("```").unwrap();
    let (_, code) = block.split_once('\n').unwrap();
    code.split_once("\n```").unwrap().0
}

/// A request to verify, and the expected result.
struct Case {
    about: &'static str,
    secret: String,
    id: String,
    timestamp: String,
    signatures: String,
    body: Vec<u8>,
    genuine: bool,
}

impl Case {
    fn new(about: &'static str, secret: &str, received: &Received, genuine: bool) -> Self {
        let header = |name: &str| received.header(name).to_owned();
        Self {
            about,
            secret: secret.to_owned(),
            id: header("webhook-id"),
            timestamp: header("webhook-timestamp"),
            signatures: header("webhook-signature"),
            body: received.body.to_vec(),
            genuine,
        }
    }
}

/// Deliveries as a subscriber receives them: an old one, a current one, and one during a rotation.
async fn cases(world: &World) -> Vec<Case> {
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let old_secret = webhook["secret"].as_str().unwrap().to_owned();
    // The verifiers read the system clock, and take what is five minutes old or comes from a clock that is five minutes ahead. What is to be taken
    // is sent four minutes ahead, because compilers take minutes on a busy machine.
    world.pass(Clock::System.now() - TimeDelta::minutes(6) - world.clock.now());
    let deliver = async || {
        world.publish("order.created").await;
        world.deliver().await;
        receiver.received().last().unwrap().clone()
    };
    let stale = deliver().await;
    world.pass(TimeDelta::minutes(10));
    let fresh = deliver().await;
    let path = format!("webhooks/{}/rotate-secret", webhook["id"].as_str().unwrap());
    let rotated = world.developers(Method::POST, &path, json!({})).await.ok(200);
    let new_secret = rotated["webhook"]["secret"].as_str().unwrap().to_owned();
    let overlapping = deliver().await;

    let mut changed = Case::new("another body", &old_secret, &fresh, false);
    changed.body.push(b'\n');
    let mut postponed = Case::new("another time", &old_secret, &fresh, false);
    postponed.timestamp = (world.clock.now().timestamp() + 1).to_string();
    let mut nonsense = Case::new("no signature", &old_secret, &fresh, false);
    nonsense.signatures = "v1, v2,abc nonsense".to_owned();
    let mut timeless = Case::new("no time", &old_secret, &fresh, false);
    timeless.timestamp = "now".to_owned();
    vec![
        Case::new("a delivery of now", &old_secret, &fresh, true),
        Case::new("another secret", &new_secret, &fresh, false),
        Case::new("an old delivery", &old_secret, &stale, false),
        Case::new("a rotation, seen with the old secret", &old_secret, &overlapping, true),
        Case::new("a rotation, seen with the new secret", &new_secret, &overlapping, true),
        changed,
        postponed,
        nonsense,
        timeless,
    ]
}

/// Runs a program in a directory that contains the cases in the file `cases`, one per line, and checks its output: `true` or
/// `false` for each.
fn check(directory: &Path, program: &str, arguments: &[&str], cases: &[Case]) {
    let output = Command::new(program).args(arguments).current_dir(directory).stdin(Stdio::null()).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    let verdicts: Vec<_> = stdout.lines().collect();
    assert_eq!(verdicts.len(), cases.len(), "{program}: {stdout}");
    for (case, verdict) in cases.iter().zip(verdicts) {
        assert_eq!(verdict, case.genuine.to_string(), "{program}: {}", case.about);
    }
}

/// Whether a program is installed; prints a message if it is not.
fn is_there(program: &str, arguments: &[&str]) -> bool {
    let there = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    if !there {
        skipped(&format!("{program} {} does not work on this machine", arguments.join(" ")));
    }
    there
}

const PYTHON: &str = r#"
import sys
for line in open("cases"):
    secret, id, timestamp, signatures, body = line.rstrip("\n").split("\t")
    headers = {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures}
    print(str(verify(secret, headers, open(body, "rb").read())).lower())
"#;
const NODE: &str = r#"
import { readFileSync } from "node:fs";
for (const line of readFileSync("cases", "utf8").trimEnd().split("\n")) {
  const [secret, id, timestamp, signatures, body] = line.split("\t");
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures };
  console.log(String(verify(secret, headers, readFileSync(body))));
}
"#;
const JAVA: &str = r#"
class Main {
    public static void main(String[] arguments) throws Exception {
        for (String line : java.nio.file.Files.readAllLines(java.nio.file.Path.of("cases"))) {
            String[] c = line.split("\t");
            System.out.println(Verify.verify(c[0], c[1], c[2], c[3], java.nio.file.Files.readAllBytes(java.nio.file.Path.of(c[4]))));
        }
    }
}
"#;
const GO: &str = r#"
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	cases, _ := os.ReadFile("cases")
	for _, line := range strings.Split(strings.TrimSpace(string(cases)), "\n") {
		c := strings.Split(line, "\t")
		body, _ := os.ReadFile(c[4])
		fmt.Println(Verify(c[0], c[1], c[2], c[3], body))
	}
}
"#;
const PHP: &str = r#"
foreach (file('cases', FILE_IGNORE_NEW_LINES) as $line) {
    [$secret, $id, $timestamp, $signatures, $body] = explode("\t", $line);
    echo verify($secret, $id, $timestamp, $signatures, file_get_contents($body)) ? "true\n" : "false\n";
}
"#;
const BASH: &str = r#"
while IFS=$'\t' read -r secret id timestamp signatures body; do
  if verify "$secret" "$id" "$timestamp" "$signatures" "$body"; then echo true; else echo false; fi
done <cases
"#;

#[tokio::test]
async fn the_verifiers_of_the_document_take_what_is_genuine_and_refuse_the_rest() {
    let world = World::new().await;
    let cases = cases(&world).await;
    let directory = TemporaryDirectory::make("portico-verifiers").unwrap();
    let directory = directory.path();
    let mut lines = String::new();
    for (index, case) in cases.iter().enumerate() {
        fs::write(directory.join(format!("body-{index}")), &case.body).unwrap();
        lines += &format!("{}\t{}\t{}\t{}\tbody-{index}\n", case.secret, case.id, case.timestamp, case.signatures);
    }
    fs::write(directory.join("cases"), lines).unwrap();

    for (heading, file) in FILES {
        assert_eq!(code_below(heading), file.trim_end(), "the document shows the file");
    }
    let now = Clock::System.now().timestamp().unsigned_abs();
    for Case { about, secret, id, timestamp, signatures, body, genuine } in &cases {
        assert_eq!(rust_verifier::verify(secret, id, timestamp, signatures, body, now), *genuine, "rust: {about}");
    }
    let write = |name: &str, heading: &str, harness: &str| fs::write(directory.join(name), format!("{}\n{harness}", code_below(heading)));
    if is_there("python3", &["--version"]) {
        write("verify.py", "Python", PYTHON).unwrap();
        check(directory, "python3", &["verify.py"], &cases);
    }
    if is_there("node", &["--version"]) {
        write("verify.mjs", "Node", NODE).unwrap();
        check(directory, "node", &["verify.mjs"], &cases);
    }
    if is_there("go", &["version"]) {
        fs::write(directory.join("verify.go"), code_below("Go").replace("package webhooks", "package main")).unwrap();
        fs::write(directory.join("main.go"), GO).unwrap();
        check(directory, "go", &["run", "main.go", "verify.go"], &cases);
    }
    if is_there("php", &["--version"]) {
        write("verify.php", "PHP", PHP).unwrap();
        check(directory, "php", &["verify.php"], &cases);
    }
    if is_there("javac", &["-version"]) && is_there("java", &["-version"]) {
        write("Verify.java", "Java", JAVA).unwrap();
        assert!(is_there("javac", &["-d", directory.to_str().unwrap(), directory.join("Verify.java").to_str().unwrap()]));
        check(directory, "java", &["-cp", ".", "Main"], &cases);
    }
    if is_there("openssl", &["version"]) && is_there("bash", &["--version"]) {
        write("verify.sh", "bash and openssl", BASH).unwrap();
        check(directory, "bash", &["verify.sh"], &cases);
    }
}

#[tokio::test]
async fn the_page_of_a_webhook_shows_this_code_and_never_the_secret() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    let (id, secret) = (webhook["id"].as_str().unwrap(), webhook["secret"].as_str().unwrap());
    let mut tab = world.signed_in(Role::Viewer).await;
    let address = format!("/console/webhooks/{id}/verification");
    tab.open(&format!("/console/webhooks/{id}")).await.says(&address);
    for (language, (_, file)) in ["rust", "python", "javascript", "go", "php"].into_iter().zip(FILES) {
        let shown = tab.open(&format!("{address}?language={language}")).await;
        let code = shown.between("<pre class=\"whole\" tabindex=\"0\"><code data-copy>", "</code>");
        assert_eq!(unescaped(&code).trim_end(), file.trim_end(), "{language}");
        shown.says("bare").says_nothing_of(secret).says_nothing_of(secret.trim_start_matches("whsec_"));
    }
    assert_eq!(tab.open(&format!("{address}?language=cobol")).await.status, 200);
    tab.open(&address).await.says_nothing_of("Two secrets sign");
    world.developers(Method::POST, &format!("webhooks/{id}/rotate-secret"), json!({})).await.ok(200);
    tab.open(&address).await.says("Two secrets sign");
}

#[tokio::test]
async fn the_short_signature_is_what_the_document_makes_with_openssl() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    let received = receiver.only();
    if !is_there("openssl", &["version"]) {
        return;
    }
    let directory = TemporaryDirectory::make("portico-signature").unwrap();
    fs::write(directory.path().join("body.json"), &received.body).unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", code_below("The short signature")]).env("secret", webhook["secret"].as_str().unwrap()).current_dir(directory.path());
    let output = bash.output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), received.header("x-service-signature"));
}
