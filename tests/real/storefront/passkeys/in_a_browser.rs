//! The code of the guide in a real browser, with the authenticator that its driver has for tests.

use axum::http::Method;
use fantoccini::wd::WebDriverCompatibleCommand;
use serde_json::{Value, json};
use url::{ParseError, Url};

use crate::support::World;
use crate::support::browser::Browser;
use crate::support::customers::{EMAIL, me, token};

const PAGE: &str = include_str!("../../../../docs/storefront.md");

/// Plugs an authenticator in that recognizes its owner (WebAuthn, section 11).
#[derive(Debug)]
struct PlugIn;

impl WebDriverCompatibleCommand for PlugIn {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/webauthn/authenticator", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        let authenticator = json!({
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true, "isUserVerified": true,
        });
        (Method::POST, Some(authenticator.to_string()))
    }
}

/// Runs a call of the guide's code in the page, and returns what it returns or throws.
async fn call(browser: &Browser, world: &World, call: &str) -> Value {
    let (_, code) = PAGE.split_once("```js\n").unwrap();
    let (code, _) = code.split_once("\n```").unwrap();
    let script = format!(
        "const done = arguments[arguments.length - 1], URL = location.origin, STORE_KEY = '{}';\n{code}\n\
         {call}.then(done, error => done(error.name || error.code))",
        world.store_key
    );
    browser.client.execute_async(&script, Vec::new()).await.unwrap()
}

#[tokio::test]
async fn the_code_of_the_guide_adds_a_passkey_and_signs_in() {
    let world = World::new().await;
    let Some(browser) = Browser::open(&world).await else { return };
    browser.client.issue_cmd(PlugIn).await.unwrap();
    // A page that is secure without TLS, which only browsers know. A store cannot name it.
    let page = format!("http://localhost:{}", world.address.port());
    sqlx::query("update stores set passkey_domain = 'localhost', passkey_origins = array[$1]")
        .bind(&page)
        .execute(&world.pool)
        .await
        .unwrap();
    browser.client.goto(&format!("{page}/healthz")).await.unwrap();
    let ada = token(&world.register(EMAIL).await);

    let added = call(&browser, &world, &format!("addPasskey('{ada}')")).await;
    assert_eq!(added["passkeys"][0]["state"], "active", "{added}");
    let login = call(&browser, &world, "signIn()").await;
    assert_eq!(me(&world, login["token"].as_str().unwrap()).await["email"], EMAIL, "{login}");
    // The authenticator knows that it has one.
    assert_eq!(call(&browser, &world, &format!("addPasskey('{ada}')")).await, "InvalidStateError");
    world.change_store(json!({ "passkey_domain": "shop.example", "passkey_origins": [] })).await.ok(200);
    assert_eq!(call(&browser, &world, "signIn()").await, "SecurityError");
}
