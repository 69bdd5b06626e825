//! The rules of the guard, in their order: a pure function of the store's limits and the counters.

use chrono::{DateTime, TimeDelta, Utc};

use crate::contact::{Line, PhoneNumber};
use crate::storefront::sending::sms_guard::refusal::{Limit, LimitReached, TextRefusal};
use crate::storefront::stores::TextLimits;

/// The period in which texts are counted for the detection of SMS pumping.
const PUMPING_WINDOW: TimeDelta = TimeDelta::minutes(10);
/// The period in which the numbers of one range are counted.
pub(super) const RANGE_WINDOW: TimeDelta = TimeDelta::minutes(10);
/// The number of texted codes within the period from which on their conversion is judged.
const PUMPING_TEXTS: i64 = 50;
/// The minimum percentage of texted codes that are used in legitimate traffic.
const PUMPING_PERCENT: i64 = 10;

/// The start of the period for the detection of SMS pumping. Texts from before the end of a pause do not count, so they cannot cause a
/// second pause.
pub(super) fn pumping_since(limits: &TextLimits, now: DateTime<Utc>) -> DateTime<Utc> {
    limits.resumed_at.unwrap_or(DateTime::<Utc>::MIN_UTC).max(now - PUMPING_WINDOW)
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
    /// The count of codes texted since [`pumping_since`], and how many of them were used.
    pub(super) texted: i64,
    pub(super) used: i64,
}

#[derive(Clone, Debug)]
pub struct Recipient {
    pub number: PhoneNumber,
    /// Whether the account that the text is for has not proven the number. The number may then belong to a stranger, who must not
    /// get into the account by reading its texts.
    pub is_unproven: bool,
}

impl Recipient {
    /// A recipient who claims the number or has proven it.
    pub fn of(number: PhoneNumber) -> Self {
        Self { number, is_unproven: false }
    }
}

/// Judges whether one more text may be sent to the recipient. The first rule that refuses decides.
pub(super) fn judge(
    limits: &TextLimits,
    history: &History,
    Recipient { number, is_unproven }: &Recipient,
    has_provider: bool,
    now: DateTime<Utc>,
) -> Result<(), TextRefusal> {
    if let Some(pause) = &limits.pause {
        return Err(TextRefusal::Paused(pause.clone()));
    }
    if history.texted >= PUMPING_TEXTS && history.used * 100 < history.texted * PUMPING_PERCENT {
        return Err(TextRefusal::Pumping { texted: history.texted, used: history.used });
    }
    if number.line() == Line::NotForTexts {
        return Err(TextRefusal::LineNotForTexts);
    }
    if !is_served(&limits.countries, number) {
        return Err(TextRefusal::CountryNotServed);
    }
    if *is_unproven {
        return Err(TextRefusal::NumberUnproven);
    }
    if let Some(reached) = limit_of_number(limits, &history.to_number, now) {
        return Err(TextRefusal::LimitReached(reached));
    }
    if history.to_number.first().is_none_or(|last| *last <= now - RANGE_WINDOW) && history.others_in_range >= limits.numbers_per_range {
        let until = history.range_since.unwrap_or(now) + RANGE_WINDOW;
        let (allowed, seen) = (limits.numbers_per_range, history.others_in_range);
        return Err(TextRefusal::LimitReached(LimitReached::new(Limit::NumbersPerRange, allowed, seen, until, now)));
    }
    if history.today >= limits.per_day {
        let until = history.today_since.unwrap_or(now) + TimeDelta::days(1);
        return Err(TextRefusal::LimitReached(LimitReached::new(Limit::PerDay, limits.per_day, history.today, until, now)));
    }
    if has_provider { Ok(()) } else { Err(TextRefusal::Unavailable) }
}

fn is_served(countries: &[String], number: &PhoneNumber) -> bool {
    countries.is_empty() || number.country().is_some_and(|country| countries.contains(&country))
}

/// The one of the three limits of a number that lasts longest.
fn limit_of_number(limits: &TextLimits, texts: &[DateTime<Utc>], now: DateTime<Utc>) -> Option<LimitReached> {
    let per_window = |limit, allowed: i64, window| {
        // The n-th latest text must leave the window before another one is allowed. A limit of zero never allows one.
        let until = match usize::try_from(allowed).unwrap_or(0).checked_sub(1) {
            Some(nth) => *texts.get(nth)? + window,
            None => now + window,
        };
        let seen = texts.iter().filter(|at| **at > now - window).count();
        Some(LimitReached::new(limit, allowed, i64::try_from(seen).unwrap_or(i64::MAX), until, now))
    };
    let between = texts.first().map(|last| {
        let (allowed, seen) = (limits.between_texts.num_seconds(), (now - *last).num_seconds());
        LimitReached::new(Limit::BetweenTexts, allowed, seen, *last + limits.between_texts, now)
    });
    let hour = per_window(Limit::PerNumberAndHour, limits.per_number_and_hour, TimeDelta::hours(1));
    let day = per_window(Limit::PerNumberAndDay, limits.per_number_and_day, TimeDelta::days(1));
    [between, hour, day].into_iter().flatten().filter(|reached| reached.until > now).max_by_key(|reached| reached.until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storefront::stores::Pause;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn limits() -> TextLimits {
        TextLimits {
            pause: None,
            resumed_at: None,
            countries: Vec::new(),
            between_texts: TimeDelta::seconds(30),
            per_number_and_hour: 6,
            per_number_and_day: 12,
            numbers_per_range: 20,
            per_day: 1_000,
        }
    }

    fn pause() -> Option<Pause> {
        Some(Pause { since: NOW, reason: "by hand".to_owned() })
    }

    /// The code of the customer's problem, and the rule that refused the text.
    fn refusal(limits: &TextLimits, history: &History, number: &str) -> Option<(&'static str, &'static str)> {
        judge(limits, history, &to(number), true, NOW).err().map(|refusal| (refusal.name(), refusal.rule()))
    }

    fn reached(limit: Limit, allowed: i64, seen: i64, seconds: i64) -> TextRefusal {
        TextRefusal::LimitReached(LimitReached::new(limit, allowed, seen, NOW + TimeDelta::seconds(seconds), NOW))
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
        let paused = TextLimits { pause: pause(), ..limits() };
        let british = TextLimits { countries: vec!["GB".to_owned()], ..limits() };
        let full_range = History { others_in_range: 20, range_since: Some(ago(60)), ..History::default() };
        let (hour, day) = (Some(("number_cooldown", "texts_per_number_and_hour")), Some(("number_cooldown", "texts_per_number_and_day")));
        let known_in_full_range = History { to_number: vec![ago(60)], ..full_range.clone() };
        for (what, limits, history, number, expected) in [
            ("nothing against it", &limits(), &none, MOBILE, None),
            ("paused", &paused, &none, FIXED, Some(("texts_paused", "texts_paused"))),
            ("50 texted, 4 used", &limits(), &History { texted: 50, used: 4, ..none.clone() }, MOBILE, Some(("texts_paused", "pumping"))),
            ("50 texted, 5 used", &limits(), &History { texted: 50, used: 5, ..none.clone() }, MOBILE, None),
            ("49 texted, none used", &limits(), &History { texted: 49, ..none.clone() }, MOBILE, None),
            ("a fixed line", &limits(), &to_number(vec![ago(1)]), FIXED, Some(("number_unreachable", "line_type"))),
            ("another country", &british, &none, MOBILE, Some(("number_unreachable", "text_countries"))),
            ("29 s after the last", &limits(), &to_number(vec![ago(29)]), MOBILE, Some(("number_cooldown", "seconds_between_texts"))),
            ("30 s after the last", &limits(), &to_number(vec![ago(30)]), MOBILE, None),
            ("six in an hour", &limits(), &to_number((0..6).map(|n| ago(600 + n)).collect()), MOBILE, hour),
            ("five in an hour", &limits(), &to_number((0..5).map(|n| ago(600 + n)).collect()), MOBILE, None),
            ("twelve in a day", &limits(), &to_number((0..12).map(|n| ago(7_200 + 3_600 * n)).collect()), MOBILE, day),
            ("a twenty-first number of a range", &limits(), &full_range, MOBILE, Some(("range_cooldown", "numbers_per_range"))),
            ("a number the range has counted", &limits(), &known_in_full_range, MOBILE, None),
            (
                "the budget is used",
                &limits(),
                &History { today: 1_000, ..none.clone() },
                MOBILE,
                Some(("text_budget_used", "texts_per_day")),
            ),
        ] {
            assert_eq!(refusal(limits, history, number), expected, "{what}");
        }
        let unavailable = judge(&limits(), &none, &to(MOBILE), false, NOW);
        assert_eq!(unavailable, Err(TextRefusal::Unavailable));
        let unproven = |limits: &TextLimits| judge(limits, &none, &Recipient { is_unproven: true, ..to(MOBILE) }, true, NOW);
        assert_eq!(
            (unproven(&limits()), unproven(&paused)),
            (Err(TextRefusal::NumberUnproven), Err(TextRefusal::Paused(pause().unwrap())))
        );
    }

    #[test]
    fn the_first_rule_that_refuses_decides() {
        let everything = TextLimits { pause: pause(), countries: vec!["GB".to_owned()], per_day: 1, ..limits() };
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
        let mut next = |expected: &str, mend: fn(&mut TextLimits, &mut History)| {
            let refused = judge(&limits, &history, &to(MOBILE), false, NOW).map_err(|refusal| refusal.name());
            assert_eq!(refused, Err(expected));
            mend(&mut limits, &mut history);
        };
        next("texts_paused", |limits, _| limits.pause = None);
        next("texts_paused", |_, history| history.used = 50);
        next("number_unreachable", |limits, _| limits.countries.clear());
        next("number_cooldown", |_, history| history.to_number.clear());
        next("range_cooldown", |_, history| history.others_in_range = 0);
        next("text_budget_used", |limits, _| limits.per_day = 2);
        next("texts_unavailable", |_, _| {});
    }

    #[test]
    fn a_limit_of_zero_allows_nothing() {
        let none = History::default();
        for (limits, refused) in [
            (TextLimits { per_number_and_hour: 0, ..limits() }, reached(Limit::PerNumberAndHour, 0, 0, 3_600)),
            (TextLimits { per_number_and_day: 0, ..limits() }, reached(Limit::PerNumberAndDay, 0, 0, 86_400)),
            (TextLimits { numbers_per_range: 0, ..limits() }, reached(Limit::NumbersPerRange, 0, 0, 600)),
            (TextLimits { per_day: 0, ..limits() }, reached(Limit::PerDay, 0, 0, 86_400)),
        ] {
            assert_eq!(judge(&limits, &none, &to(MOBILE), true, NOW), Err(refused));
        }
        let unlimited = TextLimits { between_texts: TimeDelta::zero(), ..limits() };
        assert_eq!(
            judge(&unlimited, &History { to_number: vec![NOW], ..none }, &to(MOBILE), true, NOW),
            Ok(()),
            "no time between texts is no limit"
        );
    }

    #[test]
    fn a_reached_limit_has_its_value_the_count_and_the_end() {
        let history = History { to_number: vec![NOW - TimeDelta::seconds(12)], ..History::default() };
        let refused = judge(&limits(), &history, &to(MOBILE), true, NOW);
        assert_eq!(refused, Err(reached(Limit::BetweenTexts, 30, 12, 18)));
        // Of several reached limits, the one that lasts longest decides.
        let history = History { to_number: (0..6).map(|n| NOW - TimeDelta::seconds(12 + n)).collect(), ..History::default() };
        let refused = judge(&limits(), &history, &to(MOBILE), true, NOW).unwrap_err();
        assert_eq!(refused, reached(Limit::PerNumberAndHour, 6, 6, 3_583));
        assert_eq!(
            refused.to_string(),
            "Texts sent to the number within one hour: 6; the limit is 6. The next text is allowed at 1970-01-01T00:59:43.000+00:00."
        );
    }
}
