//! The object in an event of the card provider, and the locations of its values.

use serde_json::Value;

use crate::gateways::drivers::NotUnderstood;
use crate::gateways::facts::{Fact, FactKind};
use crate::gateways::money::{Currency, Unit, minor_units};
use crate::kernel::ids::{CustomerId, OrderId};

/// `data.object`, and its previous attributes.
pub struct Object<'a> {
    object: &'a Value,
    before: Option<&'a Value>,
}

pub fn lacks(member: &str) -> NotUnderstood {
    NotUnderstood(format!("The event has no valid {member}."))
}

impl<'a> Object<'a> {
    pub fn of(event: &'a Value) -> Option<Self> {
        let data = event.get("data")?;
        // Relays send the object without the surrounding `object` field.
        let object = data.get("object").filter(|object| object.is_object()).or(Some(data)).filter(|object| object.is_object())?;
        Some(Self { object, before: data.get("previous_attributes") })
    }

    pub fn inner(object: &'a Value) -> Self {
        Self { object, before: None }
    }

    /// The value at a JSON pointer without escapes. [`Value::pointer`] would copy every step to unescape it.
    pub fn get(&self, pointer: &str) -> Option<&'a Value> {
        let value = pointer.split('/').skip(1).try_fold(self.object, |value, member| value.get(member))?;
        Some(value).filter(|value| !value.is_null())
    }

    pub fn text(&self, pointer: &str) -> Option<&'a str> {
        self.get(pointer)?.as_str().filter(|text| !text.is_empty())
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

    /// An amount, which the provider gives in minor units.
    pub fn amount(&self, pointers: &[&str]) -> Result<i64, NotUnderstood> {
        let value = pointers.iter().find_map(|pointer| self.get(pointer)).ok_or_else(|| lacks(pointers[0]))?;
        minor_units(value, &self.currency()?, Unit::Minor).map_err(|error| NotUnderstood(format!("{} {error}.", pointers[0])))
    }

    fn currency(&self) -> Result<Currency, NotUnderstood> {
        self.text("/currency").and_then(|text| text.parse().ok()).ok_or_else(|| lacks("currency"))
    }

    /// The total of all refunds of a charge before the event.
    pub fn refunded_before(&self) -> Option<i64> {
        self.before?.get("amount_refunded")?.as_i64()
    }

    /// A fact that requires an amount.
    pub fn sum(&self, kind: FactKind, pointers: &[&str]) -> Result<Fact, NotUnderstood> {
        Ok(Fact { amount: Some(self.amount(pointers)?), currency: Some(self.currency()?), ..self.fact(kind) })
    }

    /// A fact with an amount if there is one.
    pub fn note(&self, kind: FactKind, pointers: &[&str]) -> Fact {
        self.sum(kind, pointers).unwrap_or_else(|_| self.fact(kind))
    }

    /// A fact with the order and customer that the shop attached to the payment.
    pub fn fact(&self, kind: FactKind) -> Fact {
        let named = |names: &[&str]| names.iter().find_map(|name| self.text(name));
        let order = named(&["/metadata/order_id", "/metadata/order_uuid", "/metadata/order", "/client_reference_id"]);
        let customer = named(&["/metadata/customer_id", "/metadata/customer_uuid", "/metadata/customer"]);
        Fact {
            order: order.and_then(|id| id.parse::<OrderId>().ok()),
            customer: customer.and_then(|id| id.parse::<CustomerId>().ok()),
            ..Fact::new(kind)
        }
    }
}
