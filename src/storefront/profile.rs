//! The customer's own record.

use axum::Json as Answer;
use axum::extract::{Path, State};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use url::Url;

use crate::events::names::CUSTOMER_UPDATED;
use crate::kernel::ids::CustomerId;
use crate::kernel::json::Json;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::storefront::Storefront;
use crate::storefront::customers::{self, Customer};
use crate::storefront::tokens::SignedInCustomer;

/// `GET customers/me`
pub(super) async fn me(SignedInCustomer { customer, .. }: SignedInCustomer) -> Answer<Value> {
    Answer(Value::Object(customer.present()))
}

/// `GET customers/{id}`: one's own id only; for all others there is no such record.
pub(super) async fn find(caller: SignedInCustomer, Path(id): Path<String>) -> Result<Answer<Value>, Problem> {
    own(&caller, &id)?;
    Ok(Answer(Value::Object(caller.customer.present())))
}

/// `PUT customers/{id}`: the members that are there are changed; `null` clears.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ProfileRequest {
    #[serde(default, deserialize_with = "sent")]
    name: Option<Value>,
    #[serde(default, deserialize_with = "sent")]
    title: Option<Value>,
    #[serde(default, deserialize_with = "sent")]
    photo_url: Option<Value>,
    #[serde(default, deserialize_with = "sent")]
    meta: Option<Value>,
    #[serde(default, deserialize_with = "sent")]
    email: Option<Value>,
    #[serde(default, deserialize_with = "sent")]
    phone: Option<Value>,
}

/// Tells `null` from a member that is not there.
fn sent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// `PUT customers/{id}`
pub(super) async fn update(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    Path(id): Path<String>,
    Json(request): Json<ProfileRequest>,
) -> Result<Answer<Value>, Problem> {
    own(&caller, &id)?;
    let changed = request.apply(&caller.customer)?;
    let customer = if changed.present() == caller.customer.present() { changed } else { save(&storefront, &caller, &changed).await? };
    Ok(Answer(json!({ "customer": customer.present() })))
}

fn own(caller: &SignedInCustomer, id: &str) -> Result<(), Problem> {
    match id.parse::<CustomerId>() {
        Ok(id) if id == caller.customer.id => Ok(()),
        _ => Err(ProblemCode::RecordNotFound.into()),
    }
}

async fn save(storefront: &Storefront, caller: &SignedInCustomer, changed: &Customer) -> Result<Customer, Problem> {
    let now = storefront.clock.now();
    let mut tx = storefront.pool.begin().await?;
    let customer = customers::update_profile(&mut tx, changed, now).await?.ok_or(ProblemCode::CustomerTokenInvalid)?;
    customers::publish(&mut tx, caller.store.company_id, CUSTOMER_UPDATED, &customer, now).await?;
    tx.commit().await?;
    Ok(customer)
}

impl ProfileRequest {
    /// The customer as they want to be, or everything that is wrong with the request.
    fn apply(self, customer: &Customer) -> Result<Customer, Problem> {
        let (mut changed, mut errors) = (customer.clone(), FieldErrors::default());
        for (member, value) in [("email", &self.email), ("phone", &self.phone)] {
            if value.is_some() {
                errors.add(member, format!("{member} changes by proving the new one, not here."));
            }
        }
        if let Some(name) = self.name.and_then(|value| errors.check("name", line(value, 255))) {
            match name {
                Some(name) => changed.name = name,
                None => errors.add("name", "name is required."),
            }
        }
        if let Some(title) = self.title.and_then(|value| errors.check("title", line(value, 255))) {
            changed.title = title;
        }
        if let Some(photo_url) = self.photo_url.and_then(|value| errors.check("photo_url", picture(value))) {
            changed.photo_url = photo_url;
        }
        if let Some(meta) = self.meta.and_then(|value| errors.check("meta", object(value))) {
            changed.meta = meta;
        }
        errors.finish()?;
        Ok(changed)
    }
}

/// One line of text, or nothing.
fn line(value: Value, longest: usize) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => {
            let text = text.trim();
            match text.chars().count() {
                0 => Ok(None),
                length if length <= longest && !text.chars().any(char::is_control) => Ok(Some(text.to_owned())),
                _ => Err(format!("This may have at most {longest} characters and no control characters.")),
            }
        }
        _ => Err("This must be a text.".to_owned()),
    }
}

fn picture(value: Value) -> Result<Option<String>, String> {
    let Some(text) = line(value, 2_048)? else { return Ok(None) };
    match Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "https" | "http") => Ok(Some(text)),
        _ => Err("This must be the address of a picture (https://…).".to_owned()),
    }
}

fn object(value: Value) -> Result<Value, &'static str> {
    match value {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(members) => Ok(Value::Object(members)),
        _ => Err("meta must be an object."),
    }
}
