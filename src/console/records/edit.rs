//! Forms that create and change records.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::callers::Caller;
use crate::console::Console;
use crate::console::api::Answer;
use crate::console::addresses::{list_address, record_address, record_form_address};
use crate::console::records::entry::{self, Control, Entry};
use crate::console::records::event_picker::EventType;
use crate::console::records::{api_path, find_kind, may, title_of};
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Page, PageError, Ui};
use crate::kernel::problem::Problem;
use crate::resources::{Input, KindDoc, Operation, form, label};

#[derive(Template)]
#[template(path = "records/edit.html")]
struct EditPage {
    ui: Ui,
    kind: String,
    list: String,
    heading: String,
    /// Where the form is sent.
    action: String,
    /// Where one gets without sending it.
    back: String,
    /// The version of the record that the form shows.
    version: String,
    refusal: Option<String>,
    entries: Vec<Entry>,
    new: bool,
}

#[derive(Template)]
#[template(path = "records/created.html")]
struct CreatedPage {
    ui: Ui,
    kind: String,
    list: String,
    title: String,
    address: String,
    secrets: Vec<(String, String)>,
}

pub(super) async fn ask_new(
    State(console): State<Console>,
    visitor: Visitor,
    Path((namespace, plural)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let kind = editable(&console, &visitor.caller, &namespace, &plural, Operation::Create)?;
    let page = page(&console, visitor, kind, None, &Value::Null, "", None).await?;
    Ok(page.into_response())
}

pub(super) async fn ask_change(
    State(console): State<Console>,
    visitor: Visitor,
    Path((namespace, plural, _)): Path<(String, String, String)>,
    RecordId(id): RecordId,
) -> Result<Response, PageError> {
    let kind = editable(&console, &visitor.caller, &namespace, &plural, Operation::Change)?;
    let Answer { body, version } = console.api.get(&visitor.caller, &format!("{}/{id}", api_path(kind))).await?;
    let record = &body[kind.descriptor.singular];
    let page = page(&console, visitor, kind, Some(&id), record, &version.unwrap_or_default(), None).await?;
    Ok(page.into_response())
}

pub(super) async fn create(
    State(console): State<Console>,
    Path((namespace, plural)): Path<(String, String)>,
    posted: PostedForm,
) -> Result<Response, PageError> {
    let kind = editable(&console, &posted.visitor.caller, &namespace, &plural, Operation::Create)?;
    let (body, mut errors) = read(kind, &posted, true);
    let refusal = if errors.is_empty() {
        match console.api.post(&posted.visitor.caller, &api_path(kind), &body).await {
            Ok(answer) => return Ok(created(kind, posted.visitor.ui, &answer.body[kind.descriptor.singular])),
            Err(problem) => refuse(problem, &mut errors)?,
        }
    } else {
        None
    };
    let page = page(&console, posted.visitor, kind, None, &body, "", Some((refusal, &errors))).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
}

pub(super) async fn change(
    State(console): State<Console>,
    Path((namespace, plural, _)): Path<(String, String, String)>,
    RecordId(id): RecordId,
    posted: PostedForm,
) -> Result<Response, PageError> {
    let kind = editable(&console, &posted.visitor.caller, &namespace, &plural, Operation::Change)?;
    let version = posted.get("version").unwrap_or_default().to_owned();
    let (body, mut errors) = read(kind, &posted, false);
    let refusal = if errors.is_empty() {
        let path = format!("{}/{id}", api_path(kind));
        let version = Some(version.as_str()).filter(|version| !version.is_empty());
        match console.api.put(&posted.visitor.caller, &path, &body, version).await {
            Ok(_) => return Ok(Redirect::to(&format!("{}?done=saved", record_address(kind, &id))).into_response()),
            Err(problem) => refuse(problem, &mut errors)?,
        }
    } else {
        None
    };
    let page = page(&console, posted.visitor, kind, Some(&id), &body, &version, Some((refusal, &errors))).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
}

fn editable<'a>(
    console: &'a Console,
    caller: &Caller,
    namespace: &str,
    plural: &str,
    operation: Operation,
) -> Result<&'a KindDoc, PageError> {
    let kind = find_kind(&console.kinds, caller, namespace, plural)?;
    if may(caller, kind, operation) { Ok(kind) } else { Err(PageError::NOT_FOUND) }
}

#[derive(Deserialize)]
struct EventTypes {
    event_types: Vec<EventType>,
}

type Errors = BTreeMap<String, Vec<String>>;

/// What was entered, as a body of the API. What cannot be read is kept as text beside its error, so that nobody enters it twice.
fn read(kind: &KindDoc, posted: &PostedForm, new: bool) -> (Value, Errors) {
    let (mut body, mut errors) = (Map::new(), Errors::new());
    for field in form(&kind.members) {
        match entry::read(&field, posted.all(&field.name), new) {
            Ok(Some(value)) => drop(body.insert(field.name, value)),
            Ok(None) => {}
            Err(error) => {
                errors.insert(field.name.clone(), vec![posted.visitor.ui.t(error).to_owned()]);
                body.insert(field.name.clone(), json!(posted.raw(&field.name)));
            }
        }
    }
    (body.into(), errors)
}

/// What the API says about the body, as errors of fields and a sentence about the rest.
fn refuse(problem: Problem, errors: &mut Errors) -> Result<Option<String>, PageError> {
    if !problem.code().status().is_client_error() {
        return Err(problem.into());
    }
    errors.extend(problem.fields().clone());
    Ok(problem.fields().is_empty().then(|| problem.to_string()))
}

async fn page(
    console: &Console,
    visitor: Visitor,
    kind: &KindDoc,
    id: Option<&str>,
    record: &Value,
    version: &str,
    refused: Option<(Option<String>, &Errors)>,
) -> Result<Page<EditPage>, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let event_types = if form(&kind.members).iter().any(|field| field.input == Input::Events) {
        console.api.read::<EventTypes>(&caller, "/developers/int/v1/event-types").await?.event_types
    } else {
        Vec::new()
    };
    let (list, singular) = (list_address(kind), kind.descriptor.singular.replace('_', " "));
    let none = Errors::new();
    let (refusal, errors) = refused.unwrap_or((None, &none));
    let back = id.map_or(list.clone(), |id| record_address(kind, id));
    Ok(Page(EditPage {
        kind: label(kind.descriptor.plural),
        heading: match id {
            None => ui.say("New {}", [ui.t(&singular)]),
            Some(_) => ui.say("Change {}", [ui.t(&singular)]),
        },
        action: id.map_or(format!("{list}/new"), |id| format!("{}/edit", record_form_address(kind, id))),
        entries: entry::entries(kind, &console.kinds, &event_types, record, errors),
        version: version.to_owned(),
        new: id.is_none(),
        refusal,
        list,
        back,
        ui,
    }))
}

/// The page of the new record; if the API shows something only now, a page that says so first.
fn created(kind: &KindDoc, ui: Ui, record: &Value) -> Response {
    let id = record["id"].as_str().unwrap_or_default();
    let address = record_address(kind, id);
    let secrets: Vec<_> = ["key", "secret"].iter().filter_map(|name| Some((label(name), record[*name].as_str()?.to_owned()))).collect();
    if secrets.is_empty() {
        return Redirect::to(&format!("{address}?done=created")).into_response();
    }
    Page(CreatedPage { kind: label(kind.descriptor.plural), list: list_address(kind), title: title_of(record), address, secrets, ui })
        .into_response()
}
