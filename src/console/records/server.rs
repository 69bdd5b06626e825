//! Servers of a company that are asked while a customer waits: its message providers and registration hooks. Somebody tries one before the first
//! customer needs it, and replaces the secret that its requests are signed with.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::Caller;
use crate::console::Console;
use crate::console::addresses::{list_address, record_form_address};
use crate::console::api::Answer;
use crate::console::records::edit::created;
use crate::console::records::{find_kind, may, require_proof, title_of};
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Page, PageError, Refused, Ui};
use crate::kernel::crypto::{random_bytes, standard_secret};
use crate::kernel::problem::Problem;
use crate::resources::{KindDoc, Operation, label};

const PROVIDERS: &str = "message_providers";
const HOOKS: &str = "registration_hooks";

/// What the API says of a test; what follows in place of `{}` is as the server, or its failure, has it.
const SENTENCES: [&str; 8] = [
    "It allows the registration of the sample.",
    "It refuses the registration of the sample, without a reason.",
    "It refuses the registration of the sample: {}",
    "It has taken the message.",
    "It did not take the message: {}",
    "It did not answer as it should: {}",
    "It cannot be asked: {}",
    "It cannot be used: {}",
];

#[derive(Template)]
#[template(path = "records/test.html")]
struct TestPage {
    ui: Ui,
    heading: Heading,
    /// The type of the field that asks who gets the message. `None`: nobody gets one.
    recipient: Option<&'static str>,
    entered: String,
    refusal: Option<String>,
    tested: Option<Tested>,
}

/// What the API says of a test.
#[derive(Deserialize)]
struct Tested {
    ok: bool,
    detail: String,
}

#[derive(Template)]
#[template(path = "records/rotate.html")]
struct RotatePage {
    ui: Ui,
    heading: Heading,
    version: String,
    /// The secret that the endpoint has to know first, if two secrets cannot sign for a time.
    proposed: Option<String>,
    /// Whether two secrets sign already.
    overlapping: bool,
    /// Whether the record has changed since the form was made.
    outdated: bool,
}

/// Where a page belongs.
struct Heading {
    kind: String,
    list: String,
    title: String,
    address: String,
}

type Names = Path<(String, String, String)>;

/// A server that the caller may change.
struct Server<'a> {
    kind: &'a KindDoc,
    id: String,
    record: Value,
    version: String,
}

impl<'a> Server<'a> {
    async fn find(console: &'a Console, caller: &Caller, Path((namespace, plural, _)): &Names, id: &str) -> Result<Self, PageError> {
        let kind = find_kind(&console.kinds, caller, namespace, plural)?;
        if !is_testable(caller, kind) {
            return Err(PageError::NOT_FOUND);
        }
        require_proof(caller, kind)?;
        let Answer { mut body, version } = console.api.get(caller, &kind.record_path(id)).await?;
        let record = body[kind.descriptor.singular].take();
        let id = record["id"].as_str().unwrap_or(id).to_owned();
        Ok(Self { kind, id, record, version: version.unwrap_or_default() })
    }

    async fn find_signed(console: &'a Console, caller: &Caller, names: &Names, id: &str) -> Result<Self, PageError> {
        let server = Self::find(console, caller, names, id).await?;
        caller.require_proof()?;
        if is_signed(server.kind, &server.record) { Ok(server) } else { Err(PageError::NOT_FOUND) }
    }

    fn is_hook(&self) -> bool {
        self.kind.descriptor.plural == HOOKS
    }

    fn path(&self) -> String {
        self.kind.record_path(&self.id)
    }

    fn heading(&self) -> Heading {
        Heading {
            kind: label(self.kind.descriptor.plural),
            list: list_address(self.kind),
            title: title_of(&self.record),
            address: record_form_address(self.kind, &self.id),
        }
    }

    fn test_page(&self, ui: Ui) -> TestPage {
        let recipient = (!self.is_hook()).then(|| if self.record["channel"] == "sms" { "tel" } else { "email" });
        TestPage { ui, heading: self.heading(), recipient, entered: String::new(), refusal: None, tested: None }
    }

    /// The page that asks before the secret is replaced. Where two secrets sign for a time, the API makes the new one.
    fn rotate_page(self, ui: Ui, proposed: Option<String>) -> RotatePage {
        let proposed = (!self.is_hook()).then(|| proposed.unwrap_or_else(|| standard_secret(&random_bytes::<32>())));
        let overlapping = !self.record["previous_secret_until"].is_null();
        RotatePage { ui, heading: self.heading(), version: self.version, proposed, overlapping, outdated: false }
    }
}

impl TestPage {
    /// What came of the test, in words.
    fn said(&self, Tested { detail, .. }: &Tested) -> String {
        let as_sentence = |sentence: &&str| {
            let rest = detail.strip_prefix(sentence.trim_end_matches("{}"))?;
            Some(self.ui.say(sentence, [rest]))
        };
        SENTENCES.iter().find_map(as_sentence).unwrap_or_else(|| detail.clone())
    }
}

fn is_testable(caller: &Caller, kind: &KindDoc) -> bool {
    kind.namespace == "storefront" && [PROVIDERS, HOOKS].contains(&kind.descriptor.plural) && may(caller, kind, Operation::Change)
}

/// Whether the service signs what it sends there.
fn is_signed(kind: &KindDoc, record: &Value) -> bool {
    kind.descriptor.plural == HOOKS || record["kind"] == "webhook"
}

/// What the caller can do with a record beside changing it: the words of a button, and where it leads.
pub(super) fn acts(caller: &Caller, kind: &KindDoc, record: &Value) -> Vec<(&'static str, String)> {
    if !is_testable(caller, kind) {
        return Vec::new();
    }
    let address = record_form_address(kind, record["id"].as_str().unwrap_or_default());
    let rotation = is_signed(kind, record).then(|| ("Rotate the signing secret", format!("{address}/rotate-secret")));
    std::iter::once(("Send test", format!("{address}/test"))).chain(rotation).collect()
}

/// `GET …/test`
pub(super) async fn ask_test(
    State(console): State<Console>,
    visitor: Visitor,
    names: Names,
    RecordId(id): RecordId,
) -> Result<Response, PageError> {
    let server = Server::find(&console, &visitor.caller, &names, &id).await?;
    Ok(Page(server.test_page(visitor.ui)).into_response())
}

/// `POST …/test`: the page says what the server answered.
pub(super) async fn test(
    State(console): State<Console>,
    names: Names,
    RecordId(id): RecordId,
    form: PostedForm,
) -> Result<Response, PageError> {
    let Visitor { ref caller, .. } = form.visitor;
    let server = Server::find(&console, caller, &names, &id).await?;
    let entered = form.get("to").unwrap_or_default().to_owned();
    let body = if server.is_hook() { json!({}) } else { json!({ "to": entered }) };
    let answer = console.api.post(caller, &format!("{}/test", server.path()), &body).await;
    let mut page = TestPage { entered, ..server.test_page(form.visitor.ui) };
    match answer {
        Ok(answer) => {
            page.tested = serde_json::from_value(answer.body).ok();
            Ok(Page(page).into_response())
        }
        Err(problem) if problem.code().status().is_client_error() => {
            page.refusal = Some(refusal(&problem));
            Ok(Refused::from(&problem).with(Page(page)))
        }
        Err(problem) => Err(problem.into()),
    }
}

/// What is wrong with the recipient, or else the whole.
fn refusal(problem: &Problem) -> String {
    problem.fields().remove("to").map_or_else(|| problem.to_string(), |errors| errors.join(" "))
}

/// `GET …/rotate-secret`
pub(super) async fn ask_rotate(
    State(console): State<Console>,
    visitor: Visitor,
    names: Names,
    RecordId(id): RecordId,
) -> Result<Response, PageError> {
    let server = Server::find_signed(&console, &visitor.caller, &names, &id).await?;
    Ok(Page(server.rotate_page(visitor.ui, None)).into_response())
}

/// `POST …/rotate-secret`: a form rotates the secret once, however often it is sent, because it names the version that its page has shown.
pub(super) async fn rotate(
    State(console): State<Console>,
    names: Names,
    RecordId(id): RecordId,
    form: PostedForm,
) -> Result<Response, PageError> {
    let Visitor { ref caller, .. } = form.visitor;
    let server = Server::find_signed(&console, caller, &names, &id).await?;
    let proposed = form.get("secret").map(str::to_owned);
    if form.get("version") != Some(server.version.as_str()) {
        let page = RotatePage { outdated: true, ..server.rotate_page(form.visitor.ui, proposed) };
        return Ok((StatusCode::CONFLICT, Page(page)).into_response());
    }
    if server.is_hook() {
        let overlap: u32 = form.get("overlap").and_then(|seconds| seconds.parse().ok()).ok_or(PageError::UNREADABLE)?;
        let answer = console.api.post(caller, &format!("{}/rotate-secret", server.path()), &json!({ "overlap": overlap })).await?;
        return Ok(created(server.kind, form.visitor.ui, &answer.body[server.kind.descriptor.singular]));
    }
    let body = json!({ "secret": proposed.ok_or(PageError::UNREADABLE)? });
    console.api.put(caller, &server.path(), &body, Some(&server.version)).await?;
    Ok(Redirect::to(&format!("{}?done=saved", server.heading().address)).into_response())
}
