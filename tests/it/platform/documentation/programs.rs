//! The programs on the pages, taken from there and run.

use std::fs;
use std::path::Path;

use portico::dev::temporary::TemporaryDirectory;
use serde_json::Value;
use tokio::process::Command;

use crate::support::World;
use crate::support::page::unescaped;
use crate::support::skipping::skipped;

/// The programs for each language: how a file of it is run.
const LANGUAGES: [(&str, &str, &[&str]); 3] =
    [("curl", "bash", &["-c", "bash program"]), ("javascript", "node", &["program.mjs"]), ("python", "python3", &["program"])];

/// The program of the operation with this id, as the page shows it.
fn program(html: &str, id: &str) -> String {
    let (_, section) = html.split_once(&format!("<section class=\"operation\" id=\"{id}\">")).unwrap();
    let (_, code) = section.split_once("<code data-copy>").unwrap();
    unescaped(code.split_once("</code>").unwrap().0)
}

async fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().await.is_ok_and(|output| output.status.success());
    if !there {
        skipped(&format!("{program} does not work on this machine"));
    }
    there
}

async fn run(world: &World, directory: &Path, (program, arguments): (&str, &[&str]), text: &str) -> Value {
    for file in ["program", "program.mjs"] {
        fs::write(directory.join(file), text).unwrap();
    }
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env("API_KEY", &world.api_key).env("STORE_KEY", &world.store_key);
    let output = command.env("no_proxy", "*").env("NO_COLOR", "1").env("NODE_USE_ENV_PROXY", "0").output().await.unwrap();
    assert!(output.status.success(), "{program}: {}\n{text}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    // Node prints objects in its own notation.
    serde_json::from_str(&printed).unwrap_or(Value::String(printed))
}

#[tokio::test]
async fn the_programs_do_what_they_say() {
    let world = World::new().await;
    let directory = TemporaryDirectory::make("portico-programs").unwrap();
    for (language, interpreter, arguments) in LANGUAGES {
        let tool = if language == "curl" { "curl" } else { interpreter };
        if !is_there(tool).await {
            continue;
        }
        let mut tab = world.tab();
        for (page, id, member) in [
            ("/docs/resources/fleet/orders", "create_fleet_order", "order_"),
            ("/docs/resources/fleet/orders", "list_fleet_orders", "orders"),
            ("/docs/resources/support/tickets", "create_support_ticket", "Where is my order?"),
            ("/docs/hub/events", "post_developers_events", "event_"),
            ("/docs/storefront/customers", "post_customers_request_creation_code", "email"),
        ] {
            let shown = tab.open(&format!("{page}?code={language}")).await;
            let text = program(&shown.html, id);
            assert!(text.contains(&world.address.to_string()), "the server's own address: {text}");
            let printed = run(&world, directory.path(), (interpreter, arguments), &text).await.to_string();
            assert!(printed.contains(member), "{language} {id}: {printed}");
        }
    }
    assert!(world.count("select count(*) from orders").await >= 1, "curl, Node or Python is there");
}

#[tokio::test]
async fn the_language_stays_until_another_is_chosen() {
    let world = World::new().await;
    let mut tab = world.tab();
    tab.open("/docs/resources/fleet/orders").await.says("curl &#39;http://").says("href=\"?code=python#create_fleet_order\"");
    tab.open("/docs/resources/fleet/orders?code=python").await.says("from urllib.request import");
    tab.open("/docs/hub/webhooks").await.says("from urllib.request import");
    tab.open("/docs/hub/webhooks?code=rust").await.says("reqwest::Client::new()");
    tab.open("/docs/hub/webhooks?code=cobol").await.says("reqwest::Client::new()");
}

#[tokio::test]
async fn an_address_that_is_none_is_not_repeated() {
    let world = World::new().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for host in ["evil.example\"><script>", "user:secret@evil.example", "$(id)", "evil.example';id;'"] {
        let request = client.get(format!("http://{}/docs/resources/fleet/orders", world.address)).header("host", host);
        let text = request.send().await.unwrap().text().await.unwrap();
        assert!(!text.contains("evil.example") && !text.contains("$(id)"), "{host}");
    }
}
