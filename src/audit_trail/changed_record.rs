//! What is changed, and what can be done to it.

use std::fmt;

use uuid::Uuid;

use crate::kernel::ids::{
    CompanyId, CustomerId, GatewayId, IdentityProviderId, KeyId, MessageProviderId, MessageWordingId, OperatorId, OperatorSessionId,
    PortalLinkId, RegistrationHookId, StoreId, SubscriptionId, TestIdentityId,
};

/// What was done to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// Its entry names no fields.
    Created,
    /// The names of the changed fields. Their values are not recorded.
    Updated(&'a [&'a str]),
    /// Its entry names no fields.
    Deleted,
    /// Its secret was shown to somebody, and nothing was changed.
    Shown,
}

impl Action<'_> {
    /// The words that entries store for the actions.
    pub const NAMES: &'static [&'static str] = &["created", "updated", "deleted", "shown"];

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated(_) => "updated",
            Self::Deleted => "deleted",
            Self::Shown => "shown",
        }
    }

    pub(super) fn fields(&self) -> Vec<String> {
        match self {
            Self::Updated(fields) => fields.iter().map(|field| (*field).to_owned()).collect(),
            Self::Created | Self::Deleted | Self::Shown => Vec::new(),
        }
    }
}

/// A record that decides what others may do or where data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedRecord {
    /// The company itself: it was suspended or resumed.
    Company(CompanyId),
    /// Has the same type of id as [`ChangedRecord::StoreKey`]: only the kind tells the two apart.
    ApiKey(KeyId),
    /// A store with the settings of its SMS guard.
    Store(StoreId),
    /// The key of a store's apps.
    StoreKey(KeyId),
    /// A webhook, by the id of its subscription.
    Webhook(SubscriptionId),
    /// A company's account at a payment gateway.
    Gateway(GatewayId),
    /// A customer: what an operator did to the account, never what the customer did.
    Customer(CustomerId),
    /// Somebody who signs in to the console.
    Operator(OperatorId),
    /// A browser in which an operator is signed in.
    OperatorSession(OperatorSessionId),
    /// A link into the portal.
    PortalLink(PortalLinkId),
    /// A phone number or email address whose code is fixed.
    TestIdentity(TestIdentityId),
    /// An identity provider of a company.
    IdentityProvider(IdentityProviderId),
    /// A server that is asked before a customer registers.
    RegistrationHook(RegistrationHookId),
    /// What a company's texts or mails are sent by.
    MessageProvider(MessageProviderId),
    /// What a company's texts and mails say.
    MessageWording(MessageWordingId),
}

impl ChangedRecord {
    /// The words that entries store for the kinds.
    pub const KINDS: &'static [&'static str] = &[
        "company",
        "api_key",
        "store",
        "store_key",
        "webhook",
        "gateway",
        "customer",
        "operator",
        "operator_session",
        "portal_link",
        "test_identity",
        "identity_provider",
        "registration_hook",
        "message_provider",
        "message_wording",
    ];

    /// One of [`Self::KINDS`].
    pub fn kind(self) -> &'static str {
        match self {
            Self::Company(_) => "company",
            Self::ApiKey(_) => "api_key",
            Self::Store(_) => "store",
            Self::StoreKey(_) => "store_key",
            Self::Webhook(_) => "webhook",
            Self::Gateway(_) => "gateway",
            Self::Customer(_) => "customer",
            Self::Operator(_) => "operator",
            Self::OperatorSession(_) => "operator_session",
            Self::PortalLink(_) => "portal_link",
            Self::TestIdentity(_) => "test_identity",
            Self::IdentityProvider(_) => "identity_provider",
            Self::RegistrationHook(_) => "registration_hook",
            Self::MessageProvider(_) => "message_provider",
            Self::MessageWording(_) => "message_wording",
        }
    }

    pub(super) fn uuid(self) -> Uuid {
        match self {
            Self::Company(id) => id.uuid(),
            Self::ApiKey(id) | Self::StoreKey(id) => id.uuid(),
            Self::Store(id) => id.uuid(),
            Self::Webhook(id) => id.uuid(),
            Self::Gateway(id) => id.uuid(),
            Self::Customer(id) => id.uuid(),
            Self::Operator(id) => id.uuid(),
            Self::OperatorSession(id) => id.uuid(),
            Self::PortalLink(id) => id.uuid(),
            Self::TestIdentity(id) => id.uuid(),
            Self::IdentityProvider(id) => id.uuid(),
            Self::RegistrationHook(id) => id.uuid(),
            Self::MessageProvider(id) => id.uuid(),
            Self::MessageWording(id) => id.uuid(),
        }
    }

    /// The record of a stored entry; `None` if this version does not know its kind.
    pub fn read(kind: &str, id: Uuid) -> Option<Self> {
        let kinds = [
            Self::Company(id.into()),
            Self::ApiKey(id.into()),
            Self::Store(id.into()),
            Self::StoreKey(id.into()),
            Self::Webhook(id.into()),
            Self::Gateway(id.into()),
            Self::Customer(id.into()),
            Self::Operator(id.into()),
            Self::OperatorSession(id.into()),
            Self::PortalLink(id.into()),
            Self::TestIdentity(id.into()),
            Self::IdentityProvider(id.into()),
            Self::RegistrationHook(id.into()),
            Self::MessageProvider(id.into()),
            Self::MessageWording(id.into()),
        ];
        kinds.into_iter().find(|record| record.kind() == kind)
    }
}

/// The id, as responses show it.
impl fmt::Display for ChangedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Company(id) => id.fmt(f),
            Self::ApiKey(id) | Self::StoreKey(id) => id.fmt(f),
            Self::Store(id) => id.fmt(f),
            Self::Webhook(id) => id.fmt(f),
            Self::Gateway(id) => id.fmt(f),
            Self::Customer(id) => id.fmt(f),
            Self::Operator(id) => id.fmt(f),
            Self::OperatorSession(id) => id.fmt(f),
            Self::PortalLink(id) => id.fmt(f),
            Self::TestIdentity(id) => id.fmt(f),
            Self::IdentityProvider(id) => id.fmt(f),
            Self::RegistrationHook(id) => id.fmt(f),
            Self::MessageProvider(id) => id.fmt(f),
            Self::MessageWording(id) => id.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_its_name() {
        for kind in ChangedRecord::KINDS {
            let record = ChangedRecord::read(kind, Uuid::from_u128(7)).unwrap();
            assert_eq!((record.kind(), record.uuid()), (*kind, Uuid::from_u128(7)));
        }
        assert_eq!(ChangedRecord::read("parcel", Uuid::from_u128(7)), None);
        assert_eq!(ChangedRecord::read("store_key", Uuid::nil()).unwrap().to_string(), KeyId::from(Uuid::nil()).to_string());
    }

    #[test]
    fn every_action_has_its_name() {
        let names = [Action::Created, Action::Updated(&["name"]), Action::Deleted, Action::Shown].map(|action| action.name());
        assert_eq!(names, Action::NAMES);
        assert_eq!((Action::Updated(&["name"]).fields(), Action::Deleted.fields()), (vec!["name".to_owned()], Vec::new()));
    }
}
