//! The reasons why a text is not sent: the problem for the customer, and the entry in the log of texts for operators.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::providers::sms::TextNotSent;
use crate::storefront::sms_guard::guard_pause::{GuardPause, NewPause};
use crate::storefront::sms_guard::limit::LimitReached;
use crate::storefront::stores::Pause;

/// The `Retry-After` while an operator pauses texts: nobody knows until when.
const PAUSE_SECONDS: u64 = 600;

/// What a customer may read while the guard pauses texts to strangers.
const PAUSED_BY_GUARD: &str = "Texts to numbers like this one are paused. Please use email or your password.";

/// The closed list of [`TextRefusal::rule`].
pub const RULES: &[&str] = &[
    "texts_paused",
    "pumping",
    "number_format",
    "line_type",
    "text_countries",
    "unreachable_number",
    "unproven_number",
    "seconds_between_texts",
    "texts_per_number_and_hour",
    "texts_per_number_and_day",
    "daily_texts_per_number",
    "numbers_per_range",
    "unused_codes_per_range",
    "numbers_per_address_and_day",
    "texts_per_country_and_day",
    "unused_codes_per_country",
    "unused_codes_per_store",
    "texts_per_day",
    "texts_reserved_percent",
    "no_provider",
    "provider_answers",
];

/// The closed list of the problem codes of refused texts.
pub const CODES: &[&str] = &[
    "texts_paused",
    "number_invalid",
    "number_unreachable",
    "number_unproven",
    "number_cooldown",
    "range_cooldown",
    "rate_limited",
    "text_budget_used",
    "challenge_required",
    "texts_unavailable",
    "message_not_sent",
];

/// The reason why a text is not sent. Its `Display` text is the sentence for operators. Customers get the text of the problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextRefusal {
    #[error("The store's texts have been paused since {}: {}.", timestamp(.0.since), .0.reason)]
    Paused(Pause),
    #[error("The SMS guard has paused texts to strangers of {0}.")]
    PausedByGuard(GuardPause),
    #[error("This indicates SMS pumping, so the SMS guard paused texts to strangers of {}.", .0.pause)]
    Pumping(NewPause),
    #[error("The entered text is not a phone number.")]
    NumberInvalid,
    #[error("The number is a fixed line, a premium-rate number or of another kind that cannot receive texts.")]
    LineNotForTexts,
    #[error("The store does not send texts to the country of the number.")]
    CountryNotServed,
    #[error("An SMS provider reported at {} that the number cannot receive texts.", timestamp(*.0))]
    ReportedUnreachable(DateTime<Utc>),
    #[error("The account has not verified the number.")]
    NumberUnproven,
    #[error("{0}")]
    LimitReached(LimitReached),
    #[error("{0} The client was asked to solve a challenge.")]
    Challenged(Box<TextRefusal>),
    #[error("No SMS provider is configured, or that of the company cannot be used.")]
    Unavailable,
    #[error("{}", describe_answers(.0))]
    NotTaken(TextNotSent),
}

impl TextRefusal {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Paused(_) | Self::PausedByGuard(_) | Self::Pumping(_) => ProblemCode::TextsPaused,
            Self::NumberInvalid => ProblemCode::NumberInvalid,
            Self::LineNotForTexts | Self::CountryNotServed | Self::ReportedUnreachable(_) => ProblemCode::NumberUnreachable,
            Self::NumberUnproven => ProblemCode::NumberUnproven,
            Self::LimitReached(reached) => reached.limit.code(),
            Self::Challenged(_) => ProblemCode::ChallengeRequired,
            Self::Unavailable => ProblemCode::TextsUnavailable,
            Self::NotTaken(not_sent) if not_sent.is_about_the_number() => ProblemCode::NumberUnreachable,
            Self::NotTaken(_) => ProblemCode::MessageNotSent,
        }
    }

    /// Whether a solved challenge would let the text through.
    pub fn asks_for_challenge(&self) -> bool {
        matches!(self, Self::Challenged(_))
    }

    /// The pause that begins with the refusal, if one does.
    pub(super) fn new_pause(&self) -> Option<&NewPause> {
        match self {
            Self::Pumping(new) => Some(new),
            Self::Challenged(doubt) => doubt.new_pause(),
            _ => None,
        }
    }

    /// The code of the problem, for the log: one of [`CODES`].
    pub(super) fn name(&self) -> &'static str {
        self.code().as_str()
    }

    /// The rule that refused the text, one of [`RULES`]. A limit has the name of its setting.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Paused(_) | Self::PausedByGuard(_) => "texts_paused",
            Self::Pumping(_) => "pumping",
            Self::NumberInvalid => "number_format",
            Self::LineNotForTexts => "line_type",
            Self::CountryNotServed => "text_countries",
            Self::ReportedUnreachable(_) => "unreachable_number",
            Self::NumberUnproven => "unproven_number",
            Self::LimitReached(reached) => reached.limit.setting(),
            Self::Challenged(doubt) => doubt.rule(),
            Self::Unavailable => "no_provider",
            Self::NotTaken(_) => "provider_answers",
        }
    }

    /// The values that the rule decided on, if it has any.
    pub(super) fn details(&self) -> Option<Value> {
        match self {
            Self::Paused(Pause { since, reason }) => Some(json!({ "paused_at": timestamp(*since), "paused_reason": reason })),
            Self::PausedByGuard(pause) => Some(Value::Object(pause.details())),
            Self::Pumping(new) => Some(Value::Object(new.details())),
            Self::LimitReached(LimitReached { allowed, seen, until, .. }) => {
                Some(json!({ "limit": allowed, "seen": seen, "until": timestamp(*until) }))
            }
            Self::ReportedUnreachable(at) => Some(json!({ "reported_at": timestamp(*at) })),
            Self::Challenged(doubt) => doubt.details(),
            Self::NotTaken(not_sent) => Some(json!({ "providers": not_sent.answers })),
            Self::NumberInvalid | Self::LineNotForTexts | Self::CountryNotServed | Self::NumberUnproven | Self::Unavailable => None,
        }
    }
}

impl From<TextRefusal> for Problem {
    fn from(refusal: TextRefusal) -> Self {
        let problem = Problem::new(refusal.code());
        match refusal {
            TextRefusal::Paused(_) => problem.retry_after(PAUSE_SECONDS),
            TextRefusal::PausedByGuard(pause) | TextRefusal::Pumping(NewPause { pause, .. }) => {
                problem.detail(PAUSED_BY_GUARD).retry_after(pause.seconds)
            }
            TextRefusal::LimitReached(LimitReached { seconds, .. }) => problem.retry_after(seconds),
            TextRefusal::NumberInvalid
            | TextRefusal::LineNotForTexts
            | TextRefusal::CountryNotServed
            | TextRefusal::ReportedUnreachable(_)
            | TextRefusal::NumberUnproven
            | TextRefusal::Challenged(_)
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::storefront::sms_guard::limit::Limit;
    use crate::storefront::sms_guard::pumping::Codes;
    use crate::storefront::sms_guard::scope::Scope;

    #[test]
    fn the_closed_lists_contain_exactly_the_rules_and_their_codes() {
        let at = DateTime::UNIX_EPOCH;
        let pause = GuardPause { scope: Scope::Store, since: at, until: at, reason: String::new(), seconds: 1 };
        let mut refusals = vec![
            TextRefusal::Paused(Pause { since: at, reason: String::new() }),
            TextRefusal::Pumping(NewPause { pause: pause.clone(), codes: Codes { texted: 50, used: 4 }, level: 1 }),
            TextRefusal::NumberInvalid,
            TextRefusal::LineNotForTexts,
            TextRefusal::CountryNotServed,
            TextRefusal::ReportedUnreachable(at),
            TextRefusal::NumberUnproven,
        ];
        refusals.extend(Limit::ALL.map(|limit| TextRefusal::LimitReached(LimitReached::new(limit, 1, 1, at, at))));
        refusals.extend([TextRefusal::Unavailable, TextRefusal::NotTaken(TextNotSent { answers: Vec::new() })]);
        assert_eq!(refusals.iter().map(TextRefusal::rule).collect::<Vec<_>>(), RULES);
        assert_eq!(TextRefusal::PausedByGuard(pause).rule(), "texts_paused");
        refusals.push(TextRefusal::Challenged(Box::new(TextRefusal::NumberInvalid)));
        assert_eq!(refusals.iter().map(TextRefusal::name).collect::<BTreeSet<_>>(), CODES.iter().copied().collect());
    }
}
