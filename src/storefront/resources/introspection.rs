//! `POST tokens/introspect`: tells a company's own servers whether a customer token is good, and whose it is (RFC 7662).

use axum::Json;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::{HeaderMap, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::Caller;
use crate::kernel::ids::{CustomerId, SessionId, StoreId, TypedId};
use crate::kernel::openapi::OperationDoc;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode, Sentence};
use crate::kernel::request_body::{Unread, must_be_plain};
use crate::resources::Resource;
use crate::storefront::resources::customers::CustomerRecord;
use crate::storefront::state::Storefront;
use crate::storefront::tokens::{Presented, Session};

pub(super) fn doc() -> OperationDoc {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let seconds = |description: &str| json!({ "type": "integer", "description": description });
    let form = json!({
        "type": "object",
        "properties": { "token": text("The customer token."), "token_type_hint": text("Is not needed: there is one type.") },
        "required": ["token"],
    });
    let answer = json!({
        "type": "object",
        "properties": {
            "active": { "type": "boolean", "description": "Whether the token is good. If not, nothing else is told." },
            "sub": CustomerId::json_schema(),
            "client_id": StoreId::json_schema(),
            "sid": SessionId::json_schema(),
            "iat": seconds("When the session began."),
            "exp": seconds("When the session ends unless it is used before."),
            "auth_time": seconds("When the customer last proved, in this session, who they are."),
        },
        "required": ["active"],
    });
    OperationDoc::new("Tell whether a customer token is good, and whose it is (RFC 7662).")
        .explained("Unknown tokens, those that ended and those of other companies are all answered with `{\"active\": false}`.".to_owned())
        .taking_form(form)
        .answering(StatusCode::OK, answer)
}

/// `token_type_hint` and other parameters are read past, as the RFC demands.
#[derive(Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    token: Option<SecretString>,
}

/// `POST tokens/introspect`
pub(super) async fn introspect(
    State(storefront): State<Storefront>,
    caller: Caller,
    headers: HeaderMap,
    asked: Unread<Form<Asked>>,
) -> Result<Json<Value>, Problem> {
    // Before the form is read, so that the missing scope is what the client learns first.
    CustomerRecord::require(&caller, CustomerRecord::reading())?;
    must_be_plain(&headers)?;
    let Form(Asked { token }) = asked.read().await.map_err(|error| refusal(&error))?;
    let token = token.ok_or_else(|| FieldErrors::one("token", Sentence::new("{} is required.").with("token")))?;
    let session = storefront.introspect(&caller, &token).await?;
    Ok(Json(session.unwrap_or_else(|| json!({ "active": false }))))
}

fn refusal(error: &FormRejection) -> Problem {
    let problem = Problem::new(ProblemCode::of_status(error.status()));
    match error {
        FormRejection::InvalidFormContentType(_) => {
            problem.detail("The body must be a form (Content-Type: application/x-www-form-urlencoded).")
        }
        _ => problem,
    }
}

impl Storefront {
    /// The live session of a token of the caller's company. That a server asks for it is a use of the session: it lasts as long as the customer
    /// uses the shop, whichever server that talks to.
    async fn introspect(&self, caller: &Caller, token: &SecretString) -> Result<Option<Value>, Problem> {
        let Some(presented) = Presented::parse(token.expose_secret()) else { return Ok(None) };
        let is_of_company = |session: &Session| session.company == caller.company;
        Ok(self.use_session(&presented, is_of_company).await?.map(|session| describe(&session)))
    }
}

fn describe(session: &Session) -> Value {
    json!({
        "active": true,
        "sub": session.customer.id,
        "client_id": session.store,
        "sid": session.id,
        "iat": session.began_at.timestamp(),
        "exp": session.expires_at.timestamp(),
        "auth_time": session.proven_at.timestamp(),
    })
}
