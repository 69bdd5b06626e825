//! A customer, as the pages need the record.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::callers::Caller;
use crate::console::Console;
use crate::console::cell::Cell;
use crate::console::customers::API;
use crate::console::shell::{PageError, Ui};

#[derive(Deserialize)]
struct One {
    customer: Customer,
}

#[derive(Clone, Deserialize)]
pub(super) struct Customer {
    pub(super) id: String,
    pub(super) uuid: String,
    pub(super) store: String,
    pub(super) name: String,
    #[serde(rename = "title")]
    pub(super) form_of_address: Option<String>,
    /// The id of the customer in the systems of the shop.
    pub(super) external_id: Option<String>,
    pub(super) email: Option<String>,
    pub(super) phone: Option<String>,
    pub(super) email_verified: bool,
    pub(super) phone_verified: bool,
    pub(super) banned_at: Option<DateTime<Utc>>,
    pub(super) banned_reason: Option<String>,
    banned_until: Option<DateTime<Utc>>,
    pub(super) closed_at: Option<DateTime<Utc>>,
    pub(super) locked_out_until: Option<DateTime<Utc>>,
    locked_out_by: Option<String>,
    lockouts: Option<i32>,
    locked_for_good: Option<bool>,
    pub(super) created_at: DateTime<Utc>,
    /// Whether the account was made with a test identity.
    pub(super) test: bool,
    pub(super) provider_links: Vec<ProviderLink>,
    /// Since when sign-ins ask for a second factor.
    pub(super) second_factor_since: Option<DateTime<Utc>>,
    recovery_codes_left: Option<i64>,
    pub(super) passkeys: Vec<Passkey>,
}

/// An identity provider that opens the account, or would again once it is linked anew.
#[derive(Clone, Deserialize)]
pub(super) struct ProviderLink {
    pub(super) provider: String,
    pub(super) state: String,
    pub(super) linked_at: DateTime<Utc>,
}

/// A passkey, which opens the account unless it is suspended.
#[derive(Clone, Deserialize)]
pub(super) struct Passkey {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: String,
    pub(super) created_at: DateTime<Utc>,
    pub(super) last_used_at: Option<DateTime<Utc>>,
}

impl Customer {
    pub(super) async fn find(console: &Console, caller: &Caller, id: &str) -> Result<Self, PageError> {
        Ok(console.api.read::<One>(caller, &format!("{API}/{id}")).await?.customer)
    }

    /// What to call the customer.
    pub(super) fn title(&self) -> &str {
        let names = [Some(&self.name), self.email.as_ref(), self.phone.as_ref()];
        names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or(&self.id)
    }

    pub(super) fn address(&self) -> String {
        format!("/console/customers/{}", self.id)
    }

    /// The state in a word, and what it means in a sentence.
    pub(super) fn state(&self, ui: &Ui) -> (Cell, String) {
        let (word, sentence) = if let Some(at) = self.closed_at {
            ("closed", ui.say("The account was closed {}.", [ui.at(&at).text()]))
        } else if let Some(at) = self.banned_at {
            ("banned", self.ban(ui, at))
        } else if let Some(until) = self.locked_out_until {
            ("locked", self.lockout(ui, until))
        } else {
            ("active", ui.say("Customer since {}.", [self.created_at.format("%Y-%m-%d")]))
        };
        (Cell::word(ui, word), sentence)
    }

    /// Since when there is a second factor, and how many recovery codes are left.
    pub(super) fn second_factor(&self, ui: &Ui) -> Option<String> {
        let since = ui.at(&self.second_factor_since?).text();
        Some(ui.say("Since {}. Recovery codes left: {}.", [since, self.recovery_codes_left.unwrap_or_default().to_string()]))
    }

    /// Since when and why the customer is banned, and when it ends if it does by itself.
    fn ban(&self, ui: &Ui, at: DateTime<Utc>) -> String {
        let (at, reason) = (ui.at(&at).text(), self.banned_reason.clone().unwrap_or_default());
        match self.banned_until {
            Some(until) => ui.say("Banned {}: {}. Every sign-in is refused. It ends {}.", [at, reason, ui.at(&until).text()]),
            None => ui.say("Banned {}: {}. Every sign-in is refused.", [at, reason]),
        }
    }

    /// What locks the customer out, until when, and how often it did since the last sign-in.
    fn lockout(&self, ui: &Ui, until: DateTime<Utc>) -> String {
        let times = self.lockouts.unwrap_or(1).to_string();
        match (self.locked_for_good.unwrap_or_default(), self.locked_out_by.as_deref()) {
            (true, Some("passwords")) => {
                ui.t("Locked out by a hundred wrong passwords. It ends with a code, or when somebody unlocks the account.").to_owned()
            }
            (true, Some("second_factor")) => ui
                .t("Locked out by a hundred wrong codes of an authenticator app. It ends with a recovery code, or when somebody unlocks the account.")
                .to_owned(),
            (true, _) => ui
                .t("Locked out by a hundred wrong codes. It ends with a password or a provider, or when somebody unlocks the account.")
                .to_owned(),
            (false, Some("passwords")) => {
                ui.say("Locked out by wrong passwords, for the {}. time since the last sign-in. It ends {}.", [times, ui.at(&until).text()])
            }
            (false, Some("second_factor")) => ui.say(
                "Locked out by wrong codes of an authenticator app, for the {}. time since the last right one. It ends {}.",
                [times, ui.at(&until).text()],
            ),
            (false, _) => {
                ui.say("Locked out by wrong codes, for the {}. time since the last sign-in. It ends {}.", [times, ui.at(&until).text()])
            }
        }
    }

    /// Whether the account still says who the customer was.
    pub(super) fn is_known(&self) -> bool {
        self.title() != self.id
    }

    pub(super) fn is_open(&self) -> bool {
        self.closed_at.is_none()
    }
}
