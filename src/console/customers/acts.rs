//! What is done to a customer with a button. What costs the customer something is asked for on a page that says what it costs.

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::callers::{Area, Caller, Scope};
use crate::console::Console;
use crate::console::addresses::with_query;
use crate::console::cell::pretty;
use crate::console::customers::API;
use crate::console::customers::head::Customer;
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Page, PageError, Ui};
use crate::kernel::clock::timestamp;

/// What an act is called and what it costs.
struct Act {
    /// The last segment of its address.
    name: &'static str,
    question: &'static str,
    losses: &'static [&'static str],
    button: &'static str,
    /// Whether a reason is asked for, and an end.
    reason: bool,
    /// Whether it can be done to a closed account.
    when_closed: bool,
}

/// How long a ban may last, in days. It may also last until it is lifted.
const BANS: [i64; 4] = [1, 7, 30, 365];

const END_ALL: Act = Act {
    name: "end-sessions",
    question: "End all sessions of {}?",
    losses: &["Every device is signed out; the next request of each is refused.", "The customer can sign in again at once."],
    button: "End all sessions",
    reason: false,
    when_closed: false,
};

const BAN: Act = Act {
    name: "ban",
    question: "Ban {}?",
    losses: &[
        "Every device is signed out, and every sign-in is refused until the ban ends or is lifted.",
        "Codes that were sent do not work any more.",
        "Orders, payments and the account itself stay as they are.",
    ],
    button: "Ban",
    reason: true,
    when_closed: false,
};

const RESET: Act = Act {
    name: "reset-password",
    question: "Reset the password of {}?",
    losses: &[
        "The password does not work any more, and every device is signed out.",
        "The links to identity providers and the passkeys are suspended until the customer links or confirms them again.",
        "The customer signs in with a code and then chooses a new password. Nobody here sees it.",
    ],
    button: "Reset the password",
    reason: false,
    when_closed: false,
};

const REMOVE_SECOND_FACTOR: Act = Act {
    name: "remove-second-factor",
    question: "Remove the second factor of {}?",
    losses: &[
        "Signing in asks for no code of the authenticator app any more. The recovery codes do not work either.",
        "The customer is told on every proven contact. Make sure before that it is the customer who asks.",
        "Every device stays signed in. The customer can set up an app again.",
    ],
    button: "Remove the second factor",
    reason: false,
    when_closed: false,
};

const CLOSE: Act = Act {
    name: "close",
    question: "Close the account of {} for good?",
    losses: &[
        "It cannot be opened again. The number and the address can be used for a new account.",
        "Every device is signed out; devices for notifications, links to identity providers, passkeys and codes are deleted.",
        "The personal data is erased after the time that the settings name. Orders and payments stay.",
    ],
    button: "Close the account",
    reason: false,
    when_closed: false,
};

const ERASE: Act = Act {
    name: "erase",
    question: "Erase the data of {} for good?",
    losses: &[
        "Name, number, address and everything else that says who it was are blanked at once, also in the logs of sign-ins and texts.",
        "An open account is closed: every device is signed out, and it cannot be opened again.",
        "Orders and payments stay. Events that were published are deleted later, with the others.",
    ],
    button: "Erase the data",
    reason: false,
    when_closed: true,
};

#[derive(Template)]
#[template(path = "customers/ask.html")]
struct AskPage {
    ui: Ui,
    customer: Customer,
    act: Act,
    /// Why it was not done.
    refusal: Option<String>,
    entered: String,
}

async fn ask(console: &Console, visitor: Visitor, id: &str, act: Act) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let customer = Customer::find(console, &caller, id).await?;
    if !caller.grant.allows(Area::Customers, Scope::Write) || !(customer.is_open() || act.when_closed) {
        return Err(PageError::NOT_FOUND);
    }
    Ok(Page(AskPage { ui, customer, act, refusal: None, entered: String::new() }).into_response())
}

/// Does the act. What the API refuses is told on the page that asked.
async fn act(console: &Console, visitor: Visitor, id: &str, path: &str, body: Value, act: Act) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    match console.api.post(&caller, &format!("{API}/{id}/{path}"), &body).await {
        Ok(_) => Ok(to_customer(id, "saved")),
        Err(problem) if problem.code().status().as_u16() == 422 || problem.code().status().as_u16() == 409 => {
            let customer = Customer::find(console, &caller, id).await?;
            let entered = body["reason"].as_str().unwrap_or_default().to_owned();
            let status = problem.code().status();
            Ok((status, Page(AskPage { ui, customer, act, refusal: Some(problem.to_string()), entered })).into_response())
        }
        Err(problem) => Err(problem.into()),
    }
}

pub(super) async fn ask_end_all(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    ask(&console, visitor, &id, END_ALL).await
}

pub(super) async fn end_all(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    act(&console, form.visitor, &id, "revoke-tokens", json!({}), END_ALL).await
}

pub(super) async fn ask_ban(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    ask(&console, visitor, &id, BAN).await
}

pub(super) async fn ban(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let days = form.get("days").and_then(|days| days.parse().ok()).filter(|days| BANS.contains(days));
    let until = days.map(|days| timestamp(form.visitor.ui.now() + TimeDelta::days(days)));
    let ban = json!({ "reason": form.get("reason").unwrap_or_default(), "until": until });
    act(&console, form.visitor, &id, "ban", ban, BAN).await
}

pub(super) async fn ask_reset(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    ask(&console, visitor, &id, RESET).await
}

pub(super) async fn reset(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    act(&console, form.visitor, &id, "reset-password", json!({}), RESET).await
}

pub(super) async fn ask_remove_second_factor(
    State(console): State<Console>,
    visitor: Visitor,
    RecordId(id): RecordId,
) -> Result<Response, PageError> {
    ask(&console, visitor, &id, REMOVE_SECOND_FACTOR).await
}

pub(super) async fn remove_second_factor(
    State(console): State<Console>,
    RecordId(id): RecordId,
    form: PostedForm,
) -> Result<Response, PageError> {
    act(&console, form.visitor, &id, "remove-second-factor", json!({}), REMOVE_SECOND_FACTOR).await
}

pub(super) async fn ask_close(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    ask(&console, visitor, &id, CLOSE).await
}

pub(super) async fn close(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    act(&console, form.visitor, &id, "close", json!({}), CLOSE).await
}

pub(super) async fn ask_erase(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    ask(&console, visitor, &id, ERASE).await
}

pub(super) async fn erase(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    act(&console, form.visitor, &id, "erase", json!({}), ERASE).await
}

pub(super) async fn unban(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    console.api.post(&form.visitor.caller, &format!("{API}/{id}/unban"), &json!({})).await?;
    Ok(to_customer(&id, "saved"))
}

pub(super) async fn unlock(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    console.api.post(&form.visitor.caller, &format!("{API}/{id}/unlock"), &json!({})).await?;
    Ok(to_customer(&id, "saved"))
}

pub(super) async fn remove_passkey(
    State(console): State<Console>,
    RecordId(id): RecordId,
    form: PostedForm,
) -> Result<Response, PageError> {
    let body = json!({ "passkey": form.get("passkey").unwrap_or_default() });
    console.api.post(&form.visitor.caller, &format!("{API}/{id}/remove-passkey"), &body).await?;
    Ok(to_customer(&id, "saved"))
}

/// Ends one session, and goes back to the customer whose it was.
pub(super) async fn end(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let path = format!("/storefront/int/v1/tokens/{id}");
    let session = console.api.get(&form.visitor.caller, &path).await?;
    console.api.delete(&form.visitor.caller, &path).await?;
    Ok(to_customer(session.body["token"]["customer"].as_str().unwrap_or_default(), "ended"))
}

/// All that is stored about the customer, as a file.
pub(super) async fn export(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let caller = &form.visitor.caller;
    let mut document = console.api.get(caller, &format!("{API}/{id}/export")).await?.body;
    for (namespace, path) in [("fleet", "orders"), ("ledger", "payments")] {
        if let Some(kind) = console.kinds.find(caller, namespace, path) {
            document[kind.descriptor.plural] = all_of(&console, caller, &kind.list_path(), kind.descriptor.plural, &id).await?.into();
        }
    }
    let mut response = pretty(&document).into_response();
    let name = HeaderValue::from_str(&format!("attachment; filename=\"{id}.json\"")).map_err(|_| PageError::NOT_FOUND)?;
    response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Every page of a list about the customer.
async fn all_of(console: &Console, caller: &Caller, path: &str, plural: &str, id: &str) -> Result<Vec<Value>, PageError> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let page = with_query(path, [("customer", id), ("limit", "100"), ("after", after.as_str())]);
        let mut answer = console.api.get(caller, &page).await?.body;
        all.extend(answer[plural].as_array_mut().map(std::mem::take).into_iter().flatten());
        match answer["meta"]["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => return Ok(all),
        }
    }
}

pub(super) fn to_customer(id: &str, done: &str) -> Response {
    Redirect::to(&format!("/console/customers/{id}?done={done}")).into_response()
}
