//! Verifying a number (interface 1, rules 6 and 7) or a mail address after registration. Each file has first the rules for both
//! kinds of contact, then those for one of them.

mod codes;
mod saving;

use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PHONE};
use crate::support::{Answer, World};

/// A kind of contact, and how it differs from the other.
#[derive(Clone, Copy)]
struct Contact {
    /// The field in a body and in a customer.
    member: &'static str,
    /// The routes that request and check a code for a new contact.
    request: &'static str,
    verify: &'static str,
    /// How the code is sent.
    method: &'static str,
    /// The error if the contact belongs to another account.
    taken: &'static str,
    /// The contact that a customer has, and two others to change it to.
    old: &'static str,
    new: &'static str,
    other: &'static str,
    /// The new contact in spellings that people use.
    spellings: [&'static str; 3],
}

const NUMBER: Contact = Contact {
    member: "phone",
    request: "customers/request-phone-verification",
    verify: "customers/verify-phone-number",
    method: "sms",
    taken: "phone_taken",
    old: PHONE,
    new: "+12015550199",
    other: "+12025550177",
    spellings: ["+12015550199", "1 (201) 555-0199", "+１２０１５５５０１９９"],
};

const ADDRESS: Contact = Contact {
    member: "email",
    request: "customers/request-email-verification",
    verify: "customers/verify-email",
    method: "email",
    taken: "email_taken",
    old: EMAIL,
    new: "ada@lovelace.example",
    other: "countess@lovelace.example",
    spellings: ["ada@lovelace.example", "ADA@Lovelace.EXAMPLE", " ada@lovelace。example "],
};

const BOB: &str = "bob@example.com";

impl Contact {
    fn other_kind(self) -> Self {
        if self.member == NUMBER.member { ADDRESS } else { NUMBER }
    }

    async fn ask(self, world: &World, token: &str, contact: &str) -> Answer {
        world.storefront(self.request).token(token).json(&json!({ self.member: contact })).send().await
    }

    async fn confirm(self, world: &World, token: &str, code: impl Into<Value>) -> Answer {
        world.storefront(self.verify).token(token).json(&json!({ "code": code.into() })).send().await
    }

    async fn change(self, world: &World, token: &str, contact: &str) -> Value {
        self.ask(world, token, contact).await.ok(200);
        self.confirm(world, token, world.last_code()).await.ok(200)["customer"].clone()
    }

    /// Asserts that the customer has this contact and has proven it.
    #[track_caller]
    fn is_proven(self, customer: &Value, contact: &str) {
        let proven = &customer[format!("{}_verified", self.member)];
        assert_eq!((&customer[self.member], proven), (&json!(contact), &json!(true)));
    }
}

/// Runs a test for both kinds, each in its own world.
async fn of_both(story: impl AsyncFn(&World, Contact)) {
    for contact in [NUMBER, ADDRESS] {
        #[expect(clippy::print_stdout, reason = "if a test fails, the last line that it printed names the kind")]
        {
            println!("{}", contact.member);
        }
        story(&World::new().await, contact).await;
    }
}
