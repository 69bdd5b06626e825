//! Forms that create and change records.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::callers::Caller;
use crate::console::Console;
use crate::console::addresses::{list_address, record_address, record_form_address};
use crate::console::records::entry::{self, Control, Entered, Entry, Errors};
use crate::console::records::event_picker::EventType;
use crate::console::records::{find_kind, may, require_proof, title_of};
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Page, PageError, Refused, Ui};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{FormField, Input, KindDoc, Operation, form, label};

/// How often a change is tried while somebody else writes the same record.
const ATTEMPTS: u32 = 3;

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
    refusal: Option<String>,
    /// The number of fields with an error.
    wrong: usize,
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

/// What somebody has entered so far, and why it is refused.
#[derive(Default)]
struct Draft {
    entered: Entered,
    was: Entered,
    errors: Errors,
    refusal: Option<String>,
    /// By the API. Otherwise by what cannot be read.
    refused: Option<Refused>,
}

pub(super) async fn ask_new(
    State(console): State<Console>,
    visitor: Visitor,
    Path((namespace, plural)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let kind = editable(&console, &visitor.caller, &namespace, &plural, Operation::Create)?;
    Ok(page(&console, visitor, kind, None, Draft::of(entry::drawn(kind, None))).await?.into_response())
}

pub(super) async fn ask_change(
    State(console): State<Console>,
    visitor: Visitor,
    Path((namespace, plural, _)): Path<(String, String, String)>,
    RecordId(id): RecordId,
) -> Result<Response, PageError> {
    let kind = editable(&console, &visitor.caller, &namespace, &plural, Operation::Change)?;
    let answer = console.api.get(&visitor.caller, &kind.record_path(&id)).await?;
    let draft = Draft::of(entry::drawn(kind, Some(&answer.body[kind.descriptor.singular])));
    Ok(page(&console, visitor, kind, Some(&id), draft).await?.into_response())
}

pub(super) async fn create(
    State(console): State<Console>,
    Path((namespace, plural)): Path<(String, String)>,
    posted: PostedForm,
) -> Result<Response, PageError> {
    let kind = editable(&console, &posted.visitor.caller, &namespace, &plural, Operation::Create)?;
    let mut draft = Draft::posted(kind, &posted);
    // Without a choice of events, all would be meant.
    let body = draft.read(kind, &posted.visitor.ui, |field, changed| changed || field.required || field.input == Input::Events);
    if draft.errors.is_empty() {
        match console.api.post(&posted.visitor.caller, &kind.list_path(), &body).await {
            Ok(answer) => return Ok(created(kind, posted.visitor.ui, &answer.body[kind.descriptor.singular])),
            Err(problem) => draft.refuse(problem)?,
        }
    }
    let refused = draft.refused();
    Ok(refused.with(page(&console, posted.visitor, kind, None, draft).await?))
}

/// Only what somebody has changed is sent, so that changes of others to other fields stay. The version is that of this moment.
pub(super) async fn change(
    State(console): State<Console>,
    Path((namespace, plural, _)): Path<(String, String, String)>,
    RecordId(id): RecordId,
    posted: PostedForm,
) -> Result<Response, PageError> {
    let kind = editable(&console, &posted.visitor.caller, &namespace, &plural, Operation::Change)?;
    let path = kind.record_path(&id);
    let mut draft = Draft::posted(kind, &posted);
    let body = draft.read(kind, &posted.visitor.ui, |_, changed| changed);
    if draft.errors.is_empty() && body.as_object().is_none_or(Map::is_empty) {
        return Ok(to(kind, &id, "unchanged"));
    }
    for attempt in 1..=ATTEMPTS {
        let current = console.api.get(&posted.visitor.caller, &path).await?;
        draft.notice_others(&entry::drawn(kind, Some(&current.body[kind.descriptor.singular])), &body, &posted.visitor.ui);
        if !draft.errors.is_empty() {
            break;
        }
        match console.api.put(&posted.visitor.caller, &path, &body, current.version.as_deref()).await {
            Ok(_) => return Ok(to(kind, &id, "saved")),
            // Something else was written in between, such as a position.
            Err(problem) if problem.code() == ProblemCode::RecordChanged && attempt < ATTEMPTS => {}
            Err(problem) => {
                draft.refuse(problem)?;
                break;
            }
        }
    }
    let refused = draft.refused();
    Ok(refused.with(page(&console, posted.visitor, kind, Some(&id), draft).await?))
}

fn to(kind: &KindDoc, id: &str, done: &str) -> Response {
    Redirect::to(&format!("{}?done={done}", record_address(kind, id))).into_response()
}

impl Draft {
    /// A form that nobody has touched.
    fn of(drawn: Entered) -> Self {
        Self { entered: drawn.clone(), was: drawn, ..Self::default() }
    }

    fn posted(kind: &KindDoc, posted: &PostedForm) -> Self {
        let mut draft = Self::default();
        for field in form(&kind.members) {
            let entered = posted.all(&field.name).map(|text| text.replace("\r\n", "\n")).collect();
            let was = posted.raw(&format!("was-{}", field.name)).and_then(|was| serde_json::from_str(was).ok()).unwrap_or_default();
            draft.entered.insert(field.name.clone(), entered);
            draft.was.insert(field.name, was);
        }
        draft
    }

    /// The fields that are to be sent, as a body of the API. What cannot be read gets an error.
    fn read(&mut self, kind: &KindDoc, ui: &Ui, sent: impl Fn(&FormField, bool) -> bool) -> Value {
        let mut body = Map::new();
        for field in form(&kind.members) {
            let entered = &self.entered[&field.name];
            if !sent(&field, *entered != self.was[&field.name]) {
                continue;
            }
            match entry::read(&field, entered) {
                Ok(value) => drop(body.insert(field.name, value)),
                Err(error) => drop(self.errors.insert(field.name, vec![ui.t(error).to_owned()])),
            }
        }
        body.into()
    }

    /// A field that both this form and somebody else has changed gets an error; sent again, it is overwritten.
    fn notice_others(&mut self, now: &Entered, body: &Value, ui: &Ui) {
        for (name, now) in now {
            if body.get(name).is_some() && *now != self.was[name] && *now != self.entered[name] {
                let said = ui.say("Somebody has changed this meanwhile to “{}”. Save again to overwrite it.", [now.join(", ")]);
                self.errors.insert(name.clone(), vec![said]);
                self.was.insert(name.clone(), now.clone());
            }
        }
    }

    /// How the form is refused.
    fn refused(&self) -> Refused {
        self.refused.unwrap_or(StatusCode::UNPROCESSABLE_ENTITY.into())
    }

    /// What the API says about the body, as errors of fields and a sentence about the rest.
    fn refuse(&mut self, problem: Problem) -> Result<(), PageError> {
        // Who has to prove again who they are is led to the page for that, and back.
        if !problem.code().status().is_client_error() || problem.code() == ProblemCode::FreshSignInRequired {
            return Err(problem.into());
        }
        self.refused = Some(Refused::from(&problem));
        let fields = problem.fields();
        // What is not asked by this form is told above it.
        let told = |name: &String| self.entered.keys().any(|asked| name == asked || name.starts_with(&format!("{asked}.")));
        if !fields.keys().any(told) || !fields.keys().all(told) {
            self.refusal = Some(problem.to_string());
        }
        self.errors.extend(fields);
        Ok(())
    }
}

fn editable<'a>(
    console: &'a Console,
    caller: &Caller,
    namespace: &str,
    plural: &str,
    operation: Operation,
) -> Result<&'a KindDoc, PageError> {
    let kind = find_kind(&console.kinds, caller, namespace, plural)?;
    if !may(caller, kind, operation) {
        return Err(PageError::NOT_FOUND);
    }
    require_proof(caller, kind)?;
    if kind.shows_secret && operation == Operation::Create {
        caller.require_proof()?;
    }
    Ok(kind)
}

#[derive(Deserialize)]
struct EventTypes {
    event_types: Vec<EventType>,
}

async fn page(console: &Console, visitor: Visitor, kind: &KindDoc, id: Option<&str>, draft: Draft) -> Result<Page<EditPage>, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let event_types = if form(&kind.members).iter().any(|field| field.input == Input::Events) {
        console.api.read::<EventTypes>(&caller, "/developers/int/v1/event-types").await?.event_types
    } else {
        Vec::new()
    };
    let (list, singular) = (list_address(kind), kind.descriptor.singular.replace('_', " "));
    let back = id.map_or(list.clone(), |id| record_address(kind, id));
    let entries = entry::entries(kind, &console.kinds, &event_types, &draft.entered, &draft.was, &draft.errors);
    Ok(Page(EditPage {
        kind: label(kind.descriptor.plural),
        heading: match id {
            None => ui.say("New {}", [ui.t(&singular)]),
            Some(_) => ui.say("Change {}", [ui.t(&singular)]),
        },
        action: id.map_or(format!("{list}/new"), |id| format!("{}/edit", record_form_address(kind, id))),
        wrong: entries.iter().filter(|entry| !entry.errors.is_empty()).count(),
        entries,
        new: id.is_none(),
        refusal: draft.refusal,
        list,
        back,
        ui,
    }))
}

/// The page of the new record; if the API shows something only now, a page that says so first.
pub(super) fn created(kind: &KindDoc, ui: Ui, record: &Value) -> Response {
    let id = record["id"].as_str().unwrap_or_default();
    let address = record_address(kind, id);
    let secrets: Vec<_> =
        ["key", "path", "secret"].iter().filter_map(|name| Some((label(name), record[*name].as_str()?.to_owned()))).collect();
    if secrets.is_empty() {
        return Redirect::to(&format!("{address}?done=created")).into_response();
    }
    Page(CreatedPage { kind: label(kind.descriptor.plural), list: list_address(kind), title: title_of(record), address, secrets, ui })
        .into_response()
}
