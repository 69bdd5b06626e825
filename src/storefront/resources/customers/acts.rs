//! What operators do to the account of a customer. Each act is in the audit trail; none shows a code, a token or a password.

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::Caller;
use crate::companies::moving;
use crate::kernel::ids::{CustomerId, PasskeyId, TypedId};
use crate::kernel::json::{JsonBody, JsonOptions};
use crate::kernel::openapi::{OperationDoc, closed_object};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::resources::{EmptyBody, FieldType, Instant, Line, Record, RecordTransaction, Resource, Shown, WriteRequest};
use crate::storefront::accounts::{closure, ending, erasure, export, password_reset, second_factor, social};
use crate::storefront::resources::customers::CustomerRecord;
use crate::storefront::state::Storefront;
use crate::storefront::{codes, customers, guessing, passkeys, passwords, second_factors};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ban {
    /// Why, for other operators. The customer is not told.
    reason: Line<255>,
    /// When the ban ends by itself, if it does.
    until: Option<Instant>,
}

fn doc(summary: &'static str) -> OperationDoc {
    OperationDoc::new(summary)
        .taking_options(EmptyBody::schema())
        .showing(StatusCode::OK, CustomerRecord::SINGULAR)
        .refusing(&[ProblemCode::AccountClosed])
}

pub fn ban_doc() -> OperationDoc {
    let reason =
        json!({ "type": "string", "minLength": 1, "maxLength": 255, "description": "Why, for other operators. The customer is not told." });
    let mut until = Option::<Instant>::schema();
    until["description"] = "When the ban ends by itself. It lasts until it is lifted if this is missing.".into();
    OperationDoc::new("Ban a customer: end all sessions and refuse every sign-in until the ban ends or is lifted.")
        .taking_body(closed_object(&["reason"], [("reason", reason), ("until", until)]))
        .showing(StatusCode::OK, CustomerRecord::SINGULAR)
        .refusing(&[ProblemCode::AccountClosed])
}

/// `POST customers/{uuid}/ban`
pub async fn ban(
    WriteRequest { state, caller, id }: WriteRequest<CustomerRecord>,
    JsonBody(ban): JsonBody<Ban>,
) -> Result<Response, Problem> {
    Ok(state.ban(&caller, id, ban).await?.answer(StatusCode::OK))
}

pub fn unban_doc() -> OperationDoc {
    doc("Lift the ban of a customer, who can sign in again.")
}

/// `POST customers/{uuid}/unban`
pub async fn unban(
    WriteRequest { state, caller, id }: WriteRequest<CustomerRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    Ok(state.unban(&caller, id).await?.answer(StatusCode::OK))
}

pub fn unlock_doc() -> OperationDoc {
    doc("Forget the wrong codes and wrong passwords of a customer, who can try again at once.")
}

/// `POST customers/{uuid}/unlock`
pub async fn unlock(
    WriteRequest { state, caller, id }: WriteRequest<CustomerRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    Ok(state.unlock(&caller, id).await?.answer(StatusCode::OK))
}

pub fn reset_password_doc() -> OperationDoc {
    doc("Make the password of a customer useless: end all sessions, suspend the links to identity providers and the passkeys, and have the customer choose a new password with a code.")
        .refusing(&[ProblemCode::ContactMissing])
}

/// `POST customers/{uuid}/reset-password`
pub async fn reset_password(
    WriteRequest { state, caller, id }: WriteRequest<CustomerRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    Ok(state.withdraw_password(&caller, id).await?.answer(StatusCode::OK))
}

pub fn remove_second_factor_doc() -> OperationDoc {
    doc("Remove the second factor of a customer who has lost it, with the recovery codes. The customer is told on every proven contact.")
}

/// `POST customers/{uuid}/remove-second-factor`
pub async fn remove_second_factor(
    WriteRequest { state, caller, id }: WriteRequest<CustomerRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    Ok(state.withdraw_second_factor(&caller, id).await?.answer(StatusCode::OK))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemovedPasskey {
    passkey: PasskeyId,
}

pub fn remove_passkey_doc() -> OperationDoc {
    OperationDoc::new("Remove a passkey of a customer, who lost it or does not know it.")
        .taking_body(closed_object(&["passkey"], [("passkey", PasskeyId::json_schema())]))
        .showing(StatusCode::OK, CustomerRecord::SINGULAR)
        .refusing(&[ProblemCode::AccountClosed])
}

/// `POST customers/{uuid}/remove-passkey`
pub async fn remove_passkey(
    WriteRequest { state, caller, id }: WriteRequest<CustomerRecord>,
    JsonBody(RemovedPasskey { passkey }): JsonBody<RemovedPasskey>,
) -> Result<Response, Problem> {
    Ok(state.remove_passkey(&caller, id, passkey).await?.answer(StatusCode::OK))
}

pub fn close_doc() -> OperationDoc {
    doc("Close the account of a customer for good, as the customer could.")
}

/// `POST customers/{uuid}/close`
pub async fn close(
    WriteRequest { state, caller, id }: WriteRequest<CustomerRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    Ok(state.close_account(&caller, id).await?.answer(StatusCode::OK))
}

pub fn erase_doc() -> OperationDoc {
    OperationDoc::new("Erase the personal data of a customer now, and close the account for good if it is open.")
        .explained("Orders and payments stay. Events about the customer go with the retention of events.".to_owned())
        .taking_options(EmptyBody::schema())
        .showing(StatusCode::OK, CustomerRecord::SINGULAR)
}

/// `POST customers/{uuid}/erase`
pub async fn erase(
    WriteRequest { state, caller, id }: WriteRequest<CustomerRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    Ok(state.erase_account(&caller, id).await?.answer(StatusCode::OK))
}

pub fn export_doc() -> OperationDoc {
    OperationDoc::new("Show what the storefront stores about a customer, without anything that could sign somebody in.")
        .explained("Orders and payments of the customer are lists of their own: `fleet/int/v1/orders?customer=`, `ledger/int/v1/payments?customer=`.".to_owned())
        .answering(StatusCode::OK, json!({ "type": "object", "description": "The stored data by kind." }))
}

/// `GET customers/{uuid}/export`
pub async fn export(WriteRequest { state: storefront, caller, id }: WriteRequest<CustomerRecord>) -> Result<Json<Value>, Problem> {
    Ok(Json(storefront.export(&caller, id).await?))
}

/// An account that is locked for an act.
pub(super) struct Locked {
    pub(super) transaction: RecordTransaction<Storefront>,
    pub(super) customer: Record<CustomerRecord>,
}

impl Storefront {
    async fn ban(&self, caller: &Caller, id: CustomerId, Ban { reason, until }: Ban) -> Result<Shown<CustomerRecord>, Problem> {
        let mut locked = self.lock_account(caller, id).await?;
        let (now, until) = (locked.transaction.now, until.map(DateTime::<Utc>::from));
        if until.is_some_and(|until| until <= now) {
            return Err(FieldErrors::one("until", "This must be in the future."));
        }
        let has_other_end = until != locked.customer.fields.banned_until;
        customers::set_ban(locked.transaction.conn(), id, Some((&String::from(reason), until)), now).await?;
        ending::end_all(locked.transaction.conn(), id, now).await?;
        codes::forget_open_codes(locked.transaction.conn(), id).await?;
        let changed: &[_] = if has_other_end { &["banned_at", "banned_reason", "banned_until"] } else { &["banned_at", "banned_reason"] };
        self.finish(locked, changed).await
    }

    async fn unban(&self, caller: &Caller, id: CustomerId) -> Result<Shown<CustomerRecord>, Problem> {
        let mut locked = self.lock_account(caller, id).await?;
        let now = locked.transaction.now;
        customers::set_ban(locked.transaction.conn(), id, None, now).await?;
        self.finish(locked, &["banned_at", "banned_reason"]).await
    }

    async fn unlock(&self, caller: &Caller, id: CustomerId) -> Result<Shown<CustomerRecord>, Problem> {
        let mut locked = self.lock_account(caller, id).await?;
        let (store, names) = (locked.customer.fields.store_id, locked.customer.names());
        let conn = locked.transaction.conn();
        codes::forget_open_codes(conn, id).await?;
        codes::forget_wrong_codes(conn, store, &names).await?;
        passwords::forget_wrong_passwords(conn, store, &names).await?;
        second_factors::forget_wrong_codes(conn, id).await?;
        guessing::forget_failures(conn, store, &names).await?;
        self.finish(locked, &["locked_out_until"]).await
    }

    async fn withdraw_password(&self, caller: &Caller, id: CustomerId) -> Result<Shown<CustomerRecord>, Problem> {
        let mut locked = self.lock_account(caller, id).await?;
        // Nobody could ever sign in again to whom no code can be sent.
        let fields = &locked.customer.fields;
        if fields.email_verified_at.is_none() && fields.phone_verified_at.is_none() {
            return Err(ProblemCode::ContactMissing.into());
        }
        let now = locked.transaction.now;
        password_reset::withdraw_password(locked.transaction.conn(), id, now).await?;
        self.finish(locked, &["password"]).await
    }

    /// What opens the account stays as it is, so the sessions go on.
    async fn withdraw_second_factor(&self, caller: &Caller, id: CustomerId) -> Result<Shown<CustomerRecord>, Problem> {
        let mut locked = self.lock_account(caller, id).await?;
        let (store, now) = (locked.customer.fields.store_id, locked.transaction.now);
        let had_one = second_factors::forget(locked.transaction.conn(), id).await?;
        let shown = self.finish(locked, &["second_factor"]).await?;
        if had_one {
            // To its end even if the client disconnects: it must not go unnoticed.
            let this = self.clone();
            self.lifecycle.finish(async move { second_factor::tell_removed(&this, (store, id), now).await }).await;
        }
        Ok(shown)
    }

    async fn remove_passkey(&self, caller: &Caller, id: CustomerId, passkey: PasskeyId) -> Result<Shown<CustomerRecord>, Problem> {
        let mut locked = self.lock_account(caller, id).await?;
        passkeys::remove_passkey(locked.transaction.conn(), id, passkey).await?.ok_or(ProblemCode::RecordNotFound)?;
        self.finish(locked, &["passkeys"]).await
    }

    async fn close_account(&self, caller: &Caller, id: CustomerId) -> Result<Shown<CustomerRecord>, Problem> {
        let mut locked = self.lock_account(caller, id).await?;
        let now = locked.transaction.now;
        closure::close_account(locked.transaction.conn(), caller.into(), id, now).await?;
        let shown = self.finish(locked, &["closed_at"]).await?;
        social::give_back_at_once(self, now).await;
        Ok(shown)
    }

    /// Erases a closed account too, before its time. Erasing twice changes nothing.
    async fn erase_account(&self, caller: &Caller, id: CustomerId) -> Result<Shown<CustomerRecord>, Problem> {
        CustomerRecord::require(caller, CustomerRecord::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        moving::must_have_its_log(transaction.conn(), caller.company).await?;
        let customer = transaction.lock::<CustomerRecord>(id).await?;
        let now = transaction.now;
        closure::close_account(transaction.conn(), caller.into(), id, now).await?;
        erasure::erase(transaction.conn(), id, now).await?;
        let shown = self.finish(Locked { transaction, customer }, &["closed_at", "erased_at"]).await?;
        social::give_back_at_once(self, now).await;
        Ok(shown)
    }

    /// Exporting is reading, but of all there is at once: it takes `write` too, and the audit trail tells who did.
    async fn export(&self, caller: &Caller, id: CustomerId) -> Result<Value, Problem> {
        CustomerRecord::require_reading(caller)?;
        CustomerRecord::require(caller, CustomerRecord::writing())?;
        let mut conn = self.pool.acquire().await?;
        let exported = export::export_customer(&mut conn, None, id).await?;
        let exported = exported.filter(|exported| exported.company == caller.company).ok_or(ProblemCode::RecordNotFound)?;
        audit_trail::record(&mut conn, caller, Action::Shown, ChangedRecord::Customer(id), self.clock.now()).await?;
        Ok(exported.document)
    }

    /// Locks an open account of the caller's company.
    pub(super) async fn lock_account(&self, caller: &Caller, id: CustomerId) -> Result<Locked, Problem> {
        CustomerRecord::require(caller, CustomerRecord::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let customer = transaction.lock::<CustomerRecord>(id).await?;
        match customer.fields.closed_at {
            None => Ok(Locked { transaction, customer }),
            Some(_) => Err(ProblemCode::AccountClosed.into()),
        }
    }

    /// Records the act, commits, and makes it take effect at once on this instance.
    pub(super) async fn finish(&self, locked: Locked, changed: &[&str]) -> Result<Shown<CustomerRecord>, Problem> {
        let Locked { mut transaction, customer } = locked;
        let (caller, now) = (transaction.caller.clone(), transaction.now);
        let record = ChangedRecord::Customer(customer.id);
        audit_trail::record(transaction.conn(), &caller, Action::Updated(changed), record, now).await?;
        let shown = transaction.show(customer.id).await?;
        transaction.commit().await?;
        self.caches.invalidate_customer(customer.id);
        Ok(shown)
    }
}
