//! How request bodies create and change operators.

use crate::developers::operators::{OperatorBody, OperatorRecord};
use crate::kernel::ids::OperatorId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::operators::Operators;
use crate::resources::{Editable, Fields, Member, New, Record, RecordTransaction};

impl Editable for OperatorRecord {
    type Body = OperatorBody;

    /// The operator gets an invitation, so it must be possible to send one.
    async fn create(transaction: &mut RecordTransaction<Operators>, _: OperatorId, body: OperatorBody) -> Result<New<Self>, Problem> {
        let disabled = matches!(body.disabled, Member::Sent(true));
        let operator = Self::created_by(body)?;
        transaction.caller.must_cover(&operator.role.grant(), None)?;
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
        // An operator who was disabled had nothing. One who stays disabled gets the role when somebody lets them in again, so it counts.
        let is_let_in_again = before.fields.disabled_at.is_some() && after.disabled_at.is_none();
        let had = (!is_let_in_again).then(|| before.fields.role.grant());
        transaction.caller.must_cover(&after.role.grant(), had.as_ref())?;
        Ok(after)
    }
}
