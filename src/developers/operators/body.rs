//! How request bodies create and change operators.

use crate::developers::operators::{OperatorBody, OperatorRecord};
use crate::kernel::ids::OperatorId;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::operators::{Operators, Role};
use crate::resources::{Editable, Fields, Member, New, Record, RecordTransaction};

impl Editable for OperatorRecord {
    type Body = OperatorBody;

    /// The operator gets an invitation, so it must be possible to send one.
    async fn create(transaction: &mut RecordTransaction<Operators>, _: OperatorId, body: OperatorBody) -> Result<New<Self>, Problem> {
        let disabled = matches!(body.disabled, Member::Sent(true));
        let operator = Self::created_by(body)?;
        check(transaction, operator.role)?;
        transaction.state.must_reach_operators()?;
        Ok(Self { email: operator.email.to_ascii_lowercase(), disabled_at: disabled.then_some(transaction.now), ..operator }.into())
    }

    async fn change(transaction: &mut RecordTransaction<Operators>, before: &Record<Self>, body: OperatorBody) -> Result<Self, Problem> {
        if let Member::Sent(email) = &body.email
            && email.key() != before.fields.email
        {
            return Err(FieldErrors::one("email", "The address of an operator cannot be changed. Invite another operator with it."));
        }
        let disabled_at = match body.disabled {
            Member::Sent(true) => before.fields.disabled_at.or(Some(transaction.now)),
            Member::Sent(false) => None,
            Member::Missing => before.fields.disabled_at,
        };
        let after = Self { email: before.fields.email.clone(), disabled_at, ..before.fields.changed_by(body) };
        if after.role != before.fields.role {
            check(transaction, after.role)?;
        }
        Ok(after)
    }
}

/// Returns an error if an operator with this role could do more than the caller, or for longer.
fn check(transaction: &RecordTransaction<Operators>, role: Role) -> Result<(), Problem> {
    match role.grant().escalation_over(&transaction.caller.grant) {
        Some(_) => Err(Problem::new(ProblemCode::ApiKeyTooStrong)
            .detail("An API key that is restricted to networks, or that expires, cannot let operators in.")),
        None => Ok(()),
    }
}
