//! Gateways: receives the callbacks of payment gateways and keeps the ledger that follows from them (interface 2, `POST /webhooks`;
//! `docs/specification/decisions.md`, section 8).
//!
//! A *callback* is an inbound request; a *gateway* is an account of a company; a *driver* implements the protocol of one kind of
//! gateway (`docs/gateway-drivers.md` adds one); a *transaction* is the gateway's own name for what this service calls a *payment*; a
//! *fact* is one statement of a callback about one payment.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! reconciliation        asks the card provider for callbacks that did not arrive
//! callbacks             receives callbacks, resolves their gateway, verifies or refuses them, and retries those that failed
//! accounts  payments    gateways and payments as records of `ledger/int/v1`; gateways and their secrets for those who need them
//! state                 what the routes and the worker share
//! recording             records the genuine callbacks of one moment together
//! ledger                reads and writes callbacks, payments and facts; a write is one statement, or nothing if another was faster
//! genuine               a callback that was verified, and what it contains
//! open_gateways         a gateway with its secret decrypted, cached for a second
//! drivers               how each kind of gateway signs its callbacks, and what they mean
//! facts                 what callbacks report about a payment, and what follows from it
//! credential  money     secrets that are encrypted at rest, amounts in minor units
//! metrics               what is counted of callbacks
//! ```
//!
//! # One callback, by its types
//!
//! [`drivers::Incoming`] is what arrived. Once it is verified and read it is a [`genuine::GenuineCallback`], which the ledger looks up and
//! inserts as a [`ledger::NewCallback`]. One that could not be processed is read back as a [`ledger::UnprocessedCallback`] to be tried
//! again; [`CallbackRecord`] is how the API shows it.
//!
//! # What is guaranteed
//!
//! - Every callback is verified by a driver with the gateway's signing secret before it is trusted. Without a secret, no callback
//!   is genuine.
//! - A genuine callback is recorded once, however often it arrives and however many instances receive it. Its record, its
//!   consequences and their events are written by one statement, which is shared with other callbacks of the same moment, or in one
//!   transaction on a retry. A callback that fails does not make others fail.
//! - The state of a payment follows from the *set* of its facts alone ([`facts::State`]): any order and any repetition of the
//!   same callbacks ends in the same row and publishes each normalised event once.
//! - The amounts of the `payment.succeeded` events of a payment add up to what was paid, and those of its `refund.processed` events to the refunds
//!   that its callbacks report, in any order and at any time. Refunds of a payment that is only held wait until it succeeds.
//! - A callback of the card provider that did not arrive is asked for and recorded as if it had, as long as the provider keeps its event
//!   ([`reconciliation`]).
//! - A genuine callback that could not be processed is kept and retried by the worker. It can also be retried by hand from the
//!   ledger.
//! - A client without the key cannot fill the disk: a refused callback is kept in part, rate limited per hour and only for some
//!   days. Beyond the limit, an instance refuses it without touching the database.
//! - Whatever a genuine callback contains, recording it takes a bounded time: the number of facts in one callback and about one payment is
//!   limited, each is taken into account once, and large bodies are read beside the threads that answer requests.
//!
//! # What is not guaranteed
//!
//! - That a change to a gateway made by another instance takes effect at once: the data that callbacks are verified with is cached
//!   for one second. A change made by this instance takes effect for the next callback.
//! - That every refund has an event of its own if the gateway reports only totals, and not what is new in them. An event has to be
//!   published for a total before it is known whether it is one refund or several. So the events then depend on the order of arrival:
//!   of the totals 300 and 700, the events are 300 and 400, or only 700. Refunds that are reported by name as well are matched
//!   with such a total by the sum alone.
//! - That a callback that adds several refunds to the total at once is matched with those refunds, if they are reported by name too.
//! - That an order or customer named by a callback is the right one: only that it belongs to the same company.
//! - Agreement with the gateway's own books. A payment reflects its callbacks; what they do not report is unknown, and only the card provider
//!   is asked for those that did not arrive.

mod accounts;
mod callbacks;
mod credential;
pub mod drivers;
pub mod facts;
mod genuine;
mod ledger;
mod metrics;
pub mod money;
mod open_gateways;
mod payments;
mod reconciliation;
mod recording;
mod state;

use axum::Router;
use axum::extract::FromRef;

use crate::companies::{Companies, RequestLimits};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::openapi::Description;
use crate::resources::Extension;

pub use accounts::{ActiveGateway, CardGateways, Gateway, GatewayBody, GatewayError, count_card_gateways, find_card_gateway};
pub use callbacks::{CallbackRecord, LARGER_BODIES, MAX_KEPT_BODY_LEN, export_callbacks};
pub use credential::{Credential, GatewaySigningSecret, InvalidCredential, Purpose, SEALED, SecretKey};
pub use ledger::{CallbackBacklog, erase_bodies_of};
pub use payments::Payment;
pub use state::{Gateways, Settings};

impl Gateways {
    /// Starts the worker; it ends on shutdown.
    pub fn start_worker(&self, lifecycle: &Lifecycle) {
        self.start_retrying(lifecycle);
        self.start_reconciling(lifecycle);
    }
}

/// The routes that gateways call, outside of every namespace.
pub fn callback_routes<S>() -> Router<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    RequestLimits: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    callbacks::receiving_routes()
}

/// The OpenAPI description of [`callback_routes`].
pub fn callback_description() -> Description {
    callbacks::description()
}

/// The resources and routes below `ledger/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    accounts::extension().merge(callbacks::extension()).read_only::<Payment>()
}
