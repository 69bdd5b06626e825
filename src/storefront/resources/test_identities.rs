//! Test identities in the API for operators.

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::json;

use crate::audit_trail::ChangedRecord;
use crate::callers::{Area, Scope};
use crate::contact::Identity;
use crate::kernel::crypto::six_digits;
use crate::kernel::ids::{CompanyId, TestIdentityId};
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Change, FilterForm, Instant, Link, PublishesEvents, Record, RecordTransaction, Resource, Unique, Validated};
use crate::storefront::accounts::closure;
use crate::storefront::customers;
use crate::storefront::resources::stores::{StoreRecord, Stores};

/// The longest time that a test identity lasts, unless it is extended. A forgotten one must not stay a way in for ever.
const MAX_LIFETIME: TimeDelta = TimeDelta::days(90);

crate::fields! {
    /// A phone number or email address of nobody, whose code is fixed and never sent: for the review of an app and for automated tests.
    pub struct TestIdentityRecord, body TestIdentityBody {
        /// The store whose apps use it. Cannot be changed.
        #[filtered]
        store_id as "store": Link<StoreRecord>,
        /// The phone number or email address. Cannot be changed.
        #[filtered] #[searched]
        identity: TestedIdentity,
        /// The code that is right for it: six digits. Only shown to callers who may change the test identity, because it signs in.
        code: FixedCode,
        /// When the code stops being right: in 90 days at most.
        expires_at: Instant,
    }
}

/// A phone number or email address, as codes are stored under it.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct TestedIdentity(String);

impl TryFrom<String> for TestedIdentity {
    type Error = crate::contact::InvalidIdentity;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Identity::parse(&text).map(|identity| Self(identity.key()))
    }
}

impl From<TestedIdentity> for String {
    fn from(identity: TestedIdentity) -> Self {
        identity.0
    }
}

/// Six digits.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct FixedCode(String);

impl TryFrom<String> for FixedCode {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        six_digits(&text).map(|digits| Self(digits.expose_secret().to_owned())).ok_or("A code consists of six digits.")
    }
}

impl From<FixedCode> for String {
    fn from(code: FixedCode) -> Self {
        code.0
    }
}

crate::field_type!(
    TestedIdentity => String,
    json!({ "type": "string", "examples": ["review@example.com"] }),
    filtered by FilterForm::text::<TestedIdentity>("a phone number or an email address")
);
crate::field_type!(FixedCode => String, json!({ "type": "string", "pattern": "^[0-9]{6}$" }));

impl Resource for TestIdentityRecord {
    type Id = TestIdentityId;
    type State = Stores;

    const SINGULAR: &'static str = "test_identity";
    const PLURAL: &'static str = "test_identities";
    const AREA: Area = Area::Integration;
    /// Its code stands for the proof of a number or an address, which is to vouch, and its end closes the accounts that were made with it.
    const WRITING_REACHES: &'static [(Area, Scope)] = &[(Area::Customers, Scope::Admin)];
    const SHOWN_TO_WRITERS: &'static [&'static str] = &["code"];
    /// Whoever knows the code signs in.
    const LEADS_TO: &'static [&'static str] = &["identity", "code"];
}

/// Publishes no events.
impl PublishesEvents for TestIdentityRecord {
    const UNIQUE: &'static [Unique] = &[Unique {
        constraint: "test_identities_identity",
        member: "identity",
        sentence: "The store has a test identity with this number or address already.",
    }];

    const AUDITED_AS: Option<fn(TestIdentityId) -> ChangedRecord> = Some(ChangedRecord::TestIdentity);

    /// The accounts that were made with a test identity are closed with it.
    async fn follow_up(transaction: &mut RecordTransaction<Stores>, change: &Change<'_, Self>) -> Result<(), Problem> {
        let Change::Deleted(deleted) = change else { return Ok(()) };
        let (caller, now) = (transaction.caller.clone(), transaction.now);
        for customer in customers::lock_made_with(transaction.conn(), deleted.id).await? {
            closure::close_account(transaction.conn(), (&caller).into(), customer, now).await?;
        }
        Ok(())
    }

    /// A store knows whether it has test identities, and the accounts that were closed have sessions.
    fn evict(stores: &Stores, company: CompanyId) {
        stores.caches.invalidate_stores(company);
        stores.caches.invalidate_sessions(company);
    }
}

impl Validated for TestIdentityRecord {
    async fn validate(
        transaction: &mut RecordTransaction<Stores>,
        before: Option<&Record<Self>>,
        tested: &mut Self,
    ) -> Result<(), Problem> {
        let mut errors = FieldErrors::default();
        if let Some(before) = before {
            for (member, differs) in
                [("store", before.fields.store_id != tested.store_id), ("identity", before.fields.identity != tested.identity)]
            {
                if differs {
                    errors.add(member, "This cannot be changed. Create another test identity instead.");
                }
            }
        }
        if !lasts_from(transaction.now, tested.expires_at) {
            errors.add("expires_at", "This must be in the future, and at most 90 days ahead.");
        }
        if before.is_none() && customers::is_of_a_customer(transaction.conn(), tested.store_id, &tested.identity, false).await? {
            errors.add("identity", "A customer of the store has this number or address.");
        }
        errors.finish()
    }
}

fn lasts_from(now: DateTime<Utc>, until: DateTime<Utc>) -> bool {
    until > now && until <= now + MAX_LIFETIME
}
