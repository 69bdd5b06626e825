//! Operators, as a resource of `developers/int/v1` that requires the scope `admin` (`docs/specification/decisions.md`, section 9).
//!
//! Creating one sends an invitation. Passwords, codes and links are never part of the API: operators choose and prove them in the
//! console. What a change ends (sessions, links) ends in its transaction.

mod access;
mod body;

use axum::extract::FromRef;
use axum::http::Method;
use serde_json::json;

use crate::audit_trail::ChangedRecord;
use crate::callers::{Area, Scope};
use crate::companies::Companies;
use crate::contact::EmailAddress;
use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::kernel::ids::OperatorId;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::operators::{self, MailLanguage, NO_OWNER_LEFT, Notice, Operators, Role};
use crate::resources::{
    Change, Extension, FilterForm, Instant, Line, PublishesEvents, Record, RecordTransaction, Resource, ResourceState, TextEnum, Unique,
};

crate::fields! {
    /// A person who signs in to the console.
    pub struct OperatorRecord, body OperatorBody {
        /// The address that the operator signs in with and is mailed at. It cannot be changed.
        #[filtered]
        email: EmailAddress,
        /// The name of the person.
        name: Option<Line<255>>,
        /// What the operator may do: owner, developer, support or viewer.
        role: Role,
        /// The language of mails to the operator.
        language: MailLanguage,
    }
    by_hand {
        /// Whether the operator is kept out.
        disabled: bool = |operator| operator.disabled_at.is_some(),
    }
    read_only {
        /// When the operator was disabled.
        disabled_at: Option<Instant>,
        /// When the operator accepted the invitation. Null as long as it waits.
        accepted_at: Option<Instant>,
        /// Since when the operator has a second factor. Null for none.
        totp_enabled_at: Option<Instant>,
        /// When the operator last signed in.
        last_signed_in_at: Option<Instant>,
    }
}

crate::field_type!(Role => Role, json!({ "type": "string", "enum": Role::NAMES }), filtered by FilterForm::one_of(Role::NAMES));
crate::field_type!(MailLanguage => MailLanguage, json!({ "type": "string", "enum": MailLanguage::NAMES }), initially MailLanguage::En);

impl TextEnum for Role {
    const VARIANTS: &'static [&'static str] = Self::NAMES;
}

impl ResourceState for Operators {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl Resource for OperatorRecord {
    type Id = OperatorId;
    type State = Operators;

    const SINGULAR: &'static str = "operator";
    const PLURAL: &'static str = "operators";
    const AREA: Area = Area::Administration;
    const READING: Scope = Scope::Admin;
    const WRITING: Scope = Scope::Admin;
    const REFUSALS: &'static [ProblemCode] = &[ProblemCode::ApiKeyTooStrong, ProblemCode::MessageNotSent];
}

/// Operators publish no events: subscribers do not need to know about access.
impl PublishesEvents for OperatorRecord {
    const AUDITED_AS: Option<fn(OperatorId) -> ChangedRecord> = Some(ChangedRecord::Operator);
    const UNIQUE: &'static [Unique] =
        &[Unique { constraint: "operators_email_key", member: "email", sentence: "An operator with this address exists already." }];

    async fn follow_up(transaction: &mut RecordTransaction<Operators>, change: &Change<'_, Self>) -> Result<(), Problem> {
        let now = transaction.now;
        if change.newly(|operator| operator.disabled_at.is_none().then_some(operator.role)).is_some() {
            tell_of_role(transaction, change.record()).await?;
        }
        match change {
            Change::Created(operator) => {
                let whom = (operator.id, operator.fields.email.as_str());
                operators::queue_for_company(transaction.conn(), operator.company, whom, now).await?;
            }
            Change::Updated(before, after) => {
                if before.is_serving_owner()
                    && !after.is_serving_owner()
                    && !operators::has_owner(transaction.conn(), after.company).await?
                {
                    let member = if after.fields.role == Role::Owner { "disabled" } else { "role" };
                    return Err(FieldErrors::one(member, NO_OWNER_LEFT));
                }
                if after.fields.disabled_at.is_some() && before.fields.disabled_at.is_none() {
                    operators::end_access(transaction.conn(), after.id).await?;
                }
            }
            Change::Deleted(operator) => {
                if operator.is_serving_owner() && !operators::has_owner(transaction.conn(), operator.company).await? {
                    return Err(Problem::new(ProblemCode::RecordInUse).detail(NO_OWNER_LEFT));
                }
                operators::end_for_good(transaction.conn(), operator.id).await?;
            }
        }
        Ok(())
    }
}

/// Tells the owners who gets in with which role, and the operator, unless that is their invitation.
async fn tell_of_role(transaction: &mut RecordTransaction<Operators>, operator: &Record<OperatorRecord>) -> Result<(), sqlx::Error> {
    let (now, detail) = (transaction.now, format!("{}, {}", operator.fields.email, operator.fields.role.as_str()));
    let concerned = operator.fields.accepted_at.map(|_| operator.id);
    operators::tell_owners(transaction.conn(), operator.company, concerned, Notice::Role, &detail, now).await
}

impl Record<OperatorRecord> {
    /// Whether this is an owner who can sign in.
    fn is_serving_owner(&self) -> bool {
        let OperatorRecord { role, disabled_at, accepted_at, .. } = &self.fields;
        *role == Role::Owner && disabled_at.is_none() && accepted_at.is_some()
    }
}

/// The five routes, and those for an operator's access.
pub(super) fn extension<S>() -> Extension<S>
where
    Operators: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("developers")
        .editable::<OperatorRecord>()
        .route(Method::POST, "/operators/{uuid}/send-link", access::send_link_doc(), access::send_link)
        .route(Method::POST, "/operators/{uuid}/reset-totp", access::reset_totp_doc(), access::reset_totp)
        .route(Method::GET, "/operators/{uuid}/sessions", access::sessions_doc(), access::sessions)
        .route(Method::POST, "/operators/{uuid}/end-sessions", access::end_sessions_doc(), access::end_sessions)
}
