//! The rules of the guard, in their order: a pure function of the store's limits and the counters.

use chrono::{DateTime, TimeDelta, Utc};

use crate::contact::{Line, PhoneNumber};
use crate::kernel::clock::seconds_until;
use crate::kernel::problem::{Problem, ProblemCode};

/// The period in which texts are counted for the detection of SMS pumping.
const PUMPING_WINDOW: TimeDelta = TimeDelta::minutes(10);
/// The period in which the numbers of one range are counted.
pub(super) const RANGE_WINDOW: TimeDelta = TimeDelta::minutes(10);
/// The number of texted codes within the period from which on their conversion is judged.
const PUMPING_TEXTS: i64 = 50;
/// The minimum percentage of texted codes that are used in legitimate traffic.
const PUMPING_PERCENT: i64 = 10;
/// The `Retry-After` in seconds while texts are paused. The pause itself lasts until an operator ends it.
const PAUSE_SECONDS: u64 = 600;

/// The limits of one store.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub(super) is_paused: bool,
    /// When an operator last ended a pause.
    pub(super) resumed_at: Option<DateTime<Utc>>,
    pub(super) countries: Vec<String>,
    pub(super) between_texts: TimeDelta,
    pub(super) per_number_and_hour: usize,
    pub(super) per_number_and_day: usize,
    pub(super) numbers_per_range: i64,
    pub(super) per_day: i64,
}

impl Limits {
    /// The start of the period for the detection of SMS pumping. Texts from before the end of a pause do not count, so they
    /// cannot cause a second pause.
    pub(super) fn pumping_since(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        self.resumed_at.unwrap_or(DateTime::<Utc>::MIN_UTC).max(now - PUMPING_WINDOW)
    }
}

/// The texts that the guard allowed within the last 24 hours.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// When texts were sent to this number, newest first.
    pub(super) to_number: Vec<DateTime<Utc>>,
    /// The count of other numbers of the same range within [`RANGE_WINDOW`], and when the first of their texts was sent.
    pub(super) others_in_range: i64,
    pub(super) range_since: Option<DateTime<Utc>>,
    /// The count of all texts of the store, and when the first of them was sent.
    pub(super) today: i64,
    pub(super) today_since: Option<DateTime<Utc>>,
    /// The count of codes texted since [`Limits::pumping_since`], and how many of them were used.
    pub(super) texted: i64,
    pub(super) used: i64,
}

/// The recipient of a text.
#[derive(Clone, Debug)]
pub(in crate::storefront) struct Recipient {
    pub(in crate::storefront) number: PhoneNumber,
    /// Whether the account that the text is for has not proven the number. The number may then belong to a stranger, who must not
    /// get into the account by reading its texts.
    pub(in crate::storefront) is_unproven: bool,
}

impl Recipient {
    /// A recipient who claims the number or has proven it.
    pub(in crate::storefront) fn of(number: PhoneNumber) -> Self {
        Self { number, is_unproven: false }
    }
}

/// The reason why a text is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::storefront) enum Refusal {
    #[error("texts are paused")]
    Paused,
    #[error("{texted} codes texted, {used} used: this looks like SMS pumping")]
    Pumping { texted: i64, used: i64 },
    #[error("this is not a valid phone number")]
    NumberInvalid,
    #[error("the number cannot receive texts, or the store does not send texts to its country")]
    NumberUnreachable,
    #[error("the number is not verified")]
    NumberUnproven,
    #[error("the number is cooling down")]
    NumberCooldown { seconds: u64 },
    #[error("the number's range is cooling down")]
    RangeCooldown { seconds: u64 },
    #[error("the store's budget is used")]
    BudgetUsed { seconds: u64 },
    #[error("the store has no provider for texts")]
    Unavailable,
}

impl Refusal {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Paused | Self::Pumping { .. } => ProblemCode::TextsPaused,
            Self::NumberInvalid => ProblemCode::NumberInvalid,
            Self::NumberUnreachable => ProblemCode::NumberUnreachable,
            Self::NumberUnproven => ProblemCode::NumberUnproven,
            Self::NumberCooldown { .. } => ProblemCode::NumberCooldown,
            Self::RangeCooldown { .. } => ProblemCode::RangeCooldown,
            Self::BudgetUsed { .. } => ProblemCode::TextBudgetUsed,
            Self::Unavailable => ProblemCode::TextsUnavailable,
        }
    }

    /// The code of the problem, as the log stores it.
    pub(super) fn name(&self) -> &'static str {
        self.code().as_str()
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let problem = Problem::new(refusal.code());
        match refusal {
            Refusal::Paused | Refusal::Pumping { .. } => problem.retry_after(PAUSE_SECONDS),
            Refusal::NumberCooldown { seconds } | Refusal::RangeCooldown { seconds } | Refusal::BudgetUsed { seconds } => {
                problem.retry_after(seconds)
            }
            Refusal::NumberInvalid | Refusal::NumberUnreachable | Refusal::NumberUnproven | Refusal::Unavailable => problem,
        }
    }
}

/// Judges whether one more text may be sent to the recipient. The first rule that refuses decides.
pub(super) fn judge(
    limits: &Limits,
    history: &History,
    Recipient { number, is_unproven }: &Recipient,
    has_provider: bool,
    now: DateTime<Utc>,
) -> Result<(), Refusal> {
    if limits.is_paused {
        return Err(Refusal::Paused);
    }
    if history.texted >= PUMPING_TEXTS && history.used * 100 < history.texted * PUMPING_PERCENT {
        return Err(Refusal::Pumping { texted: history.texted, used: history.used });
    }
    if number.line() == Line::NotForTexts || !is_served(&limits.countries, number) {
        return Err(Refusal::NumberUnreachable);
    }
    if *is_unproven {
        return Err(Refusal::NumberUnproven);
    }
    if let Some(until) = cooling_until(limits, &history.to_number, now).filter(|until| *until > now) {
        return Err(Refusal::NumberCooldown { seconds: seconds_until(until, now) });
    }
    if history.to_number.first().is_none_or(|last| *last <= now - RANGE_WINDOW) && history.others_in_range >= limits.numbers_per_range {
        let until = history.range_since.unwrap_or(now) + RANGE_WINDOW;
        return Err(Refusal::RangeCooldown { seconds: seconds_until(until, now) });
    }
    if history.today >= limits.per_day {
        let until = history.today_since.unwrap_or(now) + TimeDelta::days(1);
        return Err(Refusal::BudgetUsed { seconds: seconds_until(until, now) });
    }
    if has_provider { Ok(()) } else { Err(Refusal::Unavailable) }
}

fn is_served(countries: &[String], number: &PhoneNumber) -> bool {
    countries.is_empty() || number.country().is_some_and(|country| countries.contains(&country))
}

/// The latest end of the three cooldowns of a number.
fn cooling_until(limits: &Limits, texts: &[DateTime<Utc>], now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    // The n-th latest text must leave the window before another one is allowed. A limit of zero never allows one.
    let room = |per_window: usize, window| match per_window.checked_sub(1) {
        Some(nth) => texts.get(nth).map(|at| *at + window),
        None => Some(now + window),
    };
    let between = texts.first().map(|last| *last + limits.between_texts);
    let hour = room(limits.per_number_and_hour, TimeDelta::hours(1));
    let day = room(limits.per_number_and_day, TimeDelta::days(1));
    [between, hour, day].into_iter().flatten().max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn limits() -> Limits {
        Limits {
            is_paused: false,
            resumed_at: None,
            countries: Vec::new(),
            between_texts: TimeDelta::seconds(30),
            per_number_and_hour: 6,
            per_number_and_day: 12,
            numbers_per_range: 20,
            per_day: 1_000,
        }
    }

    fn refusal(limits: &Limits, history: &History, number: &str) -> Option<&'static str> {
        judge(limits, history, &to(number), true, NOW).err().map(|refusal| refusal.name())
    }

    fn to(number: &str) -> Recipient {
        Recipient::of(PhoneNumber::parse(number).unwrap())
    }

    const MOBILE: &str = "+12015550123";
    const FIXED: &str = "+442079460018";

    #[test]
    fn the_table_of_decisions_section_5() {
        let ago = |seconds| NOW - TimeDelta::seconds(seconds);
        let to_number = |texts: Vec<DateTime<Utc>>| History { to_number: texts, ..History::default() };
        let none = History::default();
        let paused = Limits { is_paused: true, ..limits() };
        let british = Limits { countries: vec!["GB".to_owned()], ..limits() };
        let full_range = History { others_in_range: 20, range_since: Some(ago(60)), ..History::default() };
        let known_in_full_range = History { to_number: vec![ago(60)], ..full_range.clone() };
        for (what, limits, history, number, expected) in [
            ("nothing against it", &limits(), &none, MOBILE, None),
            ("paused", &paused, &none, FIXED, Some("texts_paused")),
            ("50 texted, 4 used", &limits(), &History { texted: 50, used: 4, ..none.clone() }, MOBILE, Some("texts_paused")),
            ("50 texted, 5 used", &limits(), &History { texted: 50, used: 5, ..none.clone() }, MOBILE, None),
            ("49 texted, none used", &limits(), &History { texted: 49, ..none.clone() }, MOBILE, None),
            ("a fixed line", &limits(), &to_number(vec![ago(1)]), FIXED, Some("number_unreachable")),
            ("another country", &british, &none, MOBILE, Some("number_unreachable")),
            ("29 s after the last", &limits(), &to_number(vec![ago(29)]), MOBILE, Some("number_cooldown")),
            ("30 s after the last", &limits(), &to_number(vec![ago(30)]), MOBILE, None),
            ("six in an hour", &limits(), &to_number((0..6).map(|n| ago(600 + n)).collect()), MOBILE, Some("number_cooldown")),
            ("five in an hour", &limits(), &to_number((0..5).map(|n| ago(600 + n)).collect()), MOBILE, None),
            ("twelve in a day", &limits(), &to_number((0..12).map(|n| ago(7_200 + 3_600 * n)).collect()), MOBILE, Some("number_cooldown")),
            ("a twenty-first number of a range", &limits(), &full_range, MOBILE, Some("range_cooldown")),
            ("a number the range has counted", &limits(), &known_in_full_range, MOBILE, None),
            ("the budget is used", &limits(), &History { today: 1_000, ..none.clone() }, MOBILE, Some("text_budget_used")),
        ] {
            assert_eq!(refusal(limits, history, number), expected, "{what}");
        }
        let nobody = judge(&limits(), &none, &to(MOBILE), false, NOW);
        assert_eq!(nobody, Err(Refusal::Unavailable));
        let unproven = |limits: &Limits| judge(limits, &none, &Recipient { is_unproven: true, ..to(MOBILE) }, true, NOW);
        assert_eq!((unproven(&limits()), unproven(&paused)), (Err(Refusal::NumberUnproven), Err(Refusal::Paused)));
    }

    #[test]
    fn the_first_rule_that_refuses_decides() {
        let everything = Limits { is_paused: true, countries: vec!["GB".to_owned()], per_day: 1, ..limits() };
        let ago = |seconds| NOW - TimeDelta::seconds(seconds);
        let busy = History {
            to_number: vec![ago(1)],
            others_in_range: 20,
            range_since: Some(ago(60)),
            today: 1,
            today_since: Some(ago(60)),
            texted: 50,
            used: 0,
        };
        let (mut limits, mut history) = (everything, busy);
        let mut next = |expected: &str, mend: fn(&mut Limits, &mut History)| {
            let refused = judge(&limits, &history, &to(MOBILE), false, NOW).map_err(|refusal| refusal.name());
            assert_eq!(refused, Err(expected));
            mend(&mut limits, &mut history);
        };
        next("texts_paused", |limits, _| limits.is_paused = false);
        next("texts_paused", |_, history| history.used = 50);
        next("number_unreachable", |limits, _| limits.countries.clear());
        next("number_cooldown", |_, history| history.to_number.clear());
        next("range_cooldown", |_, history| history.others_in_range = 0);
        next("text_budget_used", |limits, _| limits.per_day = 2);
        next("texts_unavailable", |_, _| {});
    }

    #[test]
    fn a_limit_of_none_lets_none_through() {
        let none = History::default();
        for (limits, refused) in [
            (Limits { per_number_and_hour: 0, ..limits() }, Refusal::NumberCooldown { seconds: 3_600 }),
            (Limits { per_number_and_day: 0, ..limits() }, Refusal::NumberCooldown { seconds: 86_400 }),
            (Limits { numbers_per_range: 0, ..limits() }, Refusal::RangeCooldown { seconds: 600 }),
            (Limits { per_day: 0, ..limits() }, Refusal::BudgetUsed { seconds: 86_400 }),
        ] {
            assert_eq!(judge(&limits, &none, &to(MOBILE), true, NOW), Err(refused));
        }
        let unlimited = Limits { between_texts: TimeDelta::zero(), ..limits() };
        assert_eq!(
            judge(&unlimited, &History { to_number: vec![NOW], ..none }, &to(MOBILE), true, NOW),
            Ok(()),
            "no time between texts is no limit"
        );
    }

    #[test]
    fn a_cooling_number_is_told_how_long() {
        let history = History { to_number: vec![NOW - TimeDelta::seconds(12)], ..History::default() };
        let refused = judge(&limits(), &history, &to(MOBILE), true, NOW);
        assert_eq!(refused, Err(Refusal::NumberCooldown { seconds: 18 }));
    }
}
