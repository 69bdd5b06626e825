//! The kinds of gateways: how each signs its callbacks, and what they mean. `docs/gateway-drivers.md` adds one step by step.
//!
//! [`DRIVERS`] is the only list of them. Everything that names the drivers reads it: the validation of gateways, the command line and
//! the API description.

mod card;
mod hmac;
mod interface;
mod manual;

pub use interface::{
    Account, Finding, GatewayDriver, ID_OF_TRANSACTION, Incoming, Mode, NotUnderstood, PaymentUpdate, Reading, Remarks, SettingsError,
    SignatureError, TRIAL, is_blank, parse_settings, read_currency, shown, signing_key, try_out,
};

/// All drivers. A new driver is added here.
static DRIVERS: &[&dyn GatewayDriver] = &[&card::Card, &hmac::AnyHmac, &manual::Manual];

/// No driver has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("There is no driver {name:?}; drivers are {}.", names().join(", "))]
pub struct UnknownDriver {
    name: String,
}

/// The driver with this name. The message of the error lists all names.
pub fn named(name: &str) -> Result<&'static dyn GatewayDriver, UnknownDriver> {
    DRIVERS.iter().copied().find(|driver| driver.name() == name).ok_or_else(|| UnknownDriver { name: name.to_owned() })
}

/// The driver that needs no further field, which an example of a gateway is of.
pub const EXAMPLE: &str = "manual";

/// What the field `driver` of a gateway may contain.
pub fn names() -> Vec<&'static str> {
    DRIVERS.iter().map(|driver| driver.name()).collect()
}
