//! In development, the first sign-in of a customer: with a store's key and without an app.
//!
//! The page does what an app does, through the routes that apps use, with the key that is pasted into it. In production there is no such
//! page: its customer would be a real one, and its texts would cost money.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::console::Console;
use crate::console::cell::pretty;
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Page, PageError, Refused, Ui, is_mistake};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_id::RequestId;
use crate::kernel::routing::{get, post};

/// The path of the storefront.
const STOREFRONT: &str = "/storefront/v1";

#[derive(Deserialize)]
struct One {
    store: Store,
}

#[derive(Deserialize)]
struct Store {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Message {
    to: String,
    text: String,
    code: Option<String>,
}

/// A request of the storefront, and how it was answered.
struct Exchange {
    /// The request as a command.
    command: String,
    /// The answer, without the token.
    answer: String,
}

#[derive(Template)]
#[template(path = "first_sign_in/page.html")]
struct FirstSignInPage {
    ui: Ui,
    /// The request for this page, which what it asks of the storefront belongs to.
    request: Option<RequestId>,
    store: Store,
    /// The store key, as it was entered.
    key: String,
    identity: String,
    /// What asked for the code, once that has worked: `new` for somebody without an account.
    asked: &'static str,
    /// The message with the code.
    message: Option<Message>,
    exchanges: Vec<Exchange>,
    /// Whether the customer is signed in.
    done: bool,
    refusal: Option<String>,
}

pub(super) fn routes() -> Router<Console> {
    Router::new().route("/console/stores/{id}/try", get(show).merge(post(go_on)))
}

impl FirstSignInPage {
    async fn of(console: &Console, visitor: Visitor, id: &str) -> Result<Self, PageError> {
        if !console.has_mailbox {
            return Err(PageError::NOT_FOUND);
        }
        let One { store } = console.api.read(&visitor.caller, &format!("/storefront/int/v1/stores/{id}")).await?;
        let (key, identity, ui, request) = (String::new(), String::new(), visitor.ui, visitor.caller.request);
        Ok(Self { ui, request, store, key, identity, asked: "", message: None, exchanges: Vec::new(), done: false, refusal: None })
    }

    /// Sends a request of the storefront, and shows it with its answer.
    async fn send(&mut self, console: &Console, path: &str, body: &Value) -> Result<(), Problem> {
        let path = format!("{STOREFRONT}/{path}");
        let sent = console.api.post_as_app(self.request, &SecretString::from(self.key.clone()), &path, body).await;
        let answer = match &sent {
            Ok(answer) => pretty(&masked(answer.body.clone())),
            Err(problem) => format!("{} {}: {problem}", problem.code().status().as_u16(), problem.code().as_str()),
        };
        self.exchanges.push(Exchange { command: command(&path, body), answer });
        sent.map(drop)
    }

    /// Asks for the code of somebody new; for somebody who has an account, that of a sign-in.
    async fn ask(&mut self, console: &Console) -> Result<(), Problem> {
        let identity = json!({ "identity": self.identity });
        let mode = if self.identity.contains('@') { "email" } else { "sms" };
        let asked = self.send(console, "customers/request-creation-code", &json!({ "identity": self.identity, "mode": mode })).await;
        self.asked = match asked {
            Err(problem) if problem.code() == ProblemCode::AccountExists => {
                self.send(console, "customers/login-with-sms", &identity).await?;
                "known"
            }
            other => other.map(|()| "new")?,
        };
        Ok(())
    }

    async fn check(&mut self, console: &Console, code: &str) -> Result<(), Problem> {
        let body = json!({ "identity": self.identity, "code": code });
        match self.asked {
            "new" => {
                let body = json!({ "name": "Test customer", "identity": self.identity, "code": code });
                self.send(console, "customers", &body).await?;
            }
            _ => self.send(console, "customers/verify-code", &body).await?,
        }
        self.done = true;
        Ok(())
    }
}

async fn show(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    Ok(Page(FirstSignInPage::of(&console, visitor, &id).await?).into_response())
}

async fn go_on(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let text = |name: &str| form.get(name).unwrap_or_default().to_owned();
    let (key, identity, asked, code) = (text("key"), text("identity"), text("asked"), text("code"));
    let caller = form.visitor.caller.clone();
    let mut page = FirstSignInPage::of(&console, form.visitor, &id).await?;
    (page.key, page.identity) = (key, identity);
    page.asked = ["new", "known"].into_iter().find(|word| *word == asked).unwrap_or_default();
    let sent = if page.asked.is_empty() { page.ask(&console).await } else { page.check(&console, &code).await };
    if let Err(problem) = &sent {
        page.refusal = Some(problem.to_string());
    }
    if !page.asked.is_empty() && !page.done {
        let messages: Vec<Message> = console.api.read(&caller, "/dev/mailbox").await?;
        page.message = messages.into_iter().find(|message| message.code.is_some() && message.to.eq_ignore_ascii_case(&page.identity));
    }
    Ok(match sent {
        Ok(()) => Page(page).into_response(),
        Err(problem) if is_mistake(&problem) => (StatusCode::UNPROCESSABLE_ENTITY, Page(page)).into_response(),
        Err(problem) => Refused::from(&problem).with(Page(page)),
    })
}

/// The answer without what signs the customer in.
fn masked(mut answer: Value) -> Value {
    if let Some(token) = answer.get("token").and_then(Value::as_str) {
        let number = token.split('|').next().unwrap_or_default();
        answer["token"] = format!("{number}|…").into();
    }
    answer
}

/// The request as a command for a shell that knows the service and the key.
fn command(path: &str, body: &Value) -> String {
    let body = body.to_string().replace('\'', r"'\''");
    format!("curl -s $URL{path} -H \"Authorization: Bearer $STORE_KEY\" --json '{body}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_masked_and_a_command_is_one_line_of_a_shell() {
        let answer = masked(json!({ "token": "42|secret", "customer": {} }));
        assert_eq!(answer, json!({ "token": "42|…", "customer": {} }));
        assert_eq!(
            command("/x", &json!({ "a": "it's" })),
            r#"curl -s $URL/x -H "Authorization: Bearer $STORE_KEY" --json '{"a":"it'\''s"}'"#
        );
    }
}
