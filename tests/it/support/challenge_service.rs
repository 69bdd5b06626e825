//! A service that verifies the tokens of challenges, as Turnstile, hCaptcha and reCAPTCHA document it.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use url::form_urlencoded;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::support::World;

pub const SITE_KEY: &str = "0x4AAAAAAA";
const SECRET: &str = "0x4AAAAAAA_secret";
const HOST: &str = "shop.example";

/// The service, and how it is set up.
pub struct ChallengeService {
    server: MockServer,
}

/// Vouches for each token that begins with `solved`, once. `elsewhere` was solved on another page.
struct SiteVerify {
    seen: Mutex<HashSet<String>>,
}

impl Respond for SiteVerify {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let form: Vec<(String, String)> = form_urlencoded::parse(&request.body).into_owned().collect();
        let value = |name: &str| form.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
        let refused = |code: &str| json!({ "success": false, "error-codes": [code] });
        let token = value("response").to_owned();
        assert!(!value("remoteip").is_empty());
        let answer = match token.as_str() {
            _ if value("secret") != SECRET => refused("invalid-input-secret"),
            "elsewhere" => vouched_for("evil.example"),
            _ if !token.starts_with("solved") => refused("invalid-input-response"),
            _ if !self.seen.lock().unwrap().insert(token.clone()) => refused("timeout-or-duplicate"),
            _ => vouched_for(HOST),
        };
        ResponseTemplate::new(200).set_body_json(answer)
    }
}

fn vouched_for(host: &str) -> Value {
    json!({ "success": true, "error-codes": [], "hostname": host, "challenge_ts": "2026-05-21T10:15:00Z" })
}

impl ChallengeService {
    /// Starts it.
    pub async fn start() -> Self {
        let service = Self { server: MockServer::start().await };
        service.mount(SiteVerify { seen: Mutex::default() }).await;
        service
    }

    async fn mount(&self, answer: impl Respond + 'static) {
        self.server.reset().await;
        let form = header("content-type", "application/x-www-form-urlencoded");
        Mock::given(method("POST")).and(path("/siteverify")).and(form).respond_with(answer).mount(&self.server).await;
    }

    /// From now on it vouches for every token, however often it is sent.
    pub async fn forget_what_it_has_seen(&self) {
        self.mount(ResponseTemplate::new(200).set_body_json(vouched_for(HOST))).await;
    }

    /// From now on it is out of order.
    pub async fn fail(&self) {
        self.mount(ResponseTemplate::new(503)).await;
    }

    /// From now on it answers every token with this status and a page, as what stands in front of a service does to an odd one.
    pub async fn refuse(&self, status: u16) {
        self.mount(ResponseTemplate::new(status).set_body_string("<html>odd</html>")).await;
    }

    /// From now on it says of every token that it cannot say.
    pub async fn cannot_say(&self) {
        self.mount(ResponseTemplate::new(200).set_body_json(json!({ "success": false, "error-codes": ["internal-error"] }))).await;
    }

    /// From now on it takes so long to answer.
    pub async fn take(&self, time: Duration) {
        self.mount(ResponseTemplate::new(200).set_body_json(vouched_for(HOST)).set_delay(time)).await;
    }

    /// How many tokens it was asked about since it last changed.
    pub async fn asked(&self) -> usize {
        self.server.received_requests().await.unwrap().len()
    }

    /// A world whose deployment has this challenge.
    pub async fn world(&self, changes: &[(&str, &str)]) -> World {
        let url = format!("{}/siteverify", self.server.uri());
        let settings = [
            ("storefront.challenge.kind", "turnstile"),
            ("storefront.challenge.verify_url", url.as_str()),
            ("storefront.challenge.site_key", SITE_KEY),
            ("storefront.challenge.secret", SECRET),
            ("storefront.challenge.hostnames", HOST),
            // A story that means the timeout sets it.
            ("storefront.challenge.timeout", "1m"),
        ];
        World::with(&[&settings, changes].concat()).await
    }
}
