//! An entry of the timeline in a sentence, in which every noun is a link.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::callers::Caller;
use crate::console::Console;
use crate::console::addresses::{list_address, record_address, with_query};
use crate::console::cell::Cell;
use crate::console::history;
use crate::console::records::title_of;
use crate::console::sentence::Sentence;
use crate::console::shell::{PageError, Ui};
use crate::gateways::money;
use crate::resources::KindDoc;

/// One row.
pub(super) struct Told {
    pub(super) at: DateTime<Utc>,
    /// When, at the side of the row.
    pub(super) time: String,
    /// One word about how it went.
    pub(super) state: Cell,
    pub(super) sentence: Sentence,
    /// The session that lasts, to be ended.
    pub(super) session: Option<String>,
    /// The event whose deliveries are told too.
    event: Option<String>,
}

/// Knows who asks, and in which language.
pub(super) struct Teller<'a> {
    pub(super) console: &'a Console,
    pub(super) caller: &'a Caller,
    pub(super) ui: &'a Ui,
}

fn text(value: &Value) -> Cell {
    Cell::Text(value.as_str().unwrap_or_default().to_owned())
}

impl Teller<'_> {
    fn told(&self, at: &Value, state: Cell, sentence: Sentence) -> Option<Told> {
        let at: DateTime<Utc> = at.as_str()?.parse().ok()?;
        Some(Told { at, time: at.format("%H:%M:%S").to_string(), state, sentence, session: None, event: None })
    }

    /// A link to a record, or only the text for who may not read it.
    fn link(&self, namespace: &str, path: &str, id: &Value, text: &str) -> Cell {
        match (self.console.kinds.find(self.caller, namespace, path), id.as_str()) {
            (Some(kind), Some(id)) => Cell::Link { address: record_address(kind, id), text: text.to_owned() },
            _ => Cell::Text(text.to_owned()),
        }
    }

    /// A link to the records that have this value.
    fn all_with(&self, namespace: &str, path: &str, filter: &str, value: &str) -> Cell {
        match self.console.kinds.find(self.caller, namespace, path) {
            Some(kind) => Cell::Link { address: with_query(&list_address(kind), [(filter, value)]), text: value.to_owned() },
            None => Cell::Text(value.to_owned()),
        }
    }

    /// An entry of the storefront's timeline.
    pub(super) fn tell(&self, entry: &Value) -> Option<Told> {
        let (ui, id, detail) = (self.ui, &entry["id"], &entry["detail"]);
        let (state, sentence) = match entry["kind"].as_str()? {
            "account" => self.account(detail),
            "sign_in" => return self.sign_in(entry),
            "session" => {
                let session = self.link("storefront", "tokens", id, ui.t("session"));
                (Cell::word(ui, "ended"), Sentence::of(ui.t("A {} was ended before it expired."), [session]))
            }
            "code" => code(ui, detail),
            "text" => {
                let number = self.all_with("storefront", "texts", "number", detail["number"].as_str().unwrap_or_default());
                let record = self.link("storefront", "texts", id, ui.t("text"));
                let said = Sentence::of(ui.t("A {} to {}."), [record, number]);
                let why = detail["reason"].as_str().map(|reason| Sentence::of(reason, []));
                (Cell::word(ui, detail["delivery"].as_str().or(detail["status"].as_str())?), why.into_iter().fold(said, Sentence::and))
            }
            "notice" => notice(ui, detail),
            "device" => (
                Cell::word(ui, "device"),
                Sentence::of(ui.t("A device for notifications was registered: {}."), [text(&detail["platform"])]),
            ),
            _ => return None,
        };
        self.told(&entry["at"], state, sentence)
    }

    fn account(&self, detail: &Value) -> (Cell, Sentence) {
        let (ui, about) = (self.ui, || text(&detail["about"]));
        match detail["what"].as_str().unwrap_or_default() {
            "registered" => (Cell::word(ui, "registered"), Sentence::of(ui.t("The customer registered."), [])),
            "email_verified" => (Cell::word(ui, "proven"), Sentence::of(ui.t("The address {} was proven."), [about()])),
            "phone_verified" => (Cell::word(ui, "proven"), Sentence::of(ui.t("The number {} was proven."), [about()])),
            "banned" => (Cell::word(ui, "banned"), Sentence::of(ui.t("The customer was banned: {}."), [about()])),
            _ => (Cell::word(ui, "closed"), Sentence::of(ui.t("The account was closed."), [])),
        }
    }

    fn sign_in(&self, entry: &Value) -> Option<Told> {
        let (ui, detail) = (self.ui, &entry["detail"]);
        let method = self.link("storefront", "sign-ins", &entry["id"], method_name(ui, detail["method"].as_str()?));
        let from = match detail["address"].as_str() {
            Some(address) if !address.is_empty() => self.all_with("storefront", "sign-ins", "address", address),
            _ => Cell::Text(ui.t("an address that was erased").to_owned()),
        };
        let outcome = detail["outcome"].as_str()?;
        if outcome != "signed_in" {
            let why = Cell::Text(ui.word(outcome));
            let said = Sentence::of(ui.t("A sign-in with {} from {} was refused: {}."), [method, from, why]);
            return self.told(&entry["at"], Cell::word(ui, "refused"), said);
        }
        let session = &detail["session"];
        let lasts = session["ended_at"].is_null() && session["expires_at"].as_str()?.parse::<DateTime<Utc>>().ok()? > ui.now();
        let said = Sentence::of(ui.t("Signed in with {} from {}."), [method, from]);
        let mut told = self.told(&entry["at"], Cell::word(ui, "signed in"), said)?;
        if lasts {
            told.session = session["id"].as_str().map(str::to_owned);
        }
        Some(told)
    }

    /// A record of a list that is about the customer.
    pub(super) fn tell_record(&self, tab: &str, kind: &KindDoc, record: &Value) -> Option<Told> {
        let ui = self.ui;
        let named = |name: String| Cell::Link { address: record_address(kind, record["id"].as_str().unwrap_or_default()), text: name };
        let status = record["status"].as_str().unwrap_or_default();
        let mut told = match tab {
            "orders" => {
                let said = Sentence::of(ui.t("The order {} was created."), [named(title_of(record))]);
                self.told(&record["created_at"], Cell::word(ui, status), said)?
            }
            "payments" => {
                let amount = record["amount"].as_i64().zip(record["currency"].as_str());
                let amount = amount.map_or_else(String::new, |(amount, currency)| money::shown(amount, currency));
                let name = record["gateway_transaction_id"].as_str().unwrap_or_default().to_owned();
                let said = Sentence::of(ui.t("A payment of {}: {}."), [Cell::Text(amount), named(name)]);
                self.told(&record["created_at"], Cell::word(ui, status), said)?
            }
            "events" => self.told(&record["created_at"], Cell::word(ui, "event"), history::published(ui, kind, record))?,
            _ => {
                let act = history::act(kind, record);
                let who = Cell::plain(ui, &self.console.kinds, &record["caller_id"]);
                self.told(&record["created_at"], Cell::word(ui, "change"), Sentence::of(ui.t("Changed by {}: {}."), [who, act]))?
            }
        };
        told.event = record["id"].as_str().filter(|_| tab == "events").map(str::to_owned);
        Some(told)
    }

    /// Tells where an event was delivered.
    pub(super) async fn add_deliveries(&self, told: &mut Told) -> Result<(), PageError> {
        let Some(event) = told.event.take() else { return Ok(()) };
        let Some(kind) = self.console.kinds.find(self.caller, "developers", "deliveries") else { return Ok(()) };
        let path = with_query(&kind.list_path(), [("event_id", event.as_str()), ("limit", "5")]);
        let answer = self.console.api.get(self.caller, &path).await?;
        for delivery in answer.body["deliveries"].as_array().into_iter().flatten() {
            let address = record_address(kind, delivery["id"].as_str().unwrap_or_default());
            let link = Cell::Link { address, text: self.ui.t("delivery").to_owned() };
            let state = Cell::word(self.ui, delivery["status"].as_str().unwrap_or_default());
            let said = Sentence::of(self.ui.t("A {} is {}."), [link, state]);
            told.sentence = std::mem::replace(&mut told.sentence, Sentence::of("", [])).and(said);
        }
        Ok(())
    }
}

fn code(ui: &Ui, detail: &Value) -> (Cell, Sentence) {
    let purpose = match detail["purpose"].as_str().unwrap_or_default() {
        "create_account" => ui.t("to register"),
        "sign_in" => ui.t("to sign in"),
        "close_account" => ui.t("to close the account"),
        "step_up" => ui.t("to confirm who it is"),
        _ => ui.t("to prove a contact"),
    };
    let channel = if detail["channel"] == "sms" { ui.t("by text") } else { ui.t("by mail") };
    let values = [Cell::Text(purpose.to_owned()), Cell::Text(channel.to_owned()), text(&detail["sent_to"])];
    let word = if detail["locked"] == true {
        "locked"
    } else if detail["used_at"].is_null() {
        "not used"
    } else {
        "used"
    };
    (Cell::word(ui, word), Sentence::of(ui.t("A code {} was sent {} to {}."), values))
}

fn notice(ui: &Ui, detail: &Value) -> (Cell, Sentence) {
    let about = match detail["about"].as_str().unwrap_or_default() {
        "phone_changed" => ui.t("a new phone number"),
        "email_changed" => ui.t("a new email address"),
        "contact_changed" => ui.t("a further change of contacts"),
        "change_taken_back" => ui.t("a change of contacts that was taken back"),
        "new_sign_in" => ui.t("a sign-in from a new device"),
        "password_changed" => ui.t("a new password"),
        "provider_linked" => ui.t("a linked identity provider"),
        "second_factor_on" => ui.t("a second factor"),
        "second_factor_off" => ui.t("the removed second factor"),
        "recovery_code_used" => ui.t("a recovery code that was used"),
        "recovery_codes_replaced" => ui.t("new recovery codes"),
        "passkey_added" => ui.t("a new passkey"),
        "passkey_removed" => ui.t("a removed passkey"),
        _ => ui.t("the closed account"),
    };
    let channel = if detail["channel"] == "sms" { ui.t("by text") } else { ui.t("by mail") };
    let word = match detail["status"].as_str().unwrap_or_default() {
        "not_sent" => "not sent",
        "limited" => "too many",
        status => status,
    };
    let values = [Cell::Text(about.to_owned()), Cell::Text(channel.to_owned())];
    (Cell::word(ui, word), Sentence::of(ui.t("The customer was told of {} {}."), values))
}

/// The method of a sign-in, for people. Identity providers have names of their own.
fn method_name<'a>(ui: &Ui, method: &'a str) -> &'a str {
    match method {
        "registration" => ui.t("a new account"),
        "code" => ui.t("a code"),
        "password" => ui.t("a password"),
        "password_reset" => ui.t("a new password"),
        "totp" => ui.t("an authenticator app"),
        "recovery_code" => ui.t("a recovery code"),
        "passkey" => ui.t("a passkey"),
        provider => provider,
    }
}
