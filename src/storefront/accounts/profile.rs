//! The customer's own record.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::events::names::CUSTOMER_UPDATED;
use crate::field_type;
use crate::kernel::database::repeated;
use crate::kernel::ids::CustomerId;
use crate::kernel::json::{self, JsonBody};
use crate::kernel::openapi::{OperationDoc, reference};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode, Sentence};
use crate::resources::{Line, Member, Meta};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::customers::{self, Customer};
use crate::storefront::routes::{self, Routes, body, describe};
use crate::storefront::state::Storefront;

/// The maximum size of `meta` as JSON, in bytes.
pub(in crate::storefront) const META_MAX_LEN: usize = 16 * 1024;

pub fn routes() -> Routes<Storefront> {
    let by_id = |doc: OperationDoc| doc.at("id", "The id or the UUID of the signed-in customer.").refusing(&[ProblemCode::RecordNotFound]);
    let finding = by_id(describe("Find the signed-in customer by id.", reference("customer")));
    let changing = by_id(describe("Change the fields that are present in the body.", routes::own_record()));
    let routes = Routes::none().get("/customers/me", describe("Find the signed-in customer.", reference("customer")), me);
    routes.get("/customers/{id}", finding, find).put("/customers/{id}", changing, update)
}

/// `GET customers/me`
async fn me(SignedInCustomer { shown, .. }: SignedInCustomer) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], shown).into_response()
}

/// `GET customers/{id}`: accepts only the caller's own id. Every other id is not found.
async fn find(caller: SignedInCustomer, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    own(&caller, &id)?;
    Ok(Json(Value::Object(caller.customer.present())))
}

body! {
    /// `PUT customers/{id}`: changes the fields that are present. `null` clears a field that can be cleared, and is a missing one otherwise.
    #[derive(Clone, Debug, Default)]
    #[serde(default)]
    struct ProfileRequest {
        /// The customer's name. It cannot be removed.
        name: Member<Option<Line<255>>>,
        /// The customer's form of address, such as a title.
        title: Member<Option<Line<255>>>,
        /// The `http` or `https` URL of the customer's picture.
        photo_url: Member<Option<PictureUrl>>,
        /// Data that the app stores with the customer: up to 16 KiB of JSON.
        meta: Member<Option<Meta>>,
        /// Only what it is already. Use `request-email-verification` to change the email address.
        email: Member<Value>,
        /// Only what it is already. Use `request-phone-verification` to change the phone number.
        phone: Member<Value>,
    }
}

/// The URL of a picture.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Line<2048>")]
pub(in crate::storefront) struct PictureUrl(String);

impl TryFrom<Line<2048>> for PictureUrl {
    type Error = &'static str;

    fn try_from(line: Line<2048>) -> Result<Self, Self::Error> {
        let text = String::from(line);
        match Url::parse(&text) {
            Ok(url) if matches!(url.scheme(), "https" | "http") => Ok(Self(text)),
            _ => Err("This must be the URL of a picture (https://…)."),
        }
    }
}

field_type!(PictureUrl => String, json!({ "type": "string", "format": "uri", "pattern": "^https?://", "maxLength": 2_048 }));

impl From<PictureUrl> for String {
    fn from(url: PictureUrl) -> Self {
        url.0
    }
}

/// `PUT customers/{id}`
async fn update(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<ProfileRequest>,
) -> Result<Json<Value>, Problem> {
    own(&caller, &id)?;
    let customer = repeated(|| change(&storefront, &caller, request.clone())).await?;
    Ok(Json(json!({ "customer": customer.present() })))
}

fn own(caller: &SignedInCustomer, id: &str) -> Result<(), Problem> {
    match id.parse::<CustomerId>() {
        Ok(id) if id == caller.customer.id => Ok(()),
        _ => Err(ProblemCode::RecordNotFound.into()),
    }
}

async fn change(storefront: &Storefront, caller: &SignedInCustomer, request: ProfileRequest) -> Result<Customer, Problem> {
    let now = storefront.clock.now();
    let mut tx = storefront.pool.begin().await?;
    // Reads the locked row, not the cached customer: of two parallel changes the second builds on the first.
    let before = customers::lock_customer(&mut tx, caller.customer.id).await?.ok_or(ProblemCode::CustomerTokenInvalid)?;
    let changed = request.apply(&before)?;
    if changed.present() == before.present() {
        return Ok(before);
    }
    let customer = customers::update_profile(&mut tx, &changed, now).await?.ok_or(ProblemCode::CustomerTokenInvalid)?;
    customers::publish(&mut tx, caller.origin(), CUSTOMER_UPDATED, &customer, now).await?;
    tx.commit().await?;
    storefront.caches.invalidate_customer(customer.id);
    Ok(customer)
}

impl ProfileRequest {
    /// Applies the request to the customer.
    fn apply(self, customer: &Customer) -> Result<Customer, Problem> {
        let mut errors = FieldErrors::default();
        let shown = customer.present();
        // An app may send back what it has read, and what nobody has filled in.
        for (member, sent) in [("email", self.email), ("phone", self.phone)] {
            if matches!(sent, Member::Sent(value) if !json::is_missing(&value) && Some(&value) != shown.get(member)) {
                errors.add(member, Sentence::new("{} can only be changed by verifying the new one.").with(member));
            }
        }
        errors.finish()?;
        let mut changed = customer.clone();
        if let Member::Sent(Some(name)) = self.name {
            changed.name = name.into();
        }
        self.title.put_or_clear(&mut changed.title);
        self.photo_url.put_or_clear(&mut changed.photo_url);
        if let Member::Sent(Some(meta)) = self.meta {
            changed.meta = Value::Object(meta.0);
            if changed.meta.to_string().len() > META_MAX_LEN {
                return Err(FieldErrors::one("meta", Sentence::new("meta may have at most {} bytes.").with(META_MAX_LEN)));
            }
        }
        Ok(changed)
    }
}
