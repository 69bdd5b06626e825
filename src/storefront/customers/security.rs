//! The events about the security of an account, for whoever watches over it. None has a code, a password or a token.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use crate::contact::Identity;
use crate::events::names::{CUSTOMER_CONTACT_CHANGED, CUSTOMER_DEVICE_ADDED, CUSTOMER_LOCKED_OUT, CUSTOMER_SIGNED_IN};
use crate::events::{self, EventName, NewEvent, Origin};
use crate::kernel::client_address::ClientAddress;
use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CustomerId, DeviceId, SessionId, StoreId};
use crate::kernel::traces;
use crate::members;
use crate::storefront::customers::{Customer, queries};
use crate::storefront::guessing::lockouts::Lockout;

/// What happened to an account.
#[derive(Debug)]
pub enum SecurityEvent<'a> {
    SignedIn {
        /// The word in the audit.
        method: &'a str,
        session: SessionId,
        device: &'a str,
        address: ClientAddress,
    },
    LockedOut {
        /// `codes`, `passwords` or `second_factor`.
        by: &'static str,
        lockout: Lockout,
    },
    ContactChanged(ContactChange),
    DeviceAdded {
        device: AddedDevice<'a>,
        session: SessionId,
        address: ClientAddress,
    },
}

/// A device that an account did not have before.
#[derive(Debug)]
pub enum AddedDevice<'a> {
    /// One that the customer signed in from, as a notice names it.
    SignIn(&'a str),
    /// One that gets notifications.
    Push { id: DeviceId, platform: &'a str },
}

/// A contact before and after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactChange {
    /// `email` or `phone`.
    contact: &'static str,
    change: &'static str,
    before: Option<String>,
    after: Option<String>,
    is_verified: bool,
}

impl ContactChange {
    /// What differs between the contacts of a customer before and after a change that the customer made.
    pub fn between(before: &Customer, after: &Customer) -> Vec<Self> {
        let email = Self::of("email", (&before.email, before.email_verified_at), (&after.email, after.email_verified_at));
        let phone = Self::of("phone", (&before.phone, before.phone_verified_at), (&after.phone, after.phone_verified_at));
        email.into_iter().chain(phone).collect()
    }

    /// The same for a change that takes another one back.
    pub fn taken_back(before: &Customer, after: &Customer) -> Vec<Self> {
        Self::between(before, after).into_iter().map(|change| Self { change: "taken_back", ..change }).collect()
    }

    /// A contact that was only listed, and that another account has proven.
    pub(super) fn removed(identity: &Identity) -> Self {
        let (contact, listed) = match identity {
            Identity::Email(email) => ("email", email.as_str()),
            Identity::Phone(phone) => ("phone", phone.as_str()),
        };
        Self { contact, change: "removed", before: Some(listed.to_owned()), after: None, is_verified: false }
    }

    fn of(
        contact: &'static str,
        (before, before_verified_at): (&Option<String>, Option<DateTime<Utc>>),
        (after, verified_at): (&Option<String>, Option<DateTime<Utc>>),
    ) -> Option<Self> {
        let (was_verified, is_verified) = (before_verified_at.is_some(), verified_at.is_some());
        let change = match (before, after) {
            (None, None) => return None,
            (None, Some(_)) => "added",
            (Some(_), None) => "removed",
            (Some(before), Some(after)) if !before.eq_ignore_ascii_case(after) => "changed",
            (Some(_), Some(_)) if is_verified && !was_verified => "verified",
            (Some(_), Some(_)) => return None,
        };
        Some(Self { contact, change, before: before.clone(), after: after.clone(), is_verified })
    }
}

impl SecurityEvent<'_> {
    fn name(&self) -> EventName {
        match self {
            Self::SignedIn { .. } => CUSTOMER_SIGNED_IN,
            Self::LockedOut { .. } => CUSTOMER_LOCKED_OUT,
            Self::ContactChanged(_) => CUSTOMER_CONTACT_CHANGED,
            Self::DeviceAdded { .. } => CUSTOMER_DEVICE_ADDED,
        }
    }

    fn members(&self) -> Map<String, Value> {
        match self {
            Self::SignedIn { method, session, device, address } => {
                members! { "method": method, "session": session, "device": device, "address": address.ip() }
            }
            Self::LockedOut { by, lockout: Lockout { until, step, for_good, .. } } => {
                let until = (!for_good).then(|| timestamp(*until));
                members! { "locked_out_by": by, "locked_out_until": until, "lockouts": step, "locked_for_good": for_good }
            }
            Self::ContactChanged(ContactChange { contact, change, before, after, is_verified }) => {
                members! { "contact": contact, "change": change, "before": before, "after": after, "verified": is_verified }
            }
            Self::DeviceAdded { device, session, address } => {
                let (kind, id, platform, name) = match device {
                    AddedDevice::SignIn(name) => ("sign_in", None, None, Some(name)),
                    AddedDevice::Push { id, platform } => ("push", Some(id), Some(platform), None),
                };
                members! {
                    "kind": kind, "device": id, "platform": platform, "name": name, "session": session, "address": address.ip(),
                }
            }
        }
    }
}

/// Publishes what happened to an account, in the transaction in which it happens.
pub async fn publish_security(
    conn: &mut Connection,
    (Origin { company, request }, store): (Origin, StoreId),
    customer: CustomerId,
    happened: impl IntoIterator<Item = SecurityEvent<'_>>,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let (subject, trace) = (Some(customer.uuid()), traces::context());
    let events: Vec<_> = happened
        .into_iter()
        .map(|event| {
            let mut data = members! { "id": customer, "public_id": customer, "uuid": customer.uuid(), "store": store };
            data.extend(event.members());
            data.extend(members! { "meta": json!({}), "additionalData": json!({}) });
            NewEvent { company, name: event.name(), subject, owner: None, request, trace, data: data.into() }
        })
        .collect();
    if !events.is_empty() {
        events::publish_all(conn, &events, now).await?;
    }
    Ok(())
}

/// Publishes that wrong guesses (`codes`, `passwords` or `second_factor`) lock an account out. The last of them is counted before, in a statement
/// of its own: it must cost something also if this fails.
pub async fn publish_lockout(
    conn: &mut Connection,
    (store, customer): (StoreId, CustomerId),
    (by, lockout): (&'static str, Lockout),
    now: DateTime<Utc>,
) {
    let published = async {
        let mut tx = conn.begin().await?;
        // Guesses are counted without knowing the company, and hardly any of them locks out.
        let Some(company) = queries::company_of_customer(&mut tx, customer).await? else { return Ok(()) };
        let origin = Origin { company, request: None };
        publish_security(&mut tx, (origin, store), customer, [SecurityEvent::LockedOut { by, lockout }], now).await?;
        tx.commit().await
    };
    if let Err(error) = published.await {
        tracing::error!(%customer, error = chain(&error), "a lock-out could not be published");
    }
}
