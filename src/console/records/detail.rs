//! One record: all its fields, and what can be done to it.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};

use crate::callers::Caller;
use crate::console::Console;
use crate::console::addresses::{HOME, list_address, record_address, record_form_address};
use crate::console::cell::Cell;
use crate::console::records::{find_kind, may, member, require_proof, server, title_of};
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Page, PageError, Ui, is_mistake};
use crate::resources::{KindDoc, Operation, label};

#[derive(Template)]
#[template(path = "records/detail.html")]
struct DetailPage {
    ui: Ui,
    kind: String,
    list: String,
    title: String,
    id: String,
    address: String,
    changeable: bool,
    deletable: bool,
    /// What else can be done with the record, and where.
    acts: Vec<(&'static str, String)>,
    fields: Vec<(String, Cell)>,
    /// What else is told about the record, and where.
    related: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "records/delete.html")]
struct DeletePage {
    ui: Ui,
    kind: String,
    list: String,
    title: String,
    address: String,
    back: String,
    /// What it does to others, in a sentence.
    consequence: Option<&'static str>,
    refusal: Option<String>,
}

type Names = Path<(String, String, String)>;

pub(super) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    Path((namespace, plural, _)): Names,
    RecordId(id): RecordId,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let kind = find_kind(&console.kinds, &caller, &namespace, &plural)?;
    let answer = console.api.get(&caller, &kind.record_path(&id)).await?;
    let record = &answer.body[kind.descriptor.singular];
    let shown = record["id"].as_str().unwrap_or(&id).to_owned();
    let members = record.as_object().into_iter().flatten().filter(|(name, _)| !matches!(name.as_str(), "id" | "uuid"));
    let see = |namespace: &str, plural: &str, filter: &str| {
        let visible = console.kinds.find(&caller, namespace, plural)?;
        Some(format!("{}?{filter}={shown}", list_address(visible)))
    };
    let uuid = record["uuid"].as_str().unwrap_or_default();
    let events = see("developers", "events", "subject").map(|address| address.replace(&shown, uuid));
    let sign_in = (is_store(kind) && console.has_mailbox).then(|| format!("{HOME}/stores/{shown}/try"));
    // Reading a sample takes the permission that changing the gateway takes.
    let trial = (kind.namespace == "ledger" && kind.descriptor.plural == "gateways" && may(&caller, kind, Operation::Change))
        .then(|| format!("{HOME}/gateways/{shown}/try"));
    let related = [
        ("Sign a customer in", sign_in),
        ("Try a sample", trial),
        ("Events about it", events),
        ("Changes of it", see("developers", "changes", "record")),
    ];
    let page = DetailPage {
        kind: label(kind.descriptor.plural),
        list: list_address(kind),
        title: title_of(record),
        address: record_form_address(kind, &shown),
        changeable: may(&caller, kind, Operation::Change),
        deletable: may(&caller, kind, Operation::Delete),
        acts: server::acts(&caller, kind, record),
        fields: members.map(|(name, _)| (label(name), member(&ui, &console.kinds, kind, record, name))).collect(),
        related: related.into_iter().filter_map(|(name, address)| Some((name, address?))).collect(),
        id: shown.clone(),
        ui,
    };
    Ok(Page(page).into_response())
}

pub(super) async fn ask_delete(
    State(console): State<Console>,
    visitor: Visitor,
    Path((namespace, plural, _)): Names,
    RecordId(id): RecordId,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    delete_page(&console, ui, &caller, (&namespace, &plural, &id), None).await
}

pub(super) async fn delete(
    State(console): State<Console>,
    Path((namespace, plural, _)): Names,
    RecordId(id): RecordId,
    form: PostedForm,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = form.visitor;
    let kind = find_kind(&console.kinds, &caller, &namespace, &plural)?;
    require_proof_of_deleting(&caller, kind)?;
    match console.api.delete(&caller, &kind.record_path(&id)).await {
        Ok(_) => Ok(Redirect::to(&format!("{}?done=deleted", list_address(kind))).into_response()),
        // A record that others need stays, and the page says which.
        Err(problem) if is_mistake(&problem) => {
            delete_page(&console, ui, &caller, (&namespace, &plural, &id), Some(problem.to_string())).await
        }
        Err(problem) => Err(problem.into()),
    }
}

fn is_store(kind: &KindDoc) -> bool {
    (kind.namespace.as_str(), kind.descriptor.singular) == ("storefront", "store")
}

/// Deleting may take a proof where changing takes none.
fn require_proof_of_deleting(caller: &Caller, kind: &KindDoc) -> Result<(), PageError> {
    require_proof(caller, kind)?;
    if kind.deleting != kind.writing {
        caller.require_proof()?;
    }
    Ok(())
}

async fn delete_page(
    console: &Console,
    ui: Ui,
    caller: &Caller,
    (namespace, plural, id): (&str, &str, &str),
    refusal: Option<String>,
) -> Result<Response, PageError> {
    let kind = find_kind(&console.kinds, caller, namespace, plural)?;
    if !may(caller, kind, Operation::Delete) {
        return Err(PageError::NOT_FOUND);
    }
    require_proof_of_deleting(caller, kind)?;
    let answer = console.api.get(caller, &kind.record_path(id)).await?;
    let page = DeletePage {
        kind: label(kind.descriptor.plural),
        list: list_address(kind),
        title: title_of(&answer.body[kind.descriptor.singular]),
        address: record_form_address(kind, id),
        back: record_address(kind, id),
        consequence: is_store(kind).then_some("Its customers cannot sign in any more, and all of them are signed out at once."),
        refusal,
        ui,
    };
    Ok(Page(page).into_response())
}
