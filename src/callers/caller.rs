//! Who asks for something, for which company, and with which grant.

use std::borrow::Cow;

use uuid::Uuid;

use crate::callers::{Area, Grant, Party, Scope};
use crate::kernel::ids::{CompanyId, KeyId, OperatorId, PortalLinkId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_id::RequestId;

/// Somebody who uses or changes the records of a company.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The tenant whose records are used.
    pub company: CompanyId,
    /// What the caller may do.
    pub grant: Grant,
    /// Whom the audit trail names as the author of a change.
    pub who: Who,
    /// The HTTP request, if there is one.
    pub request: Option<RequestId>,
}

/// The identity of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// A system of the company, by its API key.
    ApiKey(KeyId),
    /// A person in the console.
    Operator(OperatorId),
    /// One of the company's own customers in the portal, by the link that let them in.
    PortalLink(PortalLinkId),
    /// Somebody with access to the machine or its database.
    CommandLine,
    /// The service itself: a worker, or a guard that pauses or disables something.
    Service,
}

impl Who {
    /// The words that the audit trail stores for the kinds of callers.
    pub const KINDS: &'static [&'static str] = &["api_key", "operator", "portal_link", "command_line", "service"];

    /// One of [`Self::KINDS`].
    pub fn kind(self) -> &'static str {
        match self {
            Self::ApiKey(_) => "api_key",
            Self::Operator(_) => "operator",
            Self::PortalLink(_) => "portal_link",
            Self::CommandLine => "command_line",
            Self::Service => "service",
        }
    }

    /// The id of the API key, operator or portal link; `None` for the command line and the service.
    pub fn id(self) -> Option<Uuid> {
        match self {
            Self::ApiKey(id) => Some(id.uuid()),
            Self::Operator(id) => Some(id.uuid()),
            Self::PortalLink(id) => Some(id.uuid()),
            Self::CommandLine | Self::Service => None,
        }
    }

    /// The id of the API key, operator or portal link, as responses show it.
    pub fn shown_id(self) -> Option<String> {
        match self {
            Self::ApiKey(id) => Some(id.to_string()),
            Self::Operator(id) => Some(id.to_string()),
            Self::PortalLink(id) => Some(id.to_string()),
            Self::CommandLine | Self::Service => None,
        }
    }

    /// The caller of a stored change; `None` if this version does not know the kind.
    pub fn read(kind: &str, id: Option<Uuid>) -> Option<Self> {
        let identified =
            id.map(|id| [Self::ApiKey(id.into()), Self::Operator(id.into()), Self::PortalLink(id.into())]).into_iter().flatten();
        identified.chain([Self::CommandLine, Self::Service]).find(|who| who.kind() == kind)
    }
}

impl Caller {
    /// A command on the machine of the service. It has every scope.
    pub fn command_line(company: CompanyId) -> Self {
        Self { company, grant: Grant::everything(), who: Who::CommandLine, request: None }
    }

    /// The service's own work for a company. It has every scope.
    pub fn service(company: CompanyId) -> Self {
        Self { company, grant: Grant::everything(), who: Who::Service, request: None }
    }

    /// Returns the error `api_key_too_strong` unless the caller's own grant covers the access that is handed out: it allows no more, from no
    /// other networks and for no longer. What its holder `had` already is not handed out.
    ///
    /// Everything that lets somebody in goes through here: API keys, operators with their links and second factors, portal links.
    pub fn must_cover(&self, access: &Grant, had: Option<&Grant>) -> Result<(), Problem> {
        let adds = had.is_none_or(|had| access.escalation_over(had).is_some());
        match access.escalation_over(&self.grant).filter(|_| adds) {
            Some(escalation) => Err(escalation.into()),
            None => Ok(()),
        }
    }

    /// Whose share of the company's requests this caller takes; `None` for a caller that is no client of the service.
    pub fn party(&self) -> Option<Party> {
        match (self.who, &self.grant.owner) {
            (_, Some(owner)) => Some(Party::Visitors(owner.clone())),
            (Who::ApiKey(id), None) => Some(Party::Key(id)),
            (Who::Operator(id), None) => Some(Party::Operator(id)),
            (Who::PortalLink(_) | Who::CommandLine | Who::Service, None) => None,
        }
    }

    /// Returns the error `scope_missing` unless the grant contains `scope` in `area`, and reaches all records of the company.
    pub fn require(&self, area: Area, scope: Scope) -> Result<(), Problem> {
        self.require_within_owner(area, scope)?;
        match self.grant.owner {
            None => Ok(()),
            Some(_) => Err(Problem::new(ProblemCode::ScopeMissing).detail("A portal link reaches the webhooks of its owner alone.")),
        }
    }

    /// Returns the error `scope_missing` unless the grant contains `scope` in `area`. This is for what can be done by a caller who is
    /// restricted to one owner as well: every statement behind it keeps to the records of [`Grant::owner`].
    ///
    /// [`Scope::Admin`] decides who gets in and where secrets go, so an operator has to have proven a short time ago who they are.
    pub fn require_within_owner(&self, area: Area, scope: Scope) -> Result<(), Problem> {
        if self.grant.allows(area, scope) {
            return if scope == Scope::Admin { self.require_proof() } else { Ok(()) };
        }
        let reason = match self.who {
            Who::PortalLink(_) => "A portal link does not allow this.".to_owned(),
            Who::Operator(_) => format!("Your role does not allow this: it needs the permission {scope} for {}.", area.name()),
            Who::ApiKey(_) | Who::CommandLine | Who::Service => format!("This API key does not have the scope {scope}."),
        };
        Err(Problem::new(ProblemCode::ScopeMissing).detail(reason))
    }

    /// Returns the error `fresh_sign_in_required` if an operator has to prove again who they are. [`Scope::Admin`] asks for it by itself; what
    /// shows a secret under another scope asks for it here. A copied cookie is no proof.
    pub fn require_proof(&self) -> Result<(), Problem> {
        if self.grant.needs_proof { Err(ProblemCode::FreshSignInRequired.into()) } else { Ok(()) }
    }

    /// The caller for reading what has no secrets, for which no operator proves again who they are.
    pub fn reading(&self) -> Cow<'_, Self> {
        if !self.grant.needs_proof {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { grant: Grant { needs_proof: false, ..self.grant.clone() }, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callers::{Reach, Scopes};

    #[test]
    fn a_caller_is_read_as_it_is_stored() {
        let id = Uuid::from_u128(7);
        for who in [Who::ApiKey(id.into()), Who::Operator(id.into()), Who::PortalLink(id.into()), Who::CommandLine, Who::Service] {
            assert_eq!(Who::read(who.kind(), who.id()), Some(who));
            assert!(Who::KINDS.contains(&who.kind()));
        }
        assert_eq!(Who::read("api_key", None), None);
        assert_eq!(Who::read("stranger", Some(id)), None);
    }

    #[test]
    fn a_caller_may_do_what_its_grant_says() {
        let company = CompanyId::from(Uuid::from_u128(1));
        for unlimited in [Caller::command_line(company), Caller::service(company)] {
            assert!(Scope::ALL.into_iter().all(|scope| unlimited.require(Area::Customers, scope).is_ok()));
        }
        let who = Who::Operator(OperatorId::from(Uuid::from_u128(2)));
        let support = Caller { grant: Scopes::new([Scope::Read]).into(), who, ..Caller::service(company) };
        assert!(support.require(Area::Customers, Scope::Read).is_ok());
        assert_eq!(support.require(Area::Customers, Scope::Write).unwrap_err().code(), ProblemCode::ScopeMissing);
    }

    #[test]
    fn nobody_hands_out_more_than_they_have_but_what_was_there_before_stays() {
        let company = CompanyId::from(Uuid::from_u128(1));
        let grant = Grant { networks: vec!["203.0.113.0/24".to_owned()].try_into().unwrap(), ..Grant::everything() };
        let office = Caller { grant, ..Caller::service(company) };
        let (within, everywhere) = (Grant { scopes: Scopes::new([Scope::Read]), ..office.grant.clone() }, Grant::everything());
        let reading = Grant::from(Scopes::new([Scope::Read]));
        let too_strong = Err(ProblemCode::ApiKeyTooStrong);
        for (access, had, expected) in [
            (&within, None, Ok(())),
            (&office.grant, None, Ok(())),
            (&everywhere, None, too_strong),
            (&everywhere, Some(&everywhere), Ok(())),
            (&reading, Some(&everywhere), Ok(())),
            (&everywhere, Some(&reading), too_strong),
            (&within, Some(&reading), Ok(())),
        ] {
            assert_eq!(office.must_cover(access, had).map_err(|problem| problem.code()), expected, "{access:?} in place of {had:?}");
        }
    }

    #[test]
    fn an_operator_who_has_to_prove_who_they_are_administers_nothing() {
        let company = CompanyId::from(Uuid::from_u128(1));
        let grant = Grant { needs_proof: true, ..Grant::everything() };
        let operator = Caller { grant, who: Who::Operator(OperatorId::from(Uuid::from_u128(2))), ..Caller::service(company) };
        for area in Area::ALL {
            assert!(operator.require(area, Scope::Write).is_ok());
            assert_eq!(operator.require(area, Scope::Admin).unwrap_err().code(), ProblemCode::FreshSignInRequired);
            assert!(operator.reading().require(area, Scope::Admin).is_ok());
        }
        // An operator without the permission is told that, and need not prove anything.
        let viewer = Caller { grant: Grant { reach: Reach::up_to(Scope::Read), ..operator.grant.clone() }, ..operator };
        assert_eq!(viewer.require(Area::Traffic, Scope::Admin).unwrap_err().code(), ProblemCode::ScopeMissing);
    }

    #[test]
    fn visitors_of_one_owner_share_by_whichever_link_they_came() {
        let company = CompanyId::from(Uuid::from_u128(1));
        let visitor = |owner: &str, link| {
            let grant = Grant { owner: Some(owner.to_owned().try_into().unwrap()), ..Grant::everything() };
            Caller { grant, who: Who::PortalLink(Uuid::from_u128(link).into()), ..Caller::service(company) }
        };
        assert_eq!(visitor("7", 1).party(), visitor("7", 2).party());
        assert_ne!(visitor("7", 1).party(), visitor("8", 1).party());
        assert_eq!(Caller::service(company).party(), None);
    }

    #[test]
    fn who_is_restricted_to_one_owner_reaches_only_what_keeps_to_it() {
        let owner = Some("7".to_owned().try_into().unwrap());
        let company = CompanyId::from(Uuid::from_u128(1));
        let visitor = Caller { grant: Grant { owner, ..Grant::everything() }, ..Caller::service(company) };
        for (area, scope) in Area::ALL.into_iter().zip(Scope::ALL) {
            assert_eq!(visitor.require(area, scope).unwrap_err().code(), ProblemCode::ScopeMissing);
            assert!(visitor.require_within_owner(area, scope).is_ok());
        }
    }
}
