//! A shop with something in every column that is sealed, and what depends on it.

use portico::kernel::crypto::{ApplicationKey, sha256};
use portico::kernel::ids::ProviderGrantId;
use portico::operators::Role;
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::World;
use crate::support::authenticator_app::{self, Authenticator, app_code, finish, handle, offer};
use crate::support::console::PASSWORD;
use crate::support::customers::{EMAIL, token};
use crate::support::gateways::{card_signature, paid};
use crate::support::receiver::{Received, Receiver};

/// A customer with a second factor.
const TWO_STEPS: &str = "two-steps@example.com";

const NEW_SECRET: &str = "whsec_the-new-secret";

/// A shop with something in every column that is sealed.
pub struct Shop {
    pub world: World,
    pub receiver: Receiver,
    pub gateway: Value,
    pub recovery_codes: Vec<String>,
    pub authenticator: String,
    /// That of a customer, whose address is [`TWO_STEPS`].
    pub customers_app: Authenticator,
}

impl Shop {
    pub async fn open() -> Self {
        let world = World::new().await;
        let receiver = world.endpoint("shop.test").await;
        let webhook = world.subscribe(&receiver, json!({ "headers": { "authorization": "Bearer subscribers-own" } })).await;
        let rotate = format!("webhooks/{}/rotate-secret", webhook["id"].as_str().unwrap());
        world.developers(Method::POST, &rotate, json!({})).await.ok(200);
        let gateway = world.card().await;
        let path = format!("gateways/{}", gateway["id"].as_str().unwrap());
        world.ledger(Method::PUT, &path).json(&json!({ "signing_secret": NEW_SECRET })).send().await.ok(200);
        let ada = token(&world.register(EMAIL).await);
        let device = json!({ "platform": "ios", "token": "apns-token" });
        world.storefront("customers/register-device").token(&ada).json(&device).send().await.ok(200);
        let provider = json!({ "name": "own-id", "status": "inactive", "client_secret": "own-secret" });
        world.api(Method::POST, "/storefront/int/v1/identity-providers").json(&provider).send().await.ok(201);
        let hook = json!({ "store": world.store, "url": receiver.url(), "status": "inactive" });
        let hook = world.api(Method::POST, "/storefront/int/v1/registration-hooks").json(&hook).send().await.ok(201);
        let rotate = format!("/storefront/int/v1/registration-hooks/{}/rotate-secret", hook["registration_hook"]["id"].as_str().unwrap());
        world.api(Method::POST, &rotate).json(&json!({})).send().await.ok(200);
        offer(&world, "optional").await;
        let customers_app = authenticator_app::enrol(&world, &token(&world.register(TWO_STEPS).await)).await;
        let account = json!({ "account_sid": "AC7", "from": "+15005550006" });
        let provider = json!({ "channel": "sms", "kind": "twilio", "status": "inactive", "settings": account, "secret": "own-secret" });
        world.api(Method::POST, "/storefront/int/v1/message-providers").json(&provider).send().await.ok(201);
        hold_grant(&world).await;
        let (recovery_codes, authenticator) = enrol(&world).await;
        Self { world, receiver, gateway, recovery_codes, authenticator, customers_app }
    }

    /// The settings of a command with this application key.
    pub fn settings<'a>(&'a self, key: &'a str, previous: &'a str) -> [(&'static str, &'a str); 3] {
        [("database.url", self.world.database.as_str()), ("application_key", key), ("previous_application_keys", previous)]
    }

    pub fn old_key(&self) -> &str {
        &self.world.application_key_setting
    }
}

/// Keeps what an identity provider has granted to the app of a customer.
async fn hold_grant(world: &World) {
    let grant = ProviderGrantId::new(world.clock.now());
    let sealed = world.application_key.seal(&format!("grant of an identity provider {grant}"), b"refresh-token");
    sqlx::query(
        "insert into provider_grants (id, store_id, provider, subject, customer_id, sealed_token, created_at)
         select $1, store_id, 'idp_a', 'subject', id, $2, now() from customers limit 1",
    )
    .bind(grant.uuid())
    .bind(sealed)
    .execute(&world.pool)
    .await
    .unwrap();
}

/// Sets up the second factor of an operator; returns their recovery codes and the secret of their app.
async fn enrol(world: &World) -> (Vec<String>, String) {
    let mut tab = world.signed_in(Role::Viewer).await;
    let page = tab.open("/console/account/totp").await;
    let secret = page.between("<code data-copy>", "</code>").replace(' ', "");
    let shown = tab.send("/console/account/totp", &[("code", &app_code(world, &secret))]).await;
    let codes = shown.between("data-copy>", "</pre>").lines().map(str::to_owned).collect();
    world.pass(chrono::TimeDelta::seconds(30));
    (codes, secret)
}

/// Whether the operator gets in with this code behind their password.
pub async fn gets_in(world: &World, code: &str) -> bool {
    let mut tab = world.tab();
    tab.sign_in("viewer@acme.example", PASSWORD).await;
    tab.send("/console/sign-in/code", &[("code", code), ("then", "/console/account")]).await.status == 200
}

/// How a callback that is signed with the new secret of the gateway is answered.
pub async fn call_back(world: &World, gateway: &Value, number: usize) -> u16 {
    let body = paid(&format!("evt_{number}"));
    let signature = card_signature(NEW_SECRET, &body.to_string(), world.clock.now());
    let path = gateway["callback_path"].as_str().unwrap();
    world.request(Method::POST, path).header("card-signature", &signature).json(&body).send().await.status
}

pub fn new_key() -> String {
    ApplicationKey::generate().expose_secret().to_owned()
}

/// Publishes an event, and returns what the endpoint was sent.
pub async fn deliver(receiver: &Receiver, world: &World) -> Received {
    let event = world.publish("order.created").await.to_string();
    world.deliver().await;
    receiver.received().into_iter().find(|post| post.header("webhook-id") == event).expect("it was delivered")
}

/// Everything that needs a secret works in this world.
pub async fn everything_works(shop: &Shop, world: &World, number: usize) {
    assert_eq!(call_back(world, &shop.gateway, number).await, 200);
    let delivered = deliver(&shop.receiver, world).await;
    assert_eq!(delivered.header("authorization"), "Bearer subscribers-own");
    assert_eq!(delivered.header("webhook-signature").split(' ').count(), 2, "both secrets sign");
    world.pass(chrono::TimeDelta::seconds(60));
    assert!(gets_in(world, &app_code(world, &shop.authenticator)).await);
    let code = world.sign_in_code(TWO_STEPS).await;
    let waiting = handle(world.verify(TWO_STEPS, code).await);
    finish(world, &waiting, &shop.customers_app.code(world)).await.ok(200);
}

/// Registers devices as if customers had, all under the old key.
pub async fn many_devices(shop: &Shop, count: i64) {
    let (store, customer): (Uuid, Uuid) =
        sqlx::query_as("select store_id, customer_id from devices limit 1").fetch_one(&shop.world.pool).await.unwrap();
    let (mut digests, mut sealed) = (Vec::new(), Vec::new());
    for number in 0..count {
        let token = format!("token-{number}");
        let digest = sha256(&token);
        sealed.push(shop.world.application_key.seal(&format!("push token {}", hex::encode(digest)), token.as_bytes()));
        digests.push(digest.to_vec());
    }
    sqlx::query(
        "insert into devices (id, store_id, customer_id, platform, sealed_token, token_digest, created_at, updated_at)
         select gen_random_uuid(), $1, $2, 'ios', sealed, digest, now(), now() from unnest($3::bytea[], $4::bytea[]) new (digest, sealed)",
    )
    .bind(store)
    .bind(customer)
    .bind(digests)
    .bind(sealed)
    .execute(&shop.world.pool)
    .await
    .unwrap();
}
