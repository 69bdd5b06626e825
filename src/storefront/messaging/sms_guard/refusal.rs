//! Why a text was not sent: what the customer is answered, and what the log of texts tells operators.

use std::fmt;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::kernel::clock::{seconds_until, timestamp};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::providers::sms::TextNotSent;

/// How long a caller is told to wait while texts are paused; the pause itself lasts until somebody lifts it.
const PAUSE_SECONDS: u64 = 600;

/// The closed list of [`TextRefusal::rule`].
pub(in crate::storefront) const RULES: &[&str] = &[
    "texts_paused",
    "pumping",
    "number_format",
    "line_type",
    "text_countries",
    "unproven_number",
    "seconds_between_texts",
    "texts_per_number_and_hour",
    "texts_per_number_and_day",
    "numbers_per_range",
    "texts_per_day",
    "no_provider",
    "provider_answers",
];

/// Why a text is not sent. Its text is the sentence for operators; customers read that of the problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::storefront) enum TextRefusal {
    #[error("The store's texts have been paused since {}: {}.", timestamp(.0.since), .0.reason)]
    Paused(Pause),
    #[error(
        "{texted} codes were texted within ten minutes and only {used} of them used, which looks like SMS pumping: the guard paused the \
         store's texts."
    )]
    Pumping { texted: i64, used: i64 },
    #[error("What was typed is not a phone number.")]
    NumberInvalid,
    #[error("The number is a fixed line, a premium-rate number or of another kind that takes no texts.")]
    LineNotForTexts,
    #[error("The number's country is not one of those that the store sends texts to.")]
    CountryNotServed,
    #[error("Nobody has proven to own the number; an account merely lists it.")]
    NumberUnproven,
    #[error("{0}")]
    LimitReached(LimitReached),
    #[error("No provider of texts is configured.")]
    Unavailable,
    #[error("{}", of_answers(.0))]
    NotTaken(TextNotSent),
}

/// Since when a store's texts are paused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::storefront) struct Pause {
    pub(super) since: DateTime<Utc>,
    pub(super) reason: String,
}

/// A limit of the store that has no room for another text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::storefront) struct LimitReached {
    pub(super) limit: Limit,
    /// What the setting allows: seconds for [`Limit::BetweenTexts`], else a number of texts or of phone numbers.
    pub(super) allowed: i64,
    /// What the guard counted, in the same unit.
    pub(super) seen: i64,
    /// When there is room again.
    pub(super) until: DateTime<Utc>,
    /// The same in whole seconds from the refusal.
    pub(super) seconds: u64,
}

/// The limits of a store, each the setting of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::storefront) enum Limit {
    BetweenTexts,
    PerNumberAndHour,
    PerNumberAndDay,
    NumbersPerRange,
    PerDay,
}

impl LimitReached {
    pub(super) fn new(limit: Limit, allowed: i64, seen: i64, until: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        Self { limit, allowed, seen, until, seconds: seconds_until(until, now) }
    }
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, allowed, seen, until, .. } = self;
        match limit {
            Limit::BetweenTexts => write!(f, "The last text to the number was sent {seen} seconds before, and {allowed} have to pass")?,
            Limit::PerNumberAndHour => write!(f, "{seen} texts were sent to the number within an hour, and {allowed} are allowed")?,
            Limit::PerNumberAndDay => write!(f, "{seen} texts were sent to the number within a day, and {allowed} are allowed")?,
            Limit::NumbersPerRange => {
                write!(f, "{seen} other numbers of the range were texted within ten minutes, and {allowed} are allowed")?;
            }
            Limit::PerDay => write!(f, "The store sent {seen} texts within a day, and {allowed} are allowed")?,
        }
        write!(f, "; there is room again at {}.", timestamp(*until))
    }
}

impl Limit {
    fn setting(self) -> &'static str {
        match self {
            Self::BetweenTexts => "seconds_between_texts",
            Self::PerNumberAndHour => "texts_per_number_and_hour",
            Self::PerNumberAndDay => "texts_per_number_and_day",
            Self::NumbersPerRange => "numbers_per_range",
            Self::PerDay => "texts_per_day",
        }
    }

    fn code(self) -> ProblemCode {
        match self {
            Self::BetweenTexts | Self::PerNumberAndHour | Self::PerNumberAndDay => ProblemCode::NumberCooldown,
            Self::NumbersPerRange => ProblemCode::RangeCooldown,
            Self::PerDay => ProblemCode::TextBudgetUsed,
        }
    }
}

impl TextRefusal {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Paused(_) | Self::Pumping { .. } => ProblemCode::TextsPaused,
            Self::NumberInvalid => ProblemCode::NumberInvalid,
            Self::LineNotForTexts | Self::CountryNotServed => ProblemCode::NumberUnreachable,
            Self::NumberUnproven => ProblemCode::NumberUnproven,
            Self::LimitReached(reached) => reached.limit.code(),
            Self::Unavailable => ProblemCode::TextsUnavailable,
            Self::NotTaken(not_sent) if not_sent.is_about_the_number() => ProblemCode::NumberUnreachable,
            Self::NotTaken(_) => ProblemCode::MessageNotSent,
        }
    }

    /// The problem's code, as the log keeps it.
    pub(super) fn name(&self) -> &'static str {
        self.code().as_str()
    }

    /// The rule that refused, one of [`RULES`]; a limit has the name of its setting.
    pub(super) fn rule(&self) -> &'static str {
        match self {
            Self::Paused(_) => "texts_paused",
            Self::Pumping { .. } => "pumping",
            Self::NumberInvalid => "number_format",
            Self::LineNotForTexts => "line_type",
            Self::CountryNotServed => "text_countries",
            Self::NumberUnproven => "unproven_number",
            Self::LimitReached(reached) => reached.limit.setting(),
            Self::Unavailable => "no_provider",
            Self::NotTaken(_) => "provider_answers",
        }
    }

    /// What the rule saw, where there is more to tell than the rule itself.
    pub(super) fn details(&self) -> Option<Value> {
        match self {
            Self::Paused(Pause { since, reason }) => Some(json!({ "paused_at": timestamp(*since), "paused_reason": reason })),
            Self::Pumping { texted, used } => Some(json!({ "texted": texted, "used": used })),
            Self::LimitReached(LimitReached { allowed, seen, until, .. }) => {
                Some(json!({ "limit": allowed, "seen": seen, "until": timestamp(*until) }))
            }
            Self::NotTaken(not_sent) => Some(json!({ "providers": not_sent.answers })),
            Self::NumberInvalid | Self::LineNotForTexts | Self::CountryNotServed | Self::NumberUnproven | Self::Unavailable => None,
        }
    }
}

impl From<TextRefusal> for Problem {
    fn from(refusal: TextRefusal) -> Self {
        let problem = Problem::new(refusal.code());
        match refusal {
            TextRefusal::Paused(_) | TextRefusal::Pumping { .. } => problem.retry_after(PAUSE_SECONDS),
            TextRefusal::LimitReached(LimitReached { seconds, .. }) => problem.retry_after(seconds),
            TextRefusal::NumberInvalid
            | TextRefusal::LineNotForTexts
            | TextRefusal::CountryNotServed
            | TextRefusal::NumberUnproven
            | TextRefusal::Unavailable
            | TextRefusal::NotTaken(_) => problem,
        }
    }
}

fn of_answers(TextNotSent { answers }: &TextNotSent) -> String {
    let providers = answers.iter().map(|answer| format!("{} answered {} ({})", answer.provider, answer.answer.as_str(), answer.detail));
    format!("No provider took the text: {}.", providers.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_in_the_closed_list_and_every_word_of_it_is_one() {
        let (at, limits) = (DateTime::UNIX_EPOCH, [Limit::BetweenTexts, Limit::PerNumberAndHour, Limit::PerNumberAndDay]);
        let limits = limits.into_iter().chain([Limit::NumbersPerRange, Limit::PerDay]);
        let mut refusals = vec![
            TextRefusal::Paused(Pause { since: at, reason: String::new() }),
            TextRefusal::Pumping { texted: 50, used: 4 },
            TextRefusal::NumberInvalid,
            TextRefusal::LineNotForTexts,
            TextRefusal::CountryNotServed,
            TextRefusal::NumberUnproven,
        ];
        refusals.extend(limits.map(|limit| TextRefusal::LimitReached(LimitReached::new(limit, 1, 1, at, at))));
        refusals.extend([TextRefusal::Unavailable, TextRefusal::NotTaken(TextNotSent { answers: Vec::new() })]);
        assert_eq!(refusals.iter().map(TextRefusal::rule).collect::<Vec<_>>(), RULES);
    }
}
