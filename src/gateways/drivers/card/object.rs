//! The object in an event of the card provider, and the locations of its values.

use serde_json::Value;

use crate::gateways::drivers::{NotUnderstood, Remarks, is_blank, read_currency};
use crate::gateways::facts::{Fact, FactKind};
use crate::gateways::money::{Currency, Unit, minor_units};

/// The first version of the provider's interface in which a release makes no refund and is not in `amount_refunded` ("Partially capturing or
/// canceling payments no longer creates a Refund").
const RELEASES_ARE_NO_REFUNDS: &str = "2025-03-31";

/// The unit of the provider's amounts ("Supported currencies", zero-decimal currencies and special cases): two currencies without decimals come in
/// hundredths, and one with decimals comes without. All others have the minor unit of ISO 4217.
fn unit(currency: &Currency) -> Unit {
    match currency.as_str() {
        "ISK" | "UGX" => Unit::Decimals(2),
        "MGA" => Unit::Decimals(0),
        _ => Unit::Minor,
    }
}

/// `data.object`, and its previous attributes.
pub struct Object<'a> {
    object: &'a Value,
    before: Option<&'a Value>,
    /// Whether the provider counts among the refunds what was released of an authorisation.
    pub counts_releases: bool,
}

pub fn lacks(member: &str) -> NotUnderstood {
    NotUnderstood(format!("The event has no valid {member}."))
}

impl<'a> Object<'a> {
    pub fn of(event: &'a Value) -> Option<Self> {
        let data = event.get("data")?;
        // Relays send the object without the surrounding `object` field.
        let object = data.get("object").filter(|object| object.is_object()).or(Some(data)).filter(|object| object.is_object())?;
        let version = event.get("api_version").and_then(Value::as_str);
        let counts_releases = version.is_none_or(|version| version < RELEASES_ARE_NO_REFUNDS);
        Some(Self { object, before: data.get("previous_attributes"), counts_releases })
    }

    pub fn inner(object: &'a Value) -> Self {
        Self { object, before: None, counts_releases: true }
    }

    /// The value at a JSON pointer without escapes; an empty text is none. [`Value::pointer`] would copy every step to unescape it.
    pub fn get(&self, pointer: &str) -> Option<&'a Value> {
        let value = pointer.split('/').skip(1).try_fold(self.object, |value, member| value.get(member))?;
        Some(value).filter(|value| !is_blank(value))
    }

    pub fn text(&self, pointer: &str) -> Option<&'a str> {
        self.get(pointer)?.as_str()
    }

    /// Whether this is a payment intent that never had a charge, or whose charges are captured at once, as it says itself.
    pub fn held_nothing(&self) -> bool {
        let is_captured_at_once = self.text("/capture_method").is_some_and(|method| method.starts_with("automatic"));
        is_captured_at_once || self.object.get("latest_charge").is_some_and(Value::is_null)
    }

    /// The id of another object, given as an id or as the expanded object.
    pub fn id_of(&self, pointer: &str) -> Option<String> {
        let value = self.get(pointer)?;
        value.as_str().or_else(|| value.get("id")?.as_str()).filter(|id| !id.is_empty()).map(str::to_owned)
    }

    /// The name that all events about one payment share: the id of the payment intent if there is one, else of the charge, else of
    /// the object itself.
    pub fn transaction(&self) -> Result<String, NotUnderstood> {
        self.id_of("/payment_intent").or_else(|| self.id_of("/charge")).or_else(|| self.id_of("/id")).ok_or_else(|| lacks("data.object.id"))
    }

    /// The first of the amounts that is there.
    pub fn amount(&self, pointers: &[&str]) -> Result<i64, NotUnderstood> {
        let found = pointers.iter().find_map(|pointer| Some((pointer, self.get(pointer)?)));
        let (pointer, value) = found.ok_or_else(|| lacks(pointers[0]))?;
        self.minor_units(pointer, value)
    }

    /// An amount that may be missing.
    pub fn amount_if_any(&self, pointer: &str) -> Result<Option<i64>, NotUnderstood> {
        self.get(pointer).map(|value| self.minor_units(pointer, value)).transpose()
    }

    fn minor_units(&self, pointer: &str, value: &Value) -> Result<i64, NotUnderstood> {
        let currency = self.currency()?;
        minor_units(value, &currency, unit(&currency)).map_err(|error| NotUnderstood(format!("{pointer} {error}.")))
    }

    fn currency(&self) -> Result<Currency, NotUnderstood> {
        self.get("/currency").map_or_else(|| Err(lacks("currency")), read_currency)
    }

    /// The total of all refunds of a charge before the event.
    pub fn refunded_before(&self) -> Result<Option<i64>, NotUnderstood> {
        let before = self.before.and_then(|before| before.get("amount_refunded")).filter(|value| !is_blank(value));
        before.map(|value| self.minor_units("previous_attributes.amount_refunded", value)).transpose()
    }

    /// A fact that requires an amount.
    pub fn sum(&self, kind: FactKind, pointers: &[&str], remarks: &mut Remarks) -> Result<Fact, NotUnderstood> {
        Ok(Fact { amount: Some(self.amount(pointers)?), currency: Some(self.currency()?), ..self.fact(kind, remarks) })
    }

    /// A fact with an amount if there is one. One that cannot be read is remarked upon.
    pub fn note(&self, kind: FactKind, pointers: &[&str], remarks: &mut Remarks) -> Fact {
        self.sum(kind, pointers, remarks).unwrap_or_else(|NotUnderstood(why)| {
            if pointers.iter().any(|pointer| self.get(pointer).is_some()) {
                remarks.add(why);
            }
            self.fact(kind, remarks)
        })
    }

    /// A fact with the order and customer that the shop attached to the payment.
    pub fn fact(&self, kind: FactKind, remarks: &mut Remarks) -> Fact {
        let named = |names: &[&str]| names.iter().find_map(|name| self.get(name));
        let order = named(&["/metadata/order_id", "/metadata/order_uuid", "/metadata/order", "/client_reference_id"]);
        let customer = named(&["/metadata/customer_id", "/metadata/customer_uuid", "/metadata/customer"]);
        Fact { order: remarks.id("order", order), customer: remarks.id("customer", customer), ..Fact::new(kind) }
    }
}
