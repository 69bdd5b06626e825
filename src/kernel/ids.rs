//! Typed ids: a UUIDv7 inside, a TypeID (`customer_01h455vb4pex5vsknk084sn02q`) outside.

use std::fmt;
use std::hash::Hash;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use type_safe_id::{DynamicType, StaticType, TypeSafeId};
use uuid::{NoContext, Timestamp, Uuid};

use crate::kernel::limit_key::LimitKey;

/// The common interface of all ids, for code that handles many kinds of records.
pub trait TypedId:
    Copy
    + Eq
    + Hash
    + fmt::Debug
    + fmt::Display
    + FromStr<Err = InvalidId>
    + From<Uuid>
    + Into<Uuid>
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + Unpin
    + 'static
{
    /// The prefix before the `_`.
    const PREFIX: &'static str;

    /// A new id for the instant `now`; later ids sort after earlier ones.
    fn new(now: DateTime<Utc>) -> Self {
        Self::from(uuid_v7(now))
    }

    /// The JSON Schema of an id as responses show it.
    fn json_schema() -> Value {
        json!({ "type": "string", "pattern": format!("^{}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$", Self::PREFIX) })
    }
}

/// The text is neither a UUID nor a TypeID of the expected kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is neither a UUID nor an id that begins with {expected}_")]
pub struct InvalidId {
    /// The prefix that was expected.
    pub expected: &'static str,
}

/// A new UUIDv7 for the instant `now`.
pub fn uuid_v7(now: DateTime<Utc>) -> Uuid {
    let seconds = u64::try_from(now.timestamp()).expect("the clock is after 1970");
    Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, now.timestamp_subsec_nanos()))
}

/// The instant in a UUIDv7.
fn made_at(uuid: Uuid) -> Option<DateTime<Utc>> {
    let (seconds, nanoseconds) = uuid.get_timestamp()?.to_unix();
    DateTime::from_timestamp(i64::try_from(seconds).ok()?, nanoseconds)
}

macro_rules! typed_ids {
    ($($(#[$doc:meta])* $Id:ident, $prefix:literal;)*) => {
        mod prefix {
            $(#[derive(Default)] pub struct $Id;
            impl super::StaticType for $Id { const TYPE: &'static str = $prefix; })*
        }
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type)]
            #[sqlx(transparent)]
            pub struct $Id(Uuid);

            impl $Id {
                /// A new id for the instant `now`; later ids sort after earlier ones.
                pub fn new(now: DateTime<Utc>) -> Self { Self(uuid_v7(now)) }
                /// The UUID.
                pub fn uuid(self) -> Uuid { self.0 }

                /// When the id was made, to the millisecond. `None` for an id that this service did not make.
                pub fn made_at(self) -> Option<DateTime<Utc>> { made_at(self.0) }
            }
            impl TypedId for $Id { const PREFIX: &'static str = $prefix; }
            impl LimitKey for $Id {}
            impl From<Uuid> for $Id { fn from(uuid: Uuid) -> Self { Self(uuid) } }
            impl From<$Id> for Uuid { fn from(id: $Id) -> Self { id.0 } }
            impl std::fmt::Display for $Id {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    TypeSafeId::<prefix::$Id>::from_uuid(self.0).fmt(f)
                }
            }
            impl std::fmt::Debug for $Id {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { std::fmt::Display::fmt(self, f) }
            }
            impl std::str::FromStr for $Id {
                type Err = InvalidId;
                /// Parses a bare UUID or a TypeID of this kind.
                fn from_str(text: &str) -> Result<Self, InvalidId> {
                    Uuid::try_parse(text)
                        .or_else(|_| text.parse::<TypeSafeId<prefix::$Id>>().map(|id| id.uuid()))
                        .map(Self)
                        .map_err(|_| InvalidId { expected: $prefix })
                }
            }
            impl serde::Serialize for $Id {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }
            impl<'de> serde::Deserialize<'de> for $Id {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                    text.parse().map_err(serde::de::Error::custom)
                }
            }
        )*
    };
}

typed_ids! {
    /// A company, the tenant that owns everything.
    CompanyId, "company";
    /// A shop of a company; customers belong to one.
    StoreId, "store";
    /// A store key or an API key.
    KeyId, "key";
    /// A user of the console.
    OperatorId, "operator";
    /// A browser in which an operator is signed in.
    OperatorSessionId, "console";
    /// A link into the portal, for one of a company's own customers.
    PortalLinkId, "portal";
    /// An entry of the audit trail.
    ChangeId, "change";
    /// An end customer of one store.
    CustomerId, "customer";
    /// A phone number or email address for tests.
    TestIdentityId, "testidentity";
    /// An identity provider of a company.
    IdentityProviderId, "identityprovider";
    /// Access of a company's app to an account at an identity provider.
    ProviderGrantId, "grant";
    /// A server of a company that is asked before a customer registers.
    RegistrationHookId, "registrationhook";
    /// A passkey of a customer.
    PasskeyId, "passkey";
    /// What a company's texts or mails are sent by.
    MessageProviderId, "messageprovider";
    /// What a company's texts and mails say in one language.
    MessageWordingId, "messagewording";
    /// A customer's session, as operators refer to it. It differs from the number at the start of the token.
    SessionId, "session";
    /// An entry of the sign-in audit log.
    SignInId, "signin";
    /// A push device of a customer.
    DeviceId, "device";
    /// A verification code. The digest of its digits includes the id.
    CodeId, "code";
    /// A text message, sent or refused.
    TextId, "text";
    /// A pause of texts by the SMS guard.
    TextPauseId, "pause";
    /// A message that told a customer what happened to the account.
    NoticeId, "notice";
    /// A change of a proven contact that can be taken back.
    ContactChangeId, "contactchange";
    /// An order.
    OrderId, "order";
    /// A driver.
    DriverId, "driver";
    /// A vehicle.
    VehicleId, "vehicle";
    /// A fleet.
    FleetId, "fleet";
    /// An issue.
    IssueId, "issue";
    /// A proof of delivery.
    ProofId, "proof";
    /// A tracking number.
    TrackingNumberId, "track";
    /// A tracking status.
    TrackingStatusId, "status";
    /// A webhook subscription.
    SubscriptionId, "webhook";
    /// An event.
    EventId, "event";
    /// One event for one subscription.
    DeliveryId, "delivery";
    /// One POST of a delivery.
    AttemptId, "attempt";
    /// What sends deliveries, as long as one process runs.
    WorkerId, "worker";
    /// A request to replay many deliveries.
    ReplayId, "replay";
    /// A mail to an operator.
    LetterId, "letter";
    /// A company's account at a payment gateway.
    GatewayId, "gateway";
    /// A callback from a payment gateway.
    CallbackId, "callback";
    /// A transaction at a payment gateway.
    PaymentId, "payment";
    /// A record of a kind declared in a file.
    DeclaredId, "record";
}

/// The id of a record of any kind: its UUID, parsed from any form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct AnyId(Uuid);

/// The text is neither a UUID nor a TypeID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be the id of a record, such as order_01h455vb4pex5vsknk084sn02q.")]
pub struct InvalidAnyId;

/// The prefix, `_` and the encoded UUID.
const LONGEST_TYPE_ID: usize = 63 + 1 + 26;

impl AnyId {
    /// The UUID, whatever the form that the id was parsed from.
    pub fn uuid(self) -> Uuid {
        self.0
    }
}

impl From<AnyId> for Uuid {
    fn from(id: AnyId) -> Self {
        id.0
    }
}

impl FromStr for AnyId {
    type Err = InvalidAnyId;

    fn from_str(text: &str) -> Result<Self, InvalidAnyId> {
        let uuid = Uuid::try_parse(text).ok().or_else(|| Some(type_id(text)?.uuid()));
        uuid.map(Self).ok_or(InvalidAnyId)
    }
}

fn type_id(text: &str) -> Option<TypeSafeId<DynamicType>> {
    let may_be_one = text.is_ascii() && text.len() <= LONGEST_TYPE_ID;
    may_be_one.then(|| text.parse().ok()).flatten()
}

/// Parses an id of a kind that is known only at run time, in any of its forms. Also returns it in the form that responses show.
pub fn read_id(prefix: &str, text: &str) -> Option<(Uuid, String)> {
    let id = type_id(text).filter(|id| id.type_prefix() == prefix).map(|id| id.uuid());
    let uuid = Uuid::try_parse(text).ok().or(id)?;
    let shown = TypeSafeId::from_type_and_uuid(DynamicType::new(prefix).ok()?, uuid);
    Some((uuid, shown.to_string()))
}

impl TryFrom<String> for AnyId {
    type Error = InvalidAnyId;

    fn try_from(text: String) -> Result<Self, InvalidAnyId> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_pure_function_of_its_uuid_and_both_forms_are_read() {
        let uuid: Uuid = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let id = CustomerId::from(uuid);
        assert_eq!(id.to_string(), "customer_01h455vb4pex5vsknk084sn02q");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(uuid.to_string().parse(), Ok(id));
        assert_eq!("order_01h455vb4pex5vsknk084sn02q".parse::<CustomerId>(), Err(InvalidId { expected: "customer" }));
    }

    #[test]
    fn an_id_of_a_kind_that_is_named_is_read_in_its_forms_and_shown_in_one() {
        let uuid: Uuid = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let shown = "order_01h455vb4pex5vsknk084sn02q";
        for text in ["01890a5d-ac96-774b-bcce-b302099a8057", "01890A5DAC96774BBCCEB302099A8057", shown] {
            assert_eq!(read_id("order", text), Some((uuid, shown.to_owned())), "{text}");
        }
        assert_eq!(read_id("driver", shown), None);
        assert_eq!(read_id("order", "order_1"), None);
    }

    #[test]
    fn an_id_of_any_kind_is_read_by_its_form() {
        let uuid: Uuid = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        for text in ["01890a5d-ac96-774b-bcce-b302099a8057", "parcel_01h455vb4pex5vsknk084sn02q", "big_parcel_01h455vb4pex5vsknk084sn02q"] {
            assert_eq!(text.parse::<AnyId>().unwrap().uuid(), uuid, "{text}");
        }
        let long = format!("{}_01h455vb4pex5vsknk084sn02q", "a".repeat(64));
        for text in ["", "parcel", "parcel_1", "Parcel_01h455vb4pex5vsknk084sn02q", "ä_01h455vb4pex5vsknk084sn02q", &long] {
            assert_eq!(text.parse::<AnyId>(), Err(InvalidAnyId), "{text}");
        }
    }
}
