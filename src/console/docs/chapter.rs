//! The operations on one kind of thing, each with a program that calls it.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::Value;

use crate::console::Console;
use crate::console::addresses::list_address;
use crate::console::docs::frame::Frame;
use crate::console::docs::reader::{Reader, keeping};
use crate::console::docs::row::{Row, rows};
use crate::console::docs::words::Words;
use crate::console::shell::{Page, PageError, Ui};
use crate::handbook::code::{Language, program};
use crate::handbook::{Chapter, Credential, Operation, Place, Refusal, Section};

#[derive(Template)]
#[template(path = "docs/chapter.html")]
struct ChapterPage<'a> {
    ui: Ui,
    frame: Frame,
    section: &'a Section,
    chapter: &'a Chapter,
    operations: Vec<Told<'a>>,
    languages: [Language; 4],
    language: Language,
    /// Where a signed-in operator sees records of this kind.
    list: Option<String>,
    /// The id of a record of the operator's company, which the programs have.
    own_record: Option<String>,
}

/// An operation, as the page tells it.
struct Told<'a> {
    operation: &'a Operation,
    description: Words,
    needs: Vec<Need>,
    parameters: Vec<(&'static str, Row)>,
    body: Vec<Row>,
    body_sentence: String,
    answers: Vec<AnswerTold>,
    refusals: &'a [Refusal],
    program: String,
}

/// What an operation needs of whoever asks: a header, and where its value comes from.
struct Need {
    header: &'static str,
    sentence: &'static str,
}

struct AnswerTold {
    status: String,
    sentence: Words,
    rows: Vec<Row>,
    sample: Option<String>,
}

/// `GET /docs/{section}/{chapter}`
pub(super) async fn show(
    State(console): State<Console>,
    reader: Reader,
    Path((section, chapter)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let (section, chapter) = console.handbook.contents().find(&section, &chapter).ok_or(PageError::NOT_FOUND)?;
    let (list, own_record) = own(&console, &reader, chapter).await;
    let told = |operation| Told::of(operation, &reader, own_record.as_deref());
    let operations = chapter.operations.iter().map(told).collect();
    let cookie = reader.cookie();
    let page = ChapterPage {
        section,
        chapter,
        operations,
        languages: Language::ALL,
        language: reader.language,
        list,
        own_record,
        ui: reader.ui,
        frame: reader.frame,
    };
    Ok(keeping(cookie, Page(page)))
}

/// Where the operator sees the records of this kind, and the newest of them, if they may.
async fn own(console: &Console, reader: &Reader, chapter: &Chapter) -> (Option<String>, Option<String>) {
    let Some((caller, (namespace, path))) = reader.caller.as_ref().zip(chapter.kind.as_ref()) else { return (None, None) };
    let Some(kind) = console.kinds.find(caller, namespace, path) else { return (None, None) };
    // The page is as useful without, so a failure is none.
    let newest = console.api.get(caller, &format!("/{namespace}/int/v1/{path}?limit=1")).await.ok();
    let id = newest.and_then(|answer| answer.body.pointer(&format!("/{}/0/id", kind.descriptor.plural)).cloned());
    (Some(list_address(kind)), id.as_ref().and_then(Value::as_str).map(str::to_owned))
}

impl<'a> Told<'a> {
    fn of(operation: &'a Operation, reader: &Reader, own_record: Option<&str>) -> Self {
        let place = |place| match place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
        };
        let parameters = operation.parameters.iter();
        let parameters = parameters
            .flat_map(|parameter| rows(std::slice::from_ref(&parameter.field)).into_iter().map(move |row| (place(parameter.place), row)));
        let answers = operation.answers.iter().map(|answer| AnswerTold {
            status: answer.status.clone(),
            sentence: Words(answer.sentence.clone()),
            rows: rows(&answer.fields),
            sample: answer.sample.as_ref().map(|sample| format!("{sample:#}")),
        });
        Self {
            description: Words(operation.description.clone()),
            needs: operation.credentials.iter().map(|credential| need(*credential)).collect(),
            parameters: parameters.collect(),
            body: operation.body.as_ref().map(|body| rows(&body.fields)).unwrap_or_default(),
            body_sentence: operation.body.as_ref().map(|body| body.sentence.clone()).unwrap_or_default(),
            answers: answers.collect(),
            refusals: &operation.refusals,
            program: program(reader.language, operation, &reader.base, own_record),
            operation,
        }
    }
}

fn need(credential: Credential) -> Need {
    let (header, sentence) = match credential {
        Credential::ApiKey => ("Authorization: Bearer", "An API key of the company (key_…)."),
        Credential::StoreKey => ("Authorization: Bearer", "The key of a store (store_…). Apps may contain it."),
        Credential::CustomerToken => ("Customer-Token", "The token that the customer received at sign-in."),
        Credential::SocketSignature => ("X-Socket-Signature", "The signature of the socket server, with X-Socket-Timestamp."),
    };
    Need { header, sentence }
}
