//! A test event to one webhook: of any type, with a sample that can be edited before it is sent.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::callers::Caller;
use crate::console::Console;
use crate::console::cell::pretty;
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Page, PageError, Ui};
use crate::console::webhooks::API;
use crate::console::webhooks::acts::to_delivery;
use crate::console::webhooks::webhook::Webhook;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::Resource;
use crate::webhooks::Subscription;

/// The path of event types in the API.
const EVENT_TYPES: &str = "/developers/int/v1/event-types";
/// What is sent unless somebody chooses otherwise: an event about the webhook itself.
const DEFAULT: &str = "webhook.test";

#[derive(Deserialize)]
struct One {
    webhook: Webhook,
}

#[derive(Deserialize)]
struct EventTypes {
    event_types: Vec<EventType>,
}

#[derive(Deserialize)]
struct EventType {
    name: String,
    description: String,
    sample: Sample,
}

/// The sample of a whole body.
#[derive(Deserialize)]
struct Sample {
    data: Value,
}

/// What the address of the page says.
#[derive(Default, Deserialize)]
pub(super) struct Chosen {
    #[serde(default)]
    event: String,
}

#[derive(Template)]
#[template(path = "webhooks/test.html")]
struct TestPage {
    ui: Ui,
    webhook: Webhook,
    event_types: Vec<EventType>,
    event: String,
    description: String,
    data: String,
    /// What is wrong with the data.
    errors: Vec<String>,
}

impl TestPage {
    /// The page with the sample of the type, or with the default's if there is no such type.
    async fn of(console: &Console, caller: &Caller, ui: Ui, id: &str, event: &str) -> Result<Self, PageError> {
        Subscription::require(caller, Subscription::writing())?;
        let One { webhook } = console.api.read(caller, &format!("{API}/{id}")).await?;
        let EventTypes { event_types } = console.api.read(caller, EVENT_TYPES).await?;
        let named = |name: &str| event_types.iter().find(|event_type| event_type.name == name);
        let chosen = named(event).or_else(|| named(DEFAULT)).ok_or(PageError::NOT_FOUND)?;
        let (event, description, data) = (chosen.name.clone(), chosen.description.clone(), pretty(&chosen.sample.data));
        Ok(Self { ui, webhook, event_types, event, description, data, errors: Vec::new() })
    }

    /// The page with what was entered, and what is wrong with it.
    fn refused(self, data: String, errors: Vec<String>) -> Response {
        (StatusCode::UNPROCESSABLE_ENTITY, Page(Self { data, errors, ..self })).into_response()
    }
}

/// `GET …/webhooks/{id}/test?event=`
pub(super) async fn ask(
    State(console): State<Console>,
    visitor: Visitor,
    RecordId(id): RecordId,
    Query(Chosen { event }): Query<Chosen>,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    Ok(Page(TestPage::of(&console, &caller, ui, &id, &event).await?).into_response())
}

/// `POST …/webhooks/{id}/test`: a sample that nobody has edited is left to the API, which knows more of the webhook.
pub(super) async fn send(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let event = form.get("event").unwrap_or(DEFAULT).to_owned();
    let mut body = json!({ "event": event });
    let Some(entered) = form.get("data").map(str::to_owned) else {
        let answer = console.api.post(&form.visitor.caller, &format!("{API}/{id}/test"), &body).await?;
        return Ok(to_delivery(&form.visitor.ui, &answer.body["delivery"], "sent"));
    };
    let Visitor { caller, ui, .. } = form.visitor;
    let page = TestPage::of(&console, &caller, ui, &id, &event).await?;
    let Ok(data) = serde_json::from_str::<Map<String, Value>>(&entered) else {
        let error = page.ui.t("This is not a JSON object.").to_owned();
        return Ok(page.refused(entered, vec![error]));
    };
    let data = Value::Object(data);
    if pretty(&data) != page.data {
        body["data"] = data;
    }
    match console.api.post(&caller, &format!("{API}/{id}/test"), &body).await {
        Ok(answer) => Ok(to_delivery(&page.ui, &answer.body["delivery"], "sent")),
        Err(problem) => match of_data(&problem) {
            errors if errors.is_empty() => Err(problem.into()),
            errors => Ok(page.refused(entered, errors)),
        },
    }
}

/// What a refusal says about the data.
fn of_data(problem: &Problem) -> Vec<String> {
    if problem.code() == ProblemCode::BodyTooLarge {
        return vec![problem.to_string()];
    }
    problem.fields().into_iter().filter(|(field, _)| field.starts_with("data")).flat_map(|(_, errors)| errors).collect()
}
