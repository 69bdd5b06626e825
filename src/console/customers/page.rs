//! The page of one customer.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, NaiveDate, Utc};
use serde::Deserialize;

use crate::callers::{Area, Caller, Scope};
use crate::console::Console;
use crate::console::addresses::with_query;
use crate::console::cell::Cell;
use crate::console::customers::head::{Customer, Passkey, ProviderLink};
use crate::console::customers::telling::Told;
use crate::console::customers::timeline::{self, Wanted};
use crate::console::records::named;
use crate::console::session::{RecordId, Visitor};
use crate::console::shell::{Moment, Page, PageError, Ui};

/// The number of sessions that are shown; further ones are in the list of all.
const SESSIONS: usize = 100;

#[derive(Default, Deserialize)]
pub(super) struct Shown {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    before: String,
}

#[derive(Deserialize)]
struct Sessions {
    tokens: Vec<Session>,
}

#[derive(Deserialize)]
struct Session {
    id: String,
    method: Option<String>,
    address: Option<String>,
    user_agent: Option<String>,
    device_name: Option<String>,
    last_used_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    revoked_at: Option<DateTime<Utc>>,
}

struct Tab {
    label: &'static str,
    address: String,
    current: bool,
}

/// What happened on one day.
struct Day {
    name: String,
    rows: Vec<Told>,
}

/// An identity provider that opens the account.
struct LinkRow {
    provider: String,
    state: Cell,
    linked: Moment,
}

struct PasskeyRow {
    id: String,
    name: String,
    state: Cell,
    added: Moment,
    last_used: Option<Moment>,
}

struct SessionRow {
    id: String,
    /// What the customer calls the device, or else its user agent.
    device: String,
    user_agent: String,
    method: String,
    address: String,
    last_used: Moment,
    expires: Moment,
}

#[derive(Template)]
#[template(path = "customers/page.html")]
struct CustomerPage {
    ui: Ui,
    customer: Customer,
    state: Cell,
    answer: String,
    store: Cell,
    address: String,
    /// Whether the visitor may change customers.
    writable: bool,
    sessions: Vec<SessionRow>,
    links: Vec<LinkRow>,
    second_factor: Option<String>,
    passkeys: Vec<PasskeyRow>,
    tabs: Vec<Tab>,
    days: Vec<Day>,
    older: Option<String>,
    newest: Option<String>,
}

/// `GET /console/customers/{id}`
pub(super) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    RecordId(id): RecordId,
    Query(shown): Query<Shown>,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let customer = Customer::find(&console, &caller, &id).await?;
    let address = customer.address();
    let wanted = Wanted::read(&shown.kind, &shown.before)?;
    let page = timeline::read(&console, &caller, &ui, &customer, &wanted).await?;
    let at = |before: &str| with_query(&address, [("kind", wanted.kind), ("before", before)]);
    let tab = |(kind, label): (&'static str, &'static str)| Tab {
        label,
        address: with_query(&address, [("kind", kind)]),
        current: kind == wanted.kind,
    };
    let (state, answer) = customer.state(&ui);
    let shown_page = CustomerPage {
        state,
        answer,
        store: named(&console, &caller, &customer.store).await,
        writable: caller.grant.allows(Area::Customers, Scope::Write),
        sessions: lasting(&console, &caller, &ui, &customer).await?,
        links: customer.provider_links.iter().map(|link| LinkRow::of(&ui, link)).collect(),
        second_factor: customer.second_factor(&ui),
        passkeys: customer.passkeys.iter().map(|passkey| PasskeyRow::of(&ui, passkey)).collect(),
        tabs: timeline::tabs(&console, &caller).map(tab).collect(),
        older: page.next.map(|next| at(&next.to_rfc3339())),
        newest: (!shown.before.is_empty()).then(|| at("")),
        days: by_day(page.entries),
        address: address.clone(),
        customer,
        ui,
    };
    Ok(Page(shown_page).into_response())
}

impl LinkRow {
    fn of(ui: &Ui, link: &ProviderLink) -> Self {
        Self { provider: link.provider.clone(), state: Cell::word(ui, &link.state), linked: ui.at(&link.linked_at) }
    }
}

impl PasskeyRow {
    fn of(ui: &Ui, passkey: &Passkey) -> Self {
        Self {
            id: passkey.id.clone(),
            name: passkey.name.clone(),
            state: Cell::word(ui, &passkey.state),
            added: ui.at(&passkey.created_at),
            last_used: passkey.last_used_at.as_ref().map(|at| ui.at(at)),
        }
    }
}

/// The sessions that neither ended nor expired, the last one that began first.
async fn lasting(console: &Console, caller: &Caller, ui: &Ui, customer: &Customer) -> Result<Vec<SessionRow>, PageError> {
    let path = format!("/storefront/int/v1/tokens?customer={}&limit={SESSIONS}", customer.id);
    let Sessions { tokens } = console.api.read(caller, &path).await?;
    let now = ui.now();
    let lasts = |session: &Session| session.revoked_at.is_none() && session.expires_at > now && customer.is_open();
    let row = |session: Session| SessionRow {
        device: session.device_name.or_else(|| session.user_agent.clone()).unwrap_or_else(|| session.id.clone()),
        user_agent: session.user_agent.unwrap_or_default(),
        method: session.method.unwrap_or_default(),
        address: session.address.unwrap_or_default(),
        last_used: ui.at(&session.last_used_at),
        expires: ui.at(&session.expires_at),
        id: session.id,
    };
    Ok(tokens.into_iter().filter(lasts).map(row).collect())
}

fn by_day(entries: Vec<Told>) -> Vec<Day> {
    let mut days: Vec<(NaiveDate, Vec<Told>)> = Vec::new();
    for entry in entries {
        let date = entry.at.date_naive();
        match days.last_mut() {
            Some((last, rows)) if *last == date => rows.push(entry),
            _ => days.push((date, vec![entry])),
        }
    }
    days.into_iter().map(|(date, rows)| Day { name: date.format("%Y-%m-%d").to_string(), rows }).collect()
}
