//! Endpoints whose certificate ends soon, as operators and subscribers see them.

use chrono::{DateTime, TimeDelta, Utc};
use portico::callers::Scope;
use portico::kernel::clock::Clock;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::console::PASSWORD;
use crate::support::fleet::id;
use crate::support::receiver::Receiver;

const EXPIRING: &str = "webhooks/figures?condition=certificate_expiring";

impl World {
    /// A story of today: TLS uses the system clock, whatever the time of the story.
    async fn today() -> Self {
        let world = Self::new().await;
        world.pass(Clock::System.now() - world.clock.now());
        world
    }

    /// An endpoint whose certificate ends in so many days and an hour, and its webhook. Something was delivered to it.
    async fn certified_for(&self, name: &str, days: i64, more: Value) -> Value {
        self.resolver.insert(name, &["127.0.0.1".parse().unwrap()]);
        let receiver = Receiver::start_certified_for(name, TimeDelta::days(days) + TimeDelta::hours(1)).await;
        let webhook = self.subscribe(&receiver, more).await;
        self.delivered_to(&webhook).await;
        webhook
    }

    async fn delivered_to(&self, webhook: &Value) {
        self.developers(Method::POST, &format!("webhooks/{}/test", id(webhook)), json!({})).await.ok(201);
        assert_eq!(self.deliver().await, 1);
    }

    /// In how many days the certificate ends, as the API says.
    async fn days_left(&self, webhook: &Value) -> Option<i64> {
        let health = self.get(&format!("webhooks/{}", id(webhook))).await["webhook"]["health"].take();
        let end: DateTime<Utc> = health["certificate_expires_at"].as_str()?.parse().unwrap();
        Some((end - self.clock.now()).num_days())
    }

    async fn expiring(&self) -> Vec<String> {
        let figures = self.get(EXPIRING).await["figures"].take();
        figures.as_array().unwrap().iter().map(|webhook| webhook["webhook_id"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn a_certificate_that_ends_soon_needs_a_person_until_it_is_renewed() {
    let world = World::today().await;
    let soon = world.certified_for("soon.test", 10, json!({})).await;
    let sooner = world.certified_for("sooner.test", 1, json!({})).await;
    let later = world.certified_for("later.test", 22, json!({})).await;
    assert_eq!((world.days_left(&soon).await, world.days_left(&later).await), (Some(10), Some(22)));
    assert_eq!(world.expiring().await, [id(&sooner), id(&soon)]);

    let mut tab = world.signed_in(Role::Developer).await;
    let overview = tab.open("/console").await;
    overview.says("Certificates about to expire").says("The certificate of soon.test ends in 10 days").says_nothing_of("later.test ends");
    overview.says("The certificate of sooner.test ends in one day");
    let page = format!("/console/webhooks/{}", id(&soon));
    tab.open(&page).await.says("Certificate until").says("The certificate of soon.test ends in 10 days.");
    tab.open(&format!("/console/webhooks/{}", id(&later))).await.says("Certificate until").says_nothing_of("The certificate of");

    // The endpoint gets a new one; it is at another port, so its URL changes, and what was known of the old one is forgotten.
    let renewed = Receiver::start_certified_for("soon.test", TimeDelta::days(90) + TimeDelta::hours(1)).await;
    let path = format!("webhooks/{}", id(&soon));
    world.developers(Method::PUT, &path, json!({ "url": renewed.url() })).await.ok(200);
    assert_eq!(world.days_left(&soon).await, None);
    world.delivered_to(&soon).await;
    assert_eq!((world.days_left(&soon).await, world.expiring().await), (Some(90), vec![id(&sooner).to_owned()]));
    tab.open(&page).await.says_nothing_of("The certificate of");

    // A disabled webhook needs nothing.
    world.developers(Method::POST, &format!("webhooks/{}/disable", id(&sooner)), json!({})).await.ok(200);
    tab.open("/console").await.says_nothing_of("Certificates about to expire");
}

#[tokio::test]
async fn a_renewed_certificate_is_noted_with_the_next_delivery() {
    let world = World::today().await;
    let webhook = world.certified_for("shop.test", 10, json!({})).await;
    // As if it had been seen before.
    let noted = "update endpoints set certificate_expires_at = certificate_expires_at - interval '8 days'";
    sqlx::query(noted).execute(&world.pool).await.unwrap();
    assert_eq!(world.days_left(&webhook).await, Some(2));
    world.delivered_to(&webhook).await;
    assert_eq!(world.days_left(&webhook).await, Some(10));
}

#[tokio::test]
async fn an_expired_certificate_is_told_of_although_nothing_could_be_sent() {
    let world = World::today().await;
    let expired = world.certified_for("expired.test", -300, json!({})).await;
    assert_eq!(world.days_left(&expired).await, Some(-299));
    assert_eq!(world.expiring().await, [id(&expired)]);
    let mut tab = world.signed_in(Role::Viewer).await;
    tab.open("/console").await.says("The certificate of expired.test has expired");

    // One that ended long ago, with nothing sent since, may have been renewed by now.
    sqlx::query("update endpoints set last_failure_at = null").execute(&world.pool).await.unwrap();
    assert_eq!(world.expiring().await, [""; 0]);
}

#[tokio::test]
async fn nobody_else_sees_the_certificate_of_a_webhook() {
    let world = World::today().await;
    let own = world.certified_for("own.test", 5, json!({ "owner": "shop-1" })).await;
    world.certified_for("foreign.test", 5, json!({ "owner": "shop-2" })).await;

    let link = world.developers(Method::POST, "portal-links", json!({ "owner": "shop-1" })).await.ok(201)["portal_link"].take();
    let mut tab = world.tab();
    tab.open("/portal/open").await;
    tab.send("/portal/open", &[("key", link["key"].as_str().unwrap())]).await;
    tab.open(&format!("/portal/webhooks/{}", id(&own))).await.says("The certificate of own.test ends in 5 days");

    let (company, key) = world.another_company(&Scope::ALL).await;
    let request = world.request(Method::GET, &format!("/developers/int/v1/{EXPIRING}")).key(&key);
    assert_eq!(request.send().await.ok(200)["figures"], json!([]));
    world.operator_of(company, "owner@other.example", Role::Owner).await;
    let mut tab = world.tab();
    let overview = tab.sign_in("owner@other.example", PASSWORD).await;
    overview.says("Overview").says_nothing_of("Certificates about to expire");
}
