//! The reasons why a text is not sent: the problem for the customer, and the entry in the log of texts for operators.

use std::fmt;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::kernel::clock::{seconds_until, timestamp};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::providers::sms::TextNotSent;
use crate::storefront::stores::Pause;

/// The `Retry-After` while texts are paused. The pause itself lasts until an operator ends it.
const PAUSE_SECONDS: u64 = 600;

/// The closed list of [`TextRefusal::rule`].
pub const RULES: &[&str] = &[
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

/// The reason why a text is not sent. Its `Display` text is the sentence for operators. Customers get the text of the problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextRefusal {
    #[error("The store's texts have been paused since {}: {}.", timestamp(.0.since), .0.reason)]
    Paused(Pause),
    #[error(
        "{texted} codes were texted within ten minutes, and only {used} of them were used. This indicates SMS pumping, so the SMS guard \
         paused the store's texts."
    )]
    Pumping { texted: i64, used: i64 },
    #[error("The entered text is not a phone number.")]
    NumberInvalid,
    #[error("The number is a fixed line, a premium-rate number or of another kind that cannot receive texts.")]
    LineNotForTexts,
    #[error("The store does not send texts to the country of the number.")]
    CountryNotServed,
    #[error("The account has not verified the number.")]
    NumberUnproven,
    #[error("{0}")]
    LimitReached(LimitReached),
    #[error("No SMS provider is configured.")]
    Unavailable,
    #[error("{}", describe_answers(.0))]
    NotTaken(TextNotSent),
}

/// A limit of the store that does not allow another text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitReached {
    pub(super) limit: Limit,
    /// The value of the setting: seconds for [`Limit::BetweenTexts`], otherwise a number of texts or of phone numbers.
    pub(super) allowed: i64,
    /// The value that the guard counted, in the same unit.
    pub(super) seen: i64,
    /// When the limit allows another text.
    pub(super) until: DateTime<Utc>,
    /// Whole seconds from the refusal until then.
    pub(super) seconds: u64,
}

/// The limits of a store. Each corresponds to a setting ([`Limit::setting`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
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
            Limit::BetweenTexts => {
                write!(f, "The last text to the number was sent {seen} seconds earlier; the minimum interval is {allowed} seconds.")?;
            }
            Limit::PerNumberAndHour => write!(f, "Texts sent to the number within one hour: {seen}; the limit is {allowed}.")?,
            Limit::PerNumberAndDay => write!(f, "Texts sent to the number within 24 hours: {seen}; the limit is {allowed}.")?,
            Limit::NumbersPerRange => {
                write!(f, "Other numbers of the range texted within ten minutes: {seen}; the limit is {allowed}.")?;
            }
            Limit::PerDay => write!(f, "Texts sent by the store within 24 hours: {seen}; the limit is {allowed}.")?,
        }
        write!(f, " The next text is allowed at {}.", timestamp(*until))
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

    /// The code of the problem, for the log.
    pub(super) fn name(&self) -> &'static str {
        self.code().as_str()
    }

    /// The rule that refused the text, one of [`RULES`]. A limit has the name of its setting.
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

    /// The values that the rule decided on, if it has any.
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

fn describe_answers(TextNotSent { answers }: &TextNotSent) -> String {
    let providers = answers.iter().map(|answer| format!("{} returned {} ({})", answer.provider, answer.answer.as_str(), answer.detail));
    format!("No SMS provider accepted the text: {}.", providers.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_list_contains_exactly_the_rules() {
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
