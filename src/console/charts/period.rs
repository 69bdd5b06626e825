//! How far back a page looks, as its address says.

use chrono::{DateTime, TimeDelta, Utc};

use crate::console::shell::Ui;

/// A period that ends now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    /// By the hour.
    #[default]
    Day,
    /// By six hours.
    Week,
    /// By the day.
    Month,
}

/// A period to choose, as a link.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Its name.
    pub label: &'static str,
    /// The page with this period.
    pub address: String,
    /// Whether it is the one shown.
    pub current: bool,
}

impl Period {
    /// The period of this name; the last day for any other text.
    pub fn read(name: &str) -> Self {
        [Self::Week, Self::Month].into_iter().find(|period| period.name() == name).unwrap_or_default()
    }

    /// The name in addresses, here and of the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
        }
    }

    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Day => "24 h",
            Self::Week => "7 d",
            Self::Month => "30 d",
        }
    }

    /// The periods to choose from, on the page that `address` gives for each.
    pub fn choices(self, of: &[Self], address: impl Fn(Self) -> String) -> Vec<Choice> {
        of.iter().map(|period| Choice { label: period.label(), address: address(*period), current: *period == self }).collect()
    }

    /// A step that begins at `at`, as short as it can be told.
    pub fn step_name(self, at: DateTime<Utc>) -> String {
        at.format(match self {
            Self::Day => "%H:%M",
            Self::Week => "%m-%d %H:%M",
            Self::Month => "%Y-%m-%d",
        })
        .to_string()
    }

    /// A step from its beginning to its end.
    pub fn step_span(self, ui: &Ui, at: DateTime<Utc>) -> String {
        match self {
            Self::Day => ui.say("{} to {} UTC", [at.format("%Y-%m-%d %H:%M"), (at + TimeDelta::hours(1)).format("%H:%M")]),
            Self::Week => ui.say("{} to {} UTC", [at.format("%Y-%m-%d %H:%M"), (at + TimeDelta::hours(6)).format("%H:%M")]),
            Self::Month => at.format("%Y-%m-%d").to_string(),
        }
    }
}
