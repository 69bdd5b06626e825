//! The list of a kind: filters in the address, one page after another.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::console::Console;
use crate::console::addresses::{list_address, record_address, with_query};
use crate::console::cell::Cell;
use crate::console::kinds::Kinds;
use crate::console::records::{find_kind, may, member, title_of};
use crate::console::session::Visitor;
use crate::console::shell::{Page, PageError, Ui, is_mistake};
use crate::resources::{FieldDoc, Filter, Input, KindDoc, Operation, ShownIn, label};

/// The number of columns beside the name and the time, so that a row fits on one line.
const COLUMNS: usize = 5;
/// The number of filters that need not be opened.
const FILTERS: usize = 3;
/// The parameters of lists that every kind has.
const COMMON: [&str; 6] = ["created_after", "created_before", "updated_after", "updated_before", "query", "sort"];

#[derive(Template)]
#[template(path = "records/list.html")]
struct ListPage {
    ui: Ui,
    title: String,
    address: String,
    /// Whether the visitor may create a record.
    creatable: bool,
    singular: String,
    /// The filters that are always there, and those that are opened first unless one is set.
    filters: Vec<FilterControl>,
    more_filters: Vec<FilterControl>,
    /// Whether any filter is set.
    filtered: bool,
    /// What was searched for; `None` for a kind that cannot be searched.
    query: Option<String>,
    /// Why there is no list.
    refusal: Option<String>,
    columns: Vec<String>,
    rows: Vec<Row>,
    /// The next page.
    older: Option<String>,
    /// The first page, if this is another one.
    newest: Option<String>,
}

struct Row {
    address: String,
    title: String,
    cells: Vec<Cell>,
    created: Cell,
}

struct FilterControl {
    name: String,
    label: String,
    value: String,
    /// The words to choose from; empty for a text.
    words: Vec<String>,
}

pub(super) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    Path((namespace, plural)): Path<(String, String)>,
    Query(parameters): Query<Vec<(String, String)>>,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let kind = find_kind(&console.kinds, &caller, &namespace, &plural)?;
    let given = |name: &str| parameters.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value.trim());
    let known = |name: &str| COMMON.contains(&name) || kind.filters().any(|filter| filter.name == name);
    let wanted: Vec<(&str, &str)> = parameters
        .iter()
        .map(|(name, value)| (name.as_str(), value.trim()))
        .filter(|(name, value)| known(name) && !value.is_empty())
        .collect();

    let page = wanted.iter().copied().chain([("after", given("after"))]);
    let found = console.api.get(&caller, &with_query(&kind.list_path(), page)).await;
    let (body, refusal) = match found {
        Ok(answer) => (answer.body, None),
        // A filter that makes no sense is answered beside the filters.
        Err(problem) if is_mistake(&problem) && !wanted.is_empty() => (Value::Null, Some(problem.to_string())),
        Err(problem) => return Err(problem.into()),
    };
    let none = Vec::new();
    let records = body[kind.descriptor.plural].as_array().unwrap_or(&none);
    let columns = columns(kind);
    let address = list_address(kind);
    let control = |filter: &Filter| FilterControl::of(filter.name, &filter.schema(), given(filter.name));
    let mut filters: Vec<_> = kind.filters().map(control).collect();
    let next = body["meta"]["next"].as_str();
    let page = ListPage {
        title: label(kind.descriptor.plural),
        creatable: may(&caller, kind, Operation::Create),
        singular: kind.descriptor.singular.replace('_', " "),
        more_filters: filters.split_off(filters.len().min(FILTERS)),
        filters,
        filtered: !wanted.is_empty(),
        query: (!kind.descriptor.search_fields.is_empty()).then(|| given("query").to_owned()),
        refusal,
        columns: columns.iter().map(|field| label(&field.name)).collect(),
        rows: records.iter().map(|record| Row::of(&ui, &console.kinds, kind, &columns, record)).collect(),
        older: next.map(|next| with_query(&address, wanted.iter().copied().chain([("after", next)]))),
        newest: (!given("after").is_empty()).then(|| with_query(&address, wanted.iter().copied())),
        address,
        ui,
    };
    Ok(Page(page).into_response())
}

/// The fields that a row has room for: what a list of the API shows, and neither structures nor long texts.
fn columns(kind: &KindDoc) -> Vec<&FieldDoc> {
    let short = |field: &&FieldDoc| {
        field.shown == ShownIn::Everything && !matches!(field.input, Input::Object | Input::Text | Input::List | Input::Secret)
    };
    let named = |field: &&FieldDoc| !matches!(field.name.as_ref(), "name" | "meta");
    kind.members.iter().filter(short).filter(named).take(COLUMNS).collect()
}

impl ListPage {
    fn more_is_set(&self) -> bool {
        self.more_filters.iter().any(|filter| !filter.value.is_empty())
    }
}

impl Row {
    fn of(ui: &Ui, kinds: &Kinds, kind: &KindDoc, columns: &[&FieldDoc], record: &Value) -> Self {
        let id = record["id"].as_str().unwrap_or_default();
        Self {
            address: record_address(kind, id),
            title: title_of(record),
            cells: columns.iter().map(|field| member(ui, kinds, kind, record, &field.name)).collect(),
            created: Cell::plain(ui, kinds, &record["created_at"]),
        }
    }
}

impl FilterControl {
    fn of(name: &str, schema: &Value, value: &str) -> Self {
        let words = match Input::of(schema) {
            Input::Choice(words) => words,
            Input::Switch => vec!["true".to_owned(), "false".to_owned()],
            _ => Vec::new(),
        };
        Self { name: name.to_owned(), label: label(name), value: value.to_owned(), words }
    }
}
