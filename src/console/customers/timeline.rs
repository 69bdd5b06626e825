//! What happened to a customer, from every part of the API that the operator may read: the storefront's own timeline, the lists of orders,
//! payments and changes, and the events about the customer, the orders and the payments, merged by time.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::callers::{Area, Caller, Scope};
use crate::console::Console;
use crate::console::addresses::with_query;
use crate::console::customers::API;
use crate::console::customers::head::Customer;
use crate::console::customers::telling::{Teller, Told};
use crate::console::shell::{PageError, Ui};
use crate::kernel::newest::{Newest, newest};

/// About how many entries a page has.
const ENTRIES: usize = 30;

/// What the timeline can be narrowed to, and its name.
pub(super) const TABS: [(&str, &str); 9] = [
    ("", "All"),
    ("sign_in", "Sign-ins"),
    ("code", "Codes"),
    ("text", "Texts"),
    ("notice", "Notices"),
    ("orders", "Orders"),
    ("payments", "Payments"),
    ("events", "Events"),
    ("changes", "Changes"),
];

/// Which entries are asked for.
pub(super) struct Wanted {
    /// One of [`TABS`].
    pub(super) kind: &'static str,
    before: Option<DateTime<Utc>>,
}

impl Wanted {
    /// What the address says. An unknown kind is a page that does not exist.
    pub(super) fn read(kind: &str, before: &str) -> Result<Self, PageError> {
        let (kind, _) = TABS.into_iter().find(|(known, _)| *known == kind).ok_or(PageError::NOT_FOUND)?;
        let before = match before {
            "" => None,
            given => Some(given.parse().map_err(|_| PageError::NOT_FOUND)?),
        };
        Ok(Self { kind, before })
    }
}

/// Of how many orders, and of how many payments, the events are told beside those of the customer. Each is a request to the API.
const TOLD_OF: usize = 10;

/// A list of records about the customer: the tab, the namespace, the path and the filter. Orders and payments come before events, which
/// are about them too.
const LISTS: [(&str, &str, &str, &str); 4] = [
    ("orders", "fleet", "orders", "customer"),
    ("payments", "ledger", "payments", "customer"),
    ("events", "developers", "events", "subject"),
    ("changes", "developers", "changes", "record"),
];

/// The tabs of what the caller may see.
pub(super) fn tabs(console: &Console, caller: &Caller) -> impl Iterator<Item = (&'static str, &'static str)> {
    let hidden = move |kind: &str| {
        let list = LISTS.iter().find(|(tab, ..)| *tab == kind);
        list.is_some_and(|(_, namespace, path, _)| console.kinds.find(caller, namespace, path).is_none())
    };
    TABS.into_iter().filter(move |(kind, _)| !hidden(kind))
}

/// A page of the timeline.
pub(super) async fn read(
    console: &Console,
    caller: &Caller,
    ui: &Ui,
    customer: &Customer,
    wanted: &Wanted,
) -> Result<Newest<Told>, PageError> {
    let before = wanted.before.map(|before| before.to_rfc3339()).unwrap_or_default();
    let limit = (ENTRIES + 1).to_string();
    let teller = Teller { console, caller, ui };
    let mut entries = Vec::new();
    let own = LISTS.iter().all(|(tab, ..)| *tab != wanted.kind);
    if own {
        let kind = [("kind", wanted.kind), ("before", before.as_str()), ("limit", limit.as_str())];
        let answer = console.api.get(caller, &with_query(&format!("{API}/{}/timeline", customer.id), kind)).await?;
        entries.extend(answer.body["timeline"].as_array().into_iter().flatten().filter_map(|entry| teller.tell(entry)));
    }
    let is_shown = |tab: &str| wanted.kind.is_empty() || wanted.kind == tab;
    let mut subjects = vec![customer.uuid.clone()];
    for (tab, namespace, path, filter) in LISTS {
        let has_events = ["orders", "payments"].contains(&tab) && is_shown("events");
        // Who may not read a list does not know what is in it.
        let Some(kind) = console.kinds.find(caller, namespace, path).filter(|_| is_shown(tab) || has_events) else { continue };
        let about = if tab == "events" { subjects.as_slice() } else { &subjects[..1] };
        let mut records: Vec<Value> = Vec::new();
        for subject in about {
            let query = [(filter, subject.as_str()), ("created_before", before.as_str()), ("limit", limit.as_str())];
            let answer = console.api.get(caller, &with_query(&kind.list_path(), query)).await?;
            records.extend(answer.body[kind.descriptor.plural].as_array().into_iter().flatten().cloned());
        }
        if has_events {
            subjects.extend(records.iter().take(TOLD_OF).filter_map(|record| record["uuid"].as_str().map(str::to_owned)));
        }
        if is_shown(tab) {
            entries.extend(records.iter().filter_map(|record| teller.tell_record(tab, kind, record)));
        }
    }
    let mut page = newest(entries, |entry| entry.at, ENTRIES);
    if caller.grant.allows(Area::Traffic, Scope::Read) {
        for entry in &mut page.entries {
            teller.add_deliveries(entry).await?;
        }
    }
    Ok(page)
}
