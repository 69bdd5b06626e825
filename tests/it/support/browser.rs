//! A real browser: Debian's chromium, driven by its chromedriver.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use axum::http::Method;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use portico::dev::temporary::TemporaryDirectory;
use serde_json::{Value, json};
use url::{ParseError, Url};

use crate::support::World;
use crate::support::console::PASSWORD;
use crate::support::skipping::skipped;
use crate::support::waiting::until;

/// What keeps chromium from asking anybody for anything.
const ARGUMENTS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// How long a script may take, in milliseconds. Usually it is half a minute, in which a busy machine does not look through a long page.
const SCRIPT_TIMEOUT: u32 = 300_000;

/// The rules of accessibility.
const AXE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/axe/node_modules/axe-core/axe.min.js");

/// A browser window.
pub struct Browser {
    pub client: Client,
    driver: Child,
    driver_address: SocketAddr,
    /// What the browser keeps, and does not remove whenever it ends.
    _files: TemporaryDirectory,
    origin: String,
    runs_scripts: bool,
}

/// The messages of one of the browser's logs since they were last read.
#[derive(Debug)]
struct Log(&'static str);

impl WebDriverCompatibleCommand for Log {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(json!({ "type": self.0 }).to_string()))
    }
}

/// Starts chromedriver, and returns the port that it listens on. On a busy machine it ends now and then before it listens.
fn start_driver(files: &Path) -> io::Result<(Child, u16)> {
    let mut said = Vec::new();
    for _ in 0..5 {
        let mut command = Command::new("chromedriver");
        let mut driver = command.arg("--port=0").env("TMPDIR", files).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        for line in BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok) {
            if let Some((_, port)) = line.split_once("started successfully on port ") {
                return Ok((driver, port.trim_end_matches('.').parse().unwrap()));
            }
            said.push(line);
        }
        driver.wait()?;
    }
    panic!("chromedriver does not start: {said:?}");
}

impl Browser {
    /// Opens a window; `None`, with words, where there is no browser.
    pub async fn open(world: &World) -> Option<Self> {
        Self::open_with(world, true).await
    }

    /// Opens a window in which no script of a page runs.
    pub async fn open_without_scripts(world: &World) -> Option<Self> {
        Self::open_with(world, false).await
    }

    async fn open_with(world: &World, runs_scripts: bool) -> Option<Self> {
        if !std::fs::exists(AXE).unwrap_or_default() {
            skipped("accessibility is not checked: npm ci in tests/it/support/axe installs axe-core");
        }
        let files = TemporaryDirectory::make("portico-it-browser").unwrap();
        let Ok((driver, port)) = start_driver(files.path()) else {
            skipped("chromedriver is not installed (Debian: apt-get install chromium chromium-driver)");
            return None;
        };
        let capabilities = json!({
            "goog:chromeOptions": {
                "args": ARGUMENTS,
                "prefs": { "profile.managed_default_content_settings.javascript": if runs_scripts { 1 } else { 2 } },
            },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "timeouts": { "script": SCRIPT_TIMEOUT },
        });
        let driver_address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities.as_object().unwrap().clone())
            .connect(&format!("http://{driver_address}"))
            .await
            .unwrap();
        Some(Self { client, driver, driver_address, _files: files, origin: format!("http://{}", world.address), runs_scripts })
    }

    /// Opens a page of the service.
    pub async fn goto(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.origin)).await.unwrap();
    }

    /// Signs an operator in with the form.
    pub async fn sign_in(&self, email: &str) {
        self.goto("/console/sign-in").await;
        self.enter("#email", email).await;
        self.enter("#password", PASSWORD).await;
        self.click("main button.primary").await;
        until("somebody is signed in", async || self.path().await == "/console").await;
    }

    /// Clicks an element as soon as it is there.
    pub async fn click(&self, css: &str) {
        self.sees(css).await;
        self.client.find(Locator::Css(css)).await.unwrap().click().await.unwrap();
    }

    /// Types into a field.
    pub async fn enter(&self, css: &str, text: &str) {
        self.client.find(Locator::Css(css)).await.unwrap().send_keys(text).await.unwrap();
    }

    /// Empties a field.
    pub async fn clear(&self, css: &str) {
        self.client.find(Locator::Css(css)).await.unwrap().clear().await.unwrap();
    }

    /// Waits until the page has an element.
    pub async fn sees(&self, css: &str) {
        until(&format!("the page has {css}"), async || self.client.find(Locator::Css(css)).await.is_ok()).await;
    }

    /// Waits until the page says something.
    pub async fn says(&self, text: &str) {
        until(&format!("the page says {text:?}"), async || self.text().await.contains(text)).await;
    }

    /// Waits until the page says what has happened meanwhile: with scripts by itself, without them when it is loaded again.
    pub async fn says_now(&self, text: &str) {
        if !self.runs_scripts {
            self.client.refresh().await.unwrap();
        }
        self.says(text).await;
    }

    /// The path and query of the page.
    pub async fn path(&self) -> String {
        self.client.current_url().await.unwrap().as_str().strip_prefix(&self.origin).unwrap_or("elsewhere").to_owned()
    }

    /// Waits until the browser has arrived at a page whose address begins like this: a click returns before its form is answered.
    pub async fn arrives_at(&self, beginning: &str) {
        until("the browser has arrived", async || self.path().await.starts_with(beginning)).await;
    }

    /// The text of the page, as a person reads it; none while another page takes its place.
    pub async fn text(&self) -> String {
        match self.client.find(Locator::Css("main")).await {
            Ok(main) => main.text().await.unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Runs a script in the page.
    pub async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// Asserts that the page has nothing that keeps people with disabilities out: the rules of axe-core for WCAG 2.2 AA. Where axe-core
    /// is not installed (`npm ci` in `tests/it/support/axe`), nothing is checked.
    pub async fn is_accessible(&self) {
        let Ok(rules) = std::fs::read_to_string(AXE) else { return };
        let check = format!(
            "{rules};\
             const done = arguments[arguments.length - 1];\
             axe.run({{ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }}).then(found => done(\
               found.violations.map(rule => [rule.id, rule.impact, rule.nodes.map(node => [node.html, node.failureSummary])])\
             ), failure => done(String(failure)))"
        );
        let found = self.client.execute_async(&check, Vec::new()).await.unwrap();
        assert_eq!(found, json!([]), "{}", self.path().await);
    }

    /// Asserts that nothing was written to the console and nothing was asked of another host since the last time.
    pub async fn has_nothing_to_complain_of(&self) {
        let complaints = self.client.issue_cmd(Log("browser")).await.unwrap();
        // A page of a failed response is a message too.
        let complaints: Vec<_> = complaints.as_array().unwrap().iter().filter(|entry| entry["source"] != "network").collect();
        assert!(complaints.is_empty(), "{complaints:#?}");
        let traffic = self.client.issue_cmd(Log("performance")).await.unwrap();
        for entry in traffic.as_array().unwrap() {
            let message: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
            if message["message"]["method"] == "Network.requestWillBeSent" {
                let url = message["message"]["params"]["request"]["url"].as_str().unwrap();
                assert!(url.starts_with(&self.origin) || url.starts_with("data:"), "a request to {url}");
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends its browser if it is asked to, and leaves it behind if it is killed.
        let asked = TcpStream::connect(self.driver_address).and_then(|mut driver| {
            driver.write_all(b"GET /shutdown HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
            driver.read_to_end(&mut Vec::new())
        });
        if asked.is_err() {
            let _ = self.driver.kill();
        }
        let _ = self.driver.wait();
    }
}
