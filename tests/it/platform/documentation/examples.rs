//! Every block of code in the guides is run by a story, or is what something prints. A block that is not listed here fails.

use std::fs;
use std::path::Path;

use chrono::TimeDelta;
use portico::config::Config;
use reqwest::Method;
use serde_json::Value;
use tokio::process::Command;

use crate::support::World;
use crate::support::fleet::id;
use crate::support::program::printed;

/// How a block of a guide is shown to be right.
#[derive(Debug)]
enum Shown {
    /// Sent as the body of a `POST` by [`the_requests_of_the_guides_are_accepted_as_they_are_written`], which answers this.
    Sent(&'static str, u16),
    /// Read by [`the_settings_of_the_guides_are_settings`].
    Settings,
    /// A command of the program, whose options [`the_commands_of_the_guides_have_these_options`] compares.
    OfProgram,
    /// Run by [`the_commands_of_others_work`].
    OfOthers,
    /// Taken from the page by this story: a file below `tests/it` or `tests/real`, and a name.
    Story(&'static str, &'static str),
    /// Needs a container engine, a cluster or an init system: this step of the checks runs as much of it as can be run there.
    Step(&'static str),
    /// A picture, an answer, or a part of a page of somebody else. An answer is JSON, in which `…` may stand for anything.
    Output,
}

use Shown::{OfOthers, OfProgram, Output, Sent, Settings, Step, Story};

const DECLARED: Shown = Story("declared/documented.rs", "the_page_adds_an_extension_from_the_start_to_the_end");
const EXTENSIONS: Shown = Story("resources/documented/mod.rs", "the_page_adds_a_resource_from_the_table_to_the_routes");
const POOLED_SESSIONS: Shown =
    Story("platform/pooler.rs", "behind_a_pooler_in_session_mode_sessions_have_their_settings_and_hear_notifications");
const POOLED_TRANSACTIONS: Shown = Story("platform/pooler.rs", "behind_a_pooler_in_transaction_mode_many_requests_share_a_few_sessions");
const PROVIDERS: Shown = Story("storefront/social/documented.rs", "the_page_adds_a_provider_without_rust");
const SOCKETS: Shown = Story("realtime.rs", "the_page_shows_the_files_that_are_tested");
const SAMPLES: Shown = Story("storefront/security_events.rs", "the_page_shows_the_samples_of_the_catalogue");
const SMS: Shown = Story("storefront/sms_provider_guide.rs", "the_files_contain_what_the_page_shows");
const STOREFRONT: Shown = Story("storefront/documented.rs", "a_customer_a_passkey_and_a_sign_in_have_the_members_of_the_examples");
const VERIFIERS: Shown = Story("webhooks/verifying.rs", "the_verifiers_of_the_document_take_what_is_genuine_and_refuse_the_rest");

/// Each block: its page, its language, words within it, and how it is shown.
const BLOCKS: &[(&str, &str, &str, Shown)] = &[
    ("architecture", "text", "the program", Story("architecture/documented.rs", "the_floors_are_those_of_the_crate")),
    ("challenges", "toml", "[storefront.challenge]", Settings),
    ("challenges", "json", "challenge_required", Output),
    ("challenges", "json", "invalid-input-response", Output),
    ("commands", "sh", "portico webhook list", OfProgram),
    ("commands", "sh", "portico completions", OfProgram),
    ("console", "bash", "portico operator create", OfProgram),
    ("declared", "toml", "namespace", DECLARED),
    ("declared", "bash", "curl", DECLARED),
    ("deployment", "bash", "docker compose up", Step(".ci/container")),
    ("deployment", "bash", "helm install", Step(".ci/kubernetes")),
    ("deployment", "bash", "systemctl enable", Step(".ci/systemd")),
    ("extensions", "sql", "create table depots", EXTENSIONS),
    ("extensions", "rust", "Depot", Story("resources/documented/mod.rs", "the_page_shows_the_code_that_is_tested")),
    ("extensions", "rs", "/depots/{uuid}/close", Output),
    ("gateway-drivers", "rust", "northpay", Story("gateways/driver_guide/mod.rs", "the_page_shows_the_code_that_is_tested")),
    ("gateways", "json", "\"Cards\"", Story("gateways/documented.rs", "the_card_provider")),
    ("gateways", "json", "\"Razorpay\"", Story("gateways/documented.rs", "razorpay")),
    ("gateways", "json", "\"Square\"", Story("gateways/documented.rs", "square")),
    ("gateways", "json", "\"Paystack\"", Story("gateways/documented.rs", "paystack")),
    ("identity-providers", "toml", "acme-id", PROVIDERS),
    ("identity-providers", "sh", "PORTICO_PROVIDERS__ACME_ID__CLIENT_SECRET", PROVIDERS),
    ("identity-providers", "json", "acmeIdUserId", PROVIDERS),
    ("message-providers", "json", "message.send", Output),
    ("messages", "json", "signs you in", Sent("/storefront/int/v1/message-wordings", 201)),
    ("moving-in", "ndjson", "external_id", Story("storefront/moving_in.rs", "the_file_of_the_page_is_imported")),
    ("moving-in", "sh", "portico customer import", OfProgram),
    ("moving-in", "json", "\"refused\"", Output),
    ("moving-in", "sh", "fbscrypt", Output),
    ("moving-in", "sh", "auth.users", Output),
    ("moving-in", "sh", "auth_user ", Output),
    ("moving-in", "sh", "wp user list", Output),
    (
        "operating",
        "sql",
        "create role portico_owner",
        Story("platform/roles.rs", "the_service_does_all_its_work_with_a_role_that_owns_nothing"),
    ),
    ("operating", "ini", "pool_mode = session", POOLED_SESSIONS),
    ("operating", "ini", "pool_mode = transaction", POOLED_TRANSACTIONS),
    ("operating", "toml", "pooler_url = ", Settings),
    ("operating", "toml", "[traces]", Settings),
    ("operating", "toml", "[operators]", Settings),
    ("portal", "json", "\"lifetime\"", Sent("/developers/int/v1/portal-links", 201)),
    ("portal", "toml", "[portal]", Settings),
    ("portal", "html", "<iframe", Output),
    ("problems", "json", "code_invalid", Output),
    ("realtime", "text", "socket-token", Output),
    ("realtime", "sh", "openssl rand", OfOthers),
    ("realtime", "json", "expires_in", Output),
    ("realtime", "json", "\"channel\"", Output),
    ("realtime", "json", "\"allow\"", Output),
    ("realtime", "js", "Authorizes the channels", SOCKETS),
    ("realtime", "js", "A SocketCluster server", SOCKETS),
    ("realtime", "js", "The connection of a customer's app", SOCKETS),
    ("scaling", "toml", "[database.cells.b]", Settings),
    ("scaling", "toml", "replica_url = ", Settings),
    ("scaling", "json", "cells_away", Output),
    ("sms-providers", "toml", "[sms.vonage]", SMS),
    ("sms-providers", "rs", "`[sms.vonage]`", SMS),
    ("sms-providers", "rs", "impl Vonage", SMS),
    ("sms-providers", "rs", "fn judge", SMS),
    ("sms-providers", "rs", "fn read_receipt", SMS),
    ("sms-providers", "rs", "pub vonage", SMS),
    ("sms-providers", "rs", "Self::Vonage =>", SMS),
    ("sms-providers", "rs", "ProviderName::Vonage =>", SMS),
    ("storefront", "json", "customer.registering", Output),
    ("storefront", "json", "email_verified", STOREFRONT),
    ("storefront", "json", "fresh_sign_in_required", Output),
    ("storefront", "json", "second_factor_required", Output),
    ("storefront", "json", "recovery_codes_left", Output),
    ("storefront", "json", "\"auth_time\"", Output),
    ("storefront", "json", "\"access_token\"", Output),
    ("storefront", "json", "\"jti\"", Output),
    ("storefront", "json", "\"review\"", Output),
    ("storefront", "json", "number_cooldown", Output),
    ("storefront", "js", "addPasskey", Story("storefront/passkeys/in_a_browser.rs", "the_code_of_the_guide_adds_a_passkey_and_signs_in")),
    ("storefront", "json", "\"backed_up\"", STOREFRONT),
    ("storefront", "json", "\"sessions\"", STOREFRONT),
    ("webhooks", "json", "shop.example/hooks\", \"events\"", Sent("/developers/int/v1/webhooks", 201)),
    ("webhooks", "json", "customer.signed_in", SAMPLES),
    ("webhooks", "json", "customer.locked_out", SAMPLES),
    ("webhooks", "json", "customer.contact_changed", SAMPLES),
    ("webhooks", "json", "customer.device_added", SAMPLES),
    ("webhooks", "rust", "hmac", VERIFIERS),
    ("webhooks", "python", "hmac", VERIFIERS),
    ("webhooks", "js", "createHmac", VERIFIERS),
    ("webhooks", "go", "hmac", VERIFIERS),
    ("webhooks", "php", "hash_hmac", VERIFIERS),
    ("webhooks", "java", "HmacSHA256", VERIFIERS),
    ("webhooks", "bash", "verify()", VERIFIERS),
    ("webhooks", "bash", "openssl dgst", Story("webhooks/verifying.rs", "the_short_signature_is_what_the_document_makes_with_openssl")),
    ("webhooks", "json", "\"figures\"", Output),
    ("webhooks", "json", "\"explanation\"", Output),
    ("webhooks", "json", "\"since\"", Sent("/developers/int/v1/webhooks/{webhook}/replay", 202)),
    ("webhooks", "sh", "portico receive", OfProgram),
    ("webhooks", "text", "sequence 1", Output),
    ("webhooks", "sh", "portico listen", OfProgram),
    ("webhooks", "json", "idempotency_key", Sent("/developers/int/v1/events", 201)),
    ("webhooks", "json", "\"status\": \"created\"", Output),
];

/// A block of a guide.
struct Block {
    page: String,
    language: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let mut found = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path).unwrap();
            for fenced in text.split("\n```").skip(1).step_by(2) {
                let (language, text) = fenced.split_once('\n').unwrap();
                let page = path.file_stem().unwrap().to_str().unwrap().to_owned();
                // What has no language is a message or a shape.
                if !language.is_empty() {
                    found.push(Block { page, language: language.to_owned(), text: text.to_owned() });
                }
            }
        }
    }
    found
}

impl Block {
    /// The entry of the list, if there is one.
    fn shown(&self) -> Option<&'static Shown> {
        let mut entries = BLOCKS.iter().filter(|(page, language, ..)| self.page == *page && self.language == *language);
        entries.find(|(_, _, words, _)| self.text.contains(words)).map(|(.., shown)| shown)
    }
}

/// The blocks that are shown like this.
fn shown_as(is_so: impl Fn(&Shown) -> bool) -> Vec<Block> {
    let found: Vec<_> = blocks().into_iter().filter(|block| block.shown().is_some_and(&is_so)).collect();
    assert!(!found.is_empty());
    found
}

#[test]
fn every_example_is_run_or_is_what_something_prints() {
    let blocks = blocks();
    if let Some(Block { page, language, text }) = blocks.iter().find(|block| block.shown().is_none()) {
        panic!("nothing runs this block of docs/{page}.md: ```{language}\n{text}```");
    }
    assert_eq!(blocks.len(), BLOCKS.len(), "every entry is of one block");
    for block in &blocks {
        match block.shown() {
            Some(Story(file, name)) => {
                let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
                let mut stories = ["it", "real"].iter().filter_map(|group| fs::read_to_string(tests.join(group).join(file)).ok());
                let story = stories.next().unwrap_or_else(|| panic!("there is no {file}"));
                assert!(story.contains(&format!("fn {name}()")), "{file} has no story {name}");
            }
            Some(Step(step)) => {
                let steps = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run")).unwrap();
                assert!(steps.lines().any(|line| line.starts_with("step ") && line.contains(step)), ".ci/run has no step {step}");
            }
            Some(Output) if block.language == "json" => {
                // `…` within a text is a part of it; elsewhere it stands for what was left out.
                let whole = block.text.replace(", …", "").replace("[…]", "[]").replace("{…}", "{}");
                serde_json::from_str::<Value>(&whole).unwrap_or_else(|error| panic!("docs/{}.md: {error}\n{whole}", block.page));
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn the_requests_of_the_guides_are_accepted_as_they_are_written() {
    let world = World::new().await;
    world.resolver.insert("shop.example", &["127.0.0.1".parse().unwrap()]);
    let (_, webhook) = world.subscriber("subscriber.test").await;
    // Some name instants of the time when they were written.
    world.pass(TimeDelta::hours(1));
    for block in shown_as(|shown| matches!(shown, Sent(..))) {
        let Some(Sent(path, status)) = block.shown() else { unreachable!("they were chosen so") };
        let path = path.replace("{webhook}", id(&webhook));
        let body: Value = serde_json::from_str(&block.text).unwrap();
        let answer = world.api(Method::POST, &path).json(&body).send().await;
        assert_eq!(answer.status, *status, "docs/{}.md: {body} to {path}: {:?}", block.page, answer.body);
    }
}

#[test]
fn the_settings_of_the_guides_are_settings() {
    for block in shown_as(|shown| matches!(shown, Settings)) {
        Config::with_file(&block.text, &[]).unwrap_or_else(|error| panic!("docs/{}.md: {error}", block.page));
    }
}

#[tokio::test]
async fn the_commands_of_the_guides_have_these_options() {
    for block in shown_as(|shown| matches!(shown, OfProgram)) {
        for line in block.text.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            assert_eq!(words[0], "portico", "docs/{}.md", block.page);
            let command = words[1..].iter().take_while(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
            let help = printed(&command.copied().chain(["--help"]).collect::<Vec<_>>(), &[]).await;
            for option in words.iter().filter(|word| word.starts_with("--")) {
                assert!(help.contains(option), "docs/{}.md: {line}: {option}", block.page);
            }
        }
    }
}

#[tokio::test]
async fn the_commands_of_others_work() {
    for block in shown_as(|shown| matches!(shown, OfOthers)) {
        let output = Command::new("bash").args(["-c", &block.text]).output().await.unwrap();
        assert!(output.status.success() && !output.stdout.is_empty(), "docs/{}.md: {output:?}", block.page);
    }
}
