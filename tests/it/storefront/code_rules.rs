//! Rules for every code, whatever its purpose, on each of the five routes that send one and the five that check one (interface 1,
//! States and transitions; decisions, section 4).

use chrono::TimeDelta;
use portico::callers::Caller;
use portico::storefront::create_store_key;
use serde_json::json;

use crate::support::customers::{PHONE, token, wrong};
use crate::support::{Answer, World};

const NEW_ADDRESS: &str = "grace@example.com";
const NEW_NUMBER: &str = "+12015550199";
const ADAS_NEW_ADDRESS: &str = "ada@example.com";

/// The purposes of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    CreatingAnAccount,
    SigningIn,
    VerifyingANumber,
    VerifyingAnAddress,
    ClosingTheAccount,
}

const EVERYTHING: [For; 5] =
    [For::CreatingAnAccount, For::SigningIn, For::VerifyingANumber, For::VerifyingAnAddress, For::ClosingTheAccount];

/// A world in which Ada is signed in.
struct Story {
    world: World,
    ada: String,
}

impl Story {
    async fn begin() -> Self {
        let world = World::new().await;
        let ada = token(&world.register(PHONE).await);
        world.pass(TimeDelta::minutes(2));
        Self { world, ada }
    }

    async fn ask(&self, purpose: For, from: &str) -> Answer {
        let (path, body) = match purpose {
            For::CreatingAnAccount => ("request-creation-code", json!({ "identity": NEW_ADDRESS })),
            For::SigningIn => ("login-with-sms", json!({ "phone": PHONE })),
            For::VerifyingANumber => ("request-phone-verification", json!({ "phone": NEW_NUMBER })),
            For::VerifyingAnAddress => ("request-email-verification", json!({ "email": ADAS_NEW_ADDRESS })),
            For::ClosingTheAccount => ("account-closure", json!({})),
        };
        self.world.storefront(&format!("customers/{path}")).token(&self.ada).json(&body).from(from).send().await
    }

    /// Requests a code and reads it.
    async fn code(&self, purpose: For) -> String {
        self.ask(purpose, "203.0.113.9").await.ok(200);
        self.world.last_code()
    }

    async fn guess(&self, purpose: For, code: &str) -> Answer {
        let (path, body) = match purpose {
            For::CreatingAnAccount => ("customers", json!({ "name": "Grace", "identity": NEW_ADDRESS, "code": code })),
            For::SigningIn => ("customers/verify-code", json!({ "identity": PHONE, "code": code })),
            For::VerifyingANumber => ("customers/verify-phone-number", json!({ "code": code })),
            For::VerifyingAnAddress => ("customers/verify-email", json!({ "code": code })),
            For::ClosingTheAccount => ("customers/confirm-account-closure", json!({ "code": code })),
        };
        self.world.storefront(path).token(&self.ada).json(&body).from("203.0.113.9").send().await
    }
}

#[tokio::test]
async fn every_code_lives_ten_minutes_and_works_once() {
    for purpose in EVERYTHING {
        let story = Story::begin().await;
        let code = story.code(purpose).await;
        story.world.pass(TimeDelta::minutes(10));
        story.guess(purpose, &code).await.refused(422, "code_expired");
        story.world.freshen().await;
        let code = story.code(purpose).await;
        story.world.pass(TimeDelta::minutes(10) - TimeDelta::microseconds(1));
        let used = story.guess(purpose, &code).await;
        assert!(matches!(used.status, 200 | 201), "{purpose:?}: {used:?}");
        let again = story.guess(purpose, &code).await;
        match purpose {
            For::ClosingTheAccount => again.refused(401, "customer_token_invalid"),
            _ => again.refused(422, "code_used"),
        };
    }
}

#[tokio::test]
async fn five_wrong_guesses_lock_every_code_until_a_new_one_is_asked_for() {
    for purpose in EVERYTHING {
        let story = Story::begin().await;
        let code = story.code(purpose).await;
        for left in [4, 3, 2, 1] {
            let refusal = story.guess(purpose, &wrong(&code)).await.refused(422, "code_invalid");
            assert_eq!(refusal["attempts_left"], left, "{purpose:?}");
        }
        story.guess(purpose, &wrong(&code)).await.refused(422, "code_locked");
        story.guess(purpose, &code).await.refused(422, "code_locked");
        story.world.pass(TimeDelta::minutes(1));
        let answer = story.guess(purpose, &story.code(purpose).await).await;
        assert!(matches!(answer.status, 200 | 201), "{purpose:?}: {answer:?}");
    }
}

#[tokio::test]
async fn within_a_minute_every_route_answers_ok_and_sends_no_second_message() {
    for purpose in EVERYTHING {
        let story = Story::begin().await;
        let first = story.ask(purpose, "203.0.113.9").await.ok(200);
        let (sent, code) = (story.world.messages().len(), story.world.last_code());
        story.world.pass(TimeDelta::seconds(59));
        assert_eq!(story.ask(purpose, "203.0.113.9").await.ok(200), first, "{purpose:?}");
        assert_eq!(story.world.messages().len(), sent, "{purpose:?}");
        // The code that was sent stays valid.
        let refusal = story.guess(purpose, &wrong(&code)).await.refused(422, "code_invalid");
        assert_eq!(refusal["attempts_left"], 4, "{purpose:?}");
        story.world.pass(TimeDelta::seconds(1));
        assert_eq!(story.ask(purpose, "203.0.113.9").await.ok(200), first, "{purpose:?}");
        assert_eq!(story.world.messages().len(), sent + 1, "{purpose:?}");
    }
}

#[tokio::test]
async fn the_minute_of_one_purpose_is_not_that_of_another() {
    let story = Story::begin().await;
    let sent = story.world.messages().len();
    for (number, purpose) in EVERYTHING.into_iter().enumerate() {
        story.ask(purpose, "203.0.113.9").await.ok(200);
        assert_eq!(story.world.messages().len(), sent + number + 1, "{purpose:?}");
        // Signing in and closing an account text the same number, which cools down.
        story.world.pass(TimeDelta::seconds(15));
    }
}

#[tokio::test]
async fn the_five_routes_that_send_share_five_requests_a_minute() {
    for last in EVERYTHING {
        let story = Story::begin().await;
        for purpose in EVERYTHING.into_iter().filter(|purpose| *purpose != last).cycle().take(5) {
            let answer = story.ask(purpose, "203.0.113.9").await;
            assert_eq!(answer.header("ratelimit-limit"), Some("5"));
            assert_ne!(answer.body["code"], "rate_limited", "{purpose:?}");
        }
        let refusal = story.ask(last, "203.0.113.9").await;
        assert_eq!(refusal.header("ratelimit-remaining"), Some("0"));
        assert_eq!(refusal.refused(429, "rate_limited")["retry_after"], 60, "{last:?}");
        assert_ne!(story.ask(last, "203.0.113.10").await.body["code"], "rate_limited");
        // The limit is per key, not per store.
        let mut conn = story.world.pool.acquire().await.unwrap();
        let caller = Caller::command_line(story.world.company);
        let (_, another) = create_store_key(&mut conn, &caller, story.world.store, story.world.clock.now()).await.unwrap().unwrap();
        let body = json!({ "identity": "another@example.com" });
        let request = story.world.storefront("customers/request-creation-code").key(another.reveal()).from("203.0.113.9");
        request.json(&body).send().await.ok(200);
    }
}

#[tokio::test]
async fn guesses_at_the_codes_of_one_number_count_together_whatever_they_are_for() {
    let story = Story::begin().await;
    let signing_in = story.code(For::SigningIn).await;
    story.world.pass(TimeDelta::seconds(30));
    let closing = story.code(For::ClosingTheAccount).await;
    for _ in 0..4 {
        story.guess(For::SigningIn, &wrong(&signing_in)).await.refused(422, "code_invalid");
        story.guess(For::ClosingTheAccount, &wrong(&closing)).await.refused(422, "code_invalid");
    }
    // The account cannot be opened, but the wrong guess counts for the same number.
    story.world.open_account(PHONE, "123456").await.refused(422, "code_invalid");
    story.guess(For::ClosingTheAccount, &wrong(&closing)).await.refused(429, "identity_locked_out");
    story.guess(For::SigningIn, &signing_in).await.refused(429, "identity_locked_out");
    story.guess(For::ClosingTheAccount, &closing).await.refused(429, "identity_locked_out");
    let opening = json!({ "name": "Eve", "identity": PHONE, "code": "123456" });
    story.world.storefront("customers").json(&opening).send().await.refused(429, "identity_locked_out");
    story.world.storefront_get("customers/me").token(&story.ada).send().await.ok(200);
}
