//! `PUT customers/{uuid}`: a company's own servers change what they know of a customer. Contacts are changed by who proves them.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use crate::callers::Caller;
use crate::events::names::CUSTOMER_UPDATED;
use crate::kernel::database::violated_constraint;
use crate::kernel::ids::CustomerId;
use crate::kernel::json::JsonBody;
use crate::kernel::openapi::{OperationDoc, closed_object};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode, Sentence};
use crate::resources::{FieldType, IfMatch, Line, Member, Meta, Resource, Shown, WriteRequest};
use crate::storefront::accounts::profile::{META_MAX_LEN, PictureUrl};
use crate::storefront::customers::{self, Customer};
use crate::storefront::resources::customers::CustomerRecord;
use crate::storefront::resources::customers::external_id::ExternalId;
use crate::storefront::state::Storefront;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Changes {
    name: Member<Line<255>>,
    title: Member<Option<Line<255>>>,
    photo_url: Member<Option<PictureUrl>>,
    meta: Member<Meta>,
    external_id: Member<Option<ExternalId>>,
}

pub fn doc() -> OperationDoc {
    let members = [
        ("name", Line::<255>::schema()),
        ("title", Option::<Line<255>>::schema()),
        ("photo_url", Option::<PictureUrl>::schema()),
        ("meta", Meta::schema()),
        ("external_id", Option::<ExternalId>::schema()),
    ];
    OperationDoc::new(
        "Change what is known of a customer: the fields that are sent. The customer proves a new number or address in the app.",
    )
    .taking_header("If-Match", "The `ETag` of the version that was read. The request is refused if the record has changed since.")
    .taking_body(closed_object(&[], members))
    .showing(StatusCode::OK, CustomerRecord::SINGULAR)
    .refusing(&[ProblemCode::AccountClosed, ProblemCode::RecordChanged])
}

/// `PUT customers/{uuid}`
pub async fn change(
    WriteRequest { state, caller, id }: WriteRequest<CustomerRecord>,
    version: IfMatch,
    JsonBody(changes): JsonBody<Changes>,
) -> Result<Response, Problem> {
    Ok(state.change_customer(&caller, id, &version, changes).await?.answer(StatusCode::OK))
}

impl Storefront {
    async fn change_customer(
        &self,
        caller: &Caller,
        id: CustomerId,
        version: &IfMatch,
        changes: Changes,
    ) -> Result<Shown<CustomerRecord>, Problem> {
        let mut locked = self.lock_account(caller, id).await?;
        version.check(locked.customer.version)?;
        let now = locked.transaction.now;
        let known = locked.customer.fields.external_id.clone();
        let conn = locked.transaction.conn();
        let before = customers::lock_customer(conn, id).await?.ok_or(ProblemCode::RecordNotFound)?;
        let (after, external_id) = changes.apply(&before, known.clone())?;
        let is_renumbered = external_id != known;
        let changed = differing(&before, &after, is_renumbered);
        if changed.is_empty() {
            return locked.transaction.show(id).await;
        }
        if is_renumbered {
            customers::set_external_id(conn, id, external_id.as_deref()).await.map_err(refuse_taken)?;
        }
        let customer = customers::update_profile(conn, &after, now).await?.ok_or(ProblemCode::RecordNotFound)?;
        customers::publish(conn, caller.into(), CUSTOMER_UPDATED, &customer, now).await?;
        self.finish(locked, &changed).await
    }
}

impl Changes {
    /// The customer and the external id as they are afterwards.
    fn apply(self, before: &Customer, mut external_id: Option<String>) -> Result<(Customer, Option<String>), Problem> {
        let mut after = before.clone();
        self.name.put(&mut after.name);
        self.title.put_or_clear(&mut after.title);
        self.photo_url.put_or_clear(&mut after.photo_url);
        if let Member::Sent(meta) = self.meta {
            after.meta = limited(meta)?;
        }
        self.external_id.put_or_clear(&mut external_id);
        Ok((after, external_id))
    }
}

/// The names of the fields that change.
fn differing(before: &Customer, after: &Customer, is_renumbered: bool) -> Vec<&'static str> {
    let fields = [
        ("name", before.name != after.name),
        ("title", before.title != after.title),
        ("photo_url", before.photo_url != after.photo_url),
        ("meta", before.meta != after.meta),
        ("external_id", is_renumbered),
    ];
    fields.into_iter().filter_map(|(field, differs)| differs.then_some(field)).collect()
}

/// The data of the shop, if it is not too large.
pub(super) fn limited(meta: Meta) -> Result<Value, Problem> {
    let meta = Value::Object(meta.0);
    match meta.to_string().len() {
        0..=META_MAX_LEN => Ok(meta),
        _ => Err(FieldErrors::one("meta", Sentence::new("meta may have at most {} bytes.").with(META_MAX_LEN))),
    }
}

/// Maps what another account of the store has already.
pub(super) fn refuse_taken(error: sqlx::Error) -> Problem {
    match violated_constraint(&error) {
        Some("customers_proven_email") => ProblemCode::EmailTaken.into(),
        Some("customers_proven_phone") => ProblemCode::PhoneTaken.into(),
        Some("customers_external_id") => FieldErrors::one("external_id", "Another customer of the store has this id."),
        _ => error.into(),
    }
}
