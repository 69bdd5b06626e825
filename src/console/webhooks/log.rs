//! The deliveries of a webhook, narrowed to a state.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::callers::Caller;
use crate::console::Console;
use crate::console::addresses::with_query;
use crate::console::cell::Cell;
use crate::console::shell::{Moment, PageError, Ui};
use crate::console::webhooks::DELIVERIES;

/// The states that the log can be narrowed to, and their names.
pub(super) const TABS: [(&str, &str); 5] =
    [("all", "All"), ("failed", "Failed"), ("retrying", "Waiting for a retry"), ("pending", "Not tried yet"), ("delivered", "Delivered")];

#[derive(Deserialize)]
pub(super) struct Log {
    pub(super) deliveries: Vec<Delivery>,
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    next: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Delivery {
    id: String,
    event: String,
    status: String,
    attempt_count: u32,
    next_attempt_at: Option<DateTime<Utc>>,
    replay_of: Option<String>,
    created_at: DateTime<Utc>,
}

/// What the address of the page says of the log.
#[derive(Default, Deserialize)]
pub(super) struct Shown {
    #[serde(default)]
    pub(super) period: String,
    #[serde(default)]
    pub(super) status: String,
    #[serde(default)]
    pub(super) event: String,
    #[serde(default)]
    after: String,
}

/// The deliveries of one state.
pub(super) struct Tab {
    pub(super) label: &'static str,
    pub(super) address: String,
    pub(super) current: bool,
}

pub(super) struct Row {
    pub(super) address: String,
    pub(super) event: String,
    pub(super) state: Cell,
    pub(super) attempts: u32,
    pub(super) next: Option<Moment>,
    pub(super) replay: bool,
    pub(super) created: Moment,
}

impl Log {
    /// The deliveries of the chosen state. Without a choice, those of a failing webhook that failed, or failed so far: one comes for them.
    pub(super) async fn find<'a>(
        console: &Console,
        caller: &Caller,
        webhook: &str,
        failing: bool,
        shown: &'a Shown,
    ) -> Result<(&'a str, Self), PageError> {
        let list = async |status: &str| {
            let status = if status == "all" { "" } else { status };
            let query = [("webhook", webhook), ("status", status), ("event", &shown.event), ("after", &shown.after)];
            console.api.read::<Self>(caller, &with_query(DELIVERIES, query)).await
        };
        if !shown.status.is_empty() {
            return Ok((&shown.status, list(&shown.status).await?));
        }
        for status in if failing { &["failed", "retrying"][..] } else { &[] } {
            let found = list(status).await?;
            if !found.deliveries.is_empty() {
                return Ok((status, found));
            }
        }
        Ok(("all", list("all").await?))
    }

    /// The position behind the last delivery, if there are more.
    pub(super) fn next(&self) -> Option<&str> {
        self.meta.next.as_deref()
    }
}

impl Row {
    pub(super) fn of(ui: &Ui, delivery: Delivery) -> Self {
        let Delivery { id, event, status, attempt_count, next_attempt_at, replay_of, created_at } = delivery;
        Self {
            address: format!("{}/deliveries/{id}", ui.home),
            event,
            state: Cell::word(ui, &status),
            attempts: attempt_count,
            next: next_attempt_at.map(|at| ui.at(&at)),
            replay: replay_of.is_some(),
            created: ui.at(&created_at),
        }
    }
}
