//! What was published and sent in a period, as numbers and charts.

use serde::Deserialize;

use crate::callers::{Area, Caller, Scope};
use crate::console::Console;
use crate::console::addresses::{HOME, with_query};
use crate::console::charts::{Chart, Choice, Figures, Period, number};
use crate::console::shell::{PageError, Ui};

/// The periods to choose from.
const PERIODS: [Period; 2] = [Period::Day, Period::Week];

#[derive(Deserialize)]
struct Answer {
    figures: Figures,
}

pub(super) struct Traffic {
    pub(super) events: String,
    pub(super) attempts: String,
    pub(super) figures: Figures,
    pub(super) charts: Vec<Chart>,
    pub(super) periods: Vec<Choice>,
}

impl Traffic {
    /// The traffic of the company; `None` if the caller may not see it.
    pub(super) async fn find(console: &Console, ui: &Ui, caller: &Caller, period: Period) -> Result<Option<Self>, PageError> {
        if !caller.grant.allows(Area::Traffic, Scope::Read) {
            return Ok(None);
        }
        let path = with_query("/developers/int/v1/figures", [("period", period.name())]);
        let Answer { figures } = console.api.read(caller, &path).await?;
        let mut charts = Vec::new();
        if !figures.is_empty() {
            charts.extend([figures.events_chart(ui), figures.attempts_chart(ui)]);
        }
        if figures.attempts > 0 {
            charts.push(figures.latency_chart(ui));
        }
        Ok(Some(Self {
            events: number(figures.events.unwrap_or_default()),
            attempts: number(figures.attempts),
            charts,
            periods: period.choices(&PERIODS, |period| with_query(HOME, [("period", period.name())])),
            figures,
        }))
    }
}
