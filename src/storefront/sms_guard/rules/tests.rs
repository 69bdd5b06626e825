//! The table of decisions, section 5.

use super::*;
use crate::storefront::sms_guard::limit::{Limit, LimitReached};
use crate::storefront::sms_guard::pumping::Codes;
use crate::storefront::stores::{Opening, Pause};

const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

fn limits() -> TextLimits {
    TextLimits {
        pause: None,
        countries: Vec::new(),
        between_texts: TimeDelta::seconds(30),
        per_number_and_hour: 6,
        per_number_and_day: 12,
        numbers_per_range: 20,
        numbers_per_address_and_day: 10,
        per_country_and_day: 1_000,
        per_day: 1_000,
        reserved_percent: 30,
        unused_codes_per_range: 5,
        unused_codes_per_country: 10,
        unused_codes_per_store: 50,
        used_codes_percent: 20,
        opening: None,
    }
}

/// Those of a store that opens for another hour.
fn opening() -> TextLimits {
    TextLimits { opening: Some(Opening { until: NOW + TimeDelta::hours(1), texts: 500 }), ..limits() }
}

fn pause() -> Option<Pause> {
    Some(Pause { since: NOW, reason: "by hand".to_owned() })
}

/// The code of the customer's problem, and the rule that refused the text.
fn refusal(limits: &TextLimits, seen: &Seen, number: &str) -> Option<(&'static str, &'static str)> {
    judge((limits, Strictness::Usual), LIMITS, seen, &to(number), NOW).err().map(|refusal| (refusal.name(), refusal.rule()))
}

fn reached(limit: Limit, allowed: i64, seen: i64, seconds: i64) -> TextRefusal {
    TextRefusal::LimitReached(LimitReached::new(limit, allowed, seen, NOW + TimeDelta::seconds(seconds), NOW))
}

fn to(number: &str) -> Recipient {
    Recipient::stranger(PhoneNumber::parse(number).unwrap())
}

const MOBILE: &str = "+12015550123";
const LIMITS: DeploymentLimits = DeploymentLimits { daily_texts_per_number: 20, unreachable_for: TimeDelta::days(7) };
const FIXED: &str = "+442079460018";

/// Ripe codes, over all periods.
fn converted(texted: i64, used: i64) -> Conversion {
    Conversion { periods: [Codes { texted, used }; 3], under_way: 0, used_today: used }
}

fn tally(texted: i64, used: i64) -> Tally {
    Tally { conversion: converted(texted, used), ..Tally::default() }
}

/// Codes to countries where the store has no customers.
fn store(texted: i64, used: i64) -> Seen {
    Seen { store: elsewhere(texted, used), ..Seen::default() }
}

fn elsewhere(texted: i64, used: i64) -> WholeStore {
    WholeStore { elsewhere: converted(texted, used), used_today: used, ..WholeStore::default() }
}

fn range(texted: i64, used: i64) -> Seen {
    Seen { range: converted(texted, used), ..Seen::default() }
}

/// Nothing used in the country, and so much in others.
fn country(texted: i64, used_today: i64) -> Seen {
    Seen { country: tally(texted, 0), store: WholeStore { used_today, ..WholeStore::default() }, ..Seen::default() }
}

/// Codes under way to the range, to the country, and to all countries without customers of a store where sixty are used.
fn under_way(range: i64, country: i64, store: i64) -> Seen {
    let mut seen = self::country(0, 60);
    (seen.range.under_way, seen.country.conversion.under_way, seen.store.elsewhere.under_way) = (range, country, store);
    seen
}

fn in_country(today: i64, strangers_today: i64) -> Tally {
    Tally { today, strangers_today, ..Tally::default() }
}

fn today(today: i64, strangers_today: i64) -> WholeStore {
    WholeStore { today, strangers_today, ..WholeStore::default() }
}

#[test]
fn the_table_of_decisions_section_5() {
    let ago = |seconds| NOW - TimeDelta::seconds(seconds);
    let to_number = |texts: Vec<DateTime<Utc>>| Seen { to_number: texts, ..Seen::default() };
    let none = Seen::default();
    let paused = TextLimits { pause: pause(), ..limits() };
    let british = TextLimits { countries: vec!["GB".to_owned()], ..limits() };
    let full_range = Seen { others_in_range: 20, range_since: Some(ago(60)), ..Seen::default() };
    let (hour, day) = (Some(("number_cooldown", "texts_per_number_and_hour")), Some(("number_cooldown", "texts_per_number_and_day")));
    let known_in_full_range = Seen { to_number: vec![ago(60)], ..full_range.clone() };
    let (address, everywhere) =
        (Some(("rate_limited", "numbers_per_address_and_day")), Some(("number_cooldown", "daily_texts_per_number")));
    let of_country = Some(("range_cooldown", "texts_per_country_and_day"));
    let (budget, reserved) = (Some(("text_budget_used", "texts_per_day")), Some(("text_budget_used", "texts_reserved_percent")));
    for (what, limits, seen, number, expected) in [
        ("nothing against it", &limits(), &none, MOBILE, None),
        ("paused", &paused, &none, FIXED, Some(("texts_paused", "texts_paused"))),
        ("50 texted, 9 used", &limits(), &store(50, 9), MOBILE, Some(("texts_paused", "pumping"))),
        ("50 texted, 10 used", &limits(), &store(50, 10), MOBILE, None),
        ("49 texted, none used", &limits(), &store(49, 0), MOBILE, None),
        ("5 texted to the range, none used", &limits(), &range(5, 0), MOBILE, Some(("texts_paused", "pumping"))),
        ("5 texted to the range, one used", &limits(), &range(5, 1), MOBILE, None),
        ("10 texted to a country of many", &limits(), &country(10, 60), MOBILE, Some(("texts_paused", "pumping"))),
        ("10 texted to the only country", &limits(), &country(10, 0), MOBILE, None),
        ("a fixed line", &limits(), &to_number(vec![ago(1)]), FIXED, Some(("number_unreachable", "line_type"))),
        ("another country", &british, &none, MOBILE, Some(("number_unreachable", "text_countries"))),
        ("reported a week ago", &limits(), &Seen { reported_unreachable: Some(NOW - TimeDelta::days(7)), ..none.clone() }, MOBILE, None),
        (
            "reported later",
            &limits(),
            &Seen { reported_unreachable: Some(NOW - TimeDelta::days(6)), ..none.clone() },
            MOBILE,
            Some(("number_unreachable", "unreachable_number")),
        ),
        ("29 s after the last", &limits(), &to_number(vec![ago(29)]), MOBILE, Some(("number_cooldown", "seconds_between_texts"))),
        ("30 s after the last", &limits(), &to_number(vec![ago(30)]), MOBILE, None),
        ("six in an hour", &limits(), &to_number((0..6).map(|n| ago(600 + n)).collect()), MOBILE, hour),
        ("five in an hour", &limits(), &to_number((0..5).map(|n| ago(600 + n)).collect()), MOBILE, None),
        ("twelve in a day", &limits(), &to_number((0..12).map(|n| ago(7_200 + 3_600 * n)).collect()), MOBILE, day),
        ("a twenty-first number of a range", &limits(), &full_range, MOBILE, Some(("range_cooldown", "numbers_per_range"))),
        ("a number the range has counted", &limits(), &known_in_full_range, MOBILE, None),
        ("twenty by all stores", &limits(), &Seen { everywhere: 20, ..none.clone() }, MOBILE, everywhere),
        ("five of the range under way", &limits(), &under_way(5, 0, 0), MOBILE, Some(("range_cooldown", "unused_codes_per_range"))),
        ("ten of a country under way", &limits(), &under_way(0, 10, 60), MOBILE, Some(("range_cooldown", "unused_codes_per_country"))),
        ("fifty without customers under way", &limits(), &under_way(0, 0, 50), MOBILE, Some(("range_cooldown", "unused_codes_per_store"))),
        ("ten numbers of an address", &limits(), &Seen { unused_of_address: 10, ..none.clone() }, MOBILE, address),
        ("and as many used ones", &limits(), &Seen { unused_of_address: 10, used_of_address: 1, ..none.clone() }, MOBILE, None),
        ("the country has its texts", &limits(), &Seen { country: in_country(1_000, 0), ..none.clone() }, MOBILE, of_country),
        ("strangers of the country have theirs", &limits(), &Seen { country: in_country(700, 700), ..none.clone() }, MOBILE, of_country),
        ("the budget is used", &limits(), &Seen { store: today(1_000, 0), ..none.clone() }, MOBILE, budget),
        ("strangers have used theirs", &limits(), &Seen { store: today(700, 700), ..none.clone() }, MOBILE, reserved),
        ("customers have used as much", &limits(), &Seen { store: today(999, 699), ..none.clone() }, MOBILE, None),
    ] {
        assert_eq!(refusal(limits, seen, number), expected, "{what}");
    }
    let away = Seen { has_no_provider: true, ..none.clone() };
    assert_eq!(judge((&limits(), Strictness::Usual), LIMITS, &away, &to(MOBILE), NOW), Err(TextRefusal::Unavailable));
    let unproven = |limits: &TextLimits| {
        judge((limits, Strictness::Usual), LIMITS, &none, &Recipient { standing: Standing::Unproven, ..to(MOBILE) }, NOW)
    };
    assert_eq!((unproven(&limits()), unproven(&paused)), (Err(TextRefusal::NumberUnproven), Err(TextRefusal::Paused(pause().unwrap()))));
}

#[test]
fn customers_whose_number_is_proven_are_no_strangers() {
    let proven = Recipient::proven(to(MOBILE).number);
    let learnt = Learnt { level: 1, since: NOW, until: NOW + TimeDelta::minutes(15), reason: String::new() };
    let paused = Seen { pauses: [(Scope::Store, learnt)].into(), ..Seen::default() };
    assert!(matches!(judge((&limits(), Strictness::Usual), LIMITS, &paused, &to(MOBILE), NOW), Err(TextRefusal::PausedByGuard(_))));
    for seen in [paused, store(50, 0), range(5, 0), under_way(5, 10, 50), Seen { store: today(700, 700), ..Seen::default() }] {
        assert_eq!(judge((&limits(), Strictness::Usual), LIMITS, &seen, &proven, NOW), Ok(()));
    }
}

#[test]
fn a_store_that_opens_has_more_codes_under_way_and_its_strangers_are_judged_as_ever() {
    let over = TextLimits { opening: Some(Opening { until: NOW, texts: 500 }), ..limits() };
    let small = TextLimits { opening: Some(Opening { texts: 5, ..opening().opening.unwrap() }), ..limits() };
    let closed = TextLimits { unused_codes_per_country: 0, ..opening() };
    let learnt = Learnt { level: 1, since: NOW - TimeDelta::hours(1), until: NOW - TimeDelta::minutes(45), reason: String::new() };
    let paused_before = Seen { pauses: [(Scope::Country("US".to_owned()), learnt)].into(), ..under_way(0, 70, 0) };
    let country = Some(("range_cooldown", "unused_codes_per_country"));
    for (what, limits, seen, expected) in [
        ("over", &over, &under_way(0, 70, 0), country),
        ("in a country", &opening(), &under_way(0, 499, 0), None),
        ("more than it expects", &opening(), &under_way(0, 500, 0), country),
        ("altogether", &opening(), &under_way(0, 0, 499), None),
        ("more than it expects altogether", &opening(), &under_way(0, 0, 500), Some(("range_cooldown", "unused_codes_per_store"))),
        ("in a range", &opening(), &under_way(5, 0, 0), Some(("range_cooldown", "unused_codes_per_range"))),
        ("fewer than usual", &small, &under_way(0, 9, 49), None),
        ("in a country that gets none", &closed, &under_way(0, 0, 0), country),
        ("where texts were paused", &opening(), &paused_before, country),
        ("without used codes", &opening(), &store(50, 9), Some(("texts_paused", "pumping"))),
    ] {
        assert_eq!(refusal(limits, seen, MOBILE), expected, "{what}");
    }
}

#[test]
fn the_smallest_scope_is_paused_first() {
    let scope = |seen: &Seen| match judge((&limits(), Strictness::Usual), LIMITS, seen, &to(MOBILE), NOW) {
        Err(TextRefusal::Pumping(new)) => new.pause.scope,
        other => panic!("{other:?}"),
    };
    let mut seen = Seen { range: range(5, 0).range, country: tally(10, 0), ..store(60, 0) };
    seen.store.used_today = 60;
    assert_eq!(scope(&seen), Scope::Range("+1201555".to_owned()));
    seen.range = Conversion::default();
    assert_eq!(scope(&seen), Scope::Country("US".to_owned()));
    seen.country = Tally::default();
    assert_eq!(scope(&seen), Scope::Store);
    // Where the store has customers, texts go on.
    seen.country = Tally { strangers_today: 5, ..tally(5, 1) };
    assert_eq!(judge((&limits(), Strictness::Usual), LIMITS, &seen, &to(MOBILE), NOW), Ok(()));
}

#[test]
fn the_first_rule_that_refuses_decides() {
    let everything = TextLimits { pause: pause(), countries: vec!["GB".to_owned()], per_day: 1, ..limits() };
    let ago = |seconds| NOW - TimeDelta::seconds(seconds);
    let busy = Seen { to_number: vec![ago(1)], others_in_range: 20, range_since: Some(ago(60)), has_no_provider: true, ..store(50, 0) };
    let (mut limits, mut seen) = (everything, busy);
    let mut next = |expected: &str, mend: fn(&mut TextLimits, &mut Seen)| {
        let refused = judge((&limits, Strictness::Usual), LIMITS, &seen, &to(MOBILE), NOW).map_err(|refusal| refusal.name());
        assert_eq!(refused, Err(expected));
        mend(&mut limits, &mut seen);
    };
    next("texts_paused", |limits, _| limits.pause = None);
    next("texts_paused", |_, seen| seen.store = today(1, 0));
    next("number_unreachable", |limits, _| limits.countries.clear());
    next("number_cooldown", |_, seen| seen.to_number.clear());
    next("range_cooldown", |_, seen| seen.others_in_range = 0);
    next("text_budget_used", |limits, _| limits.per_day = 2);
    next("texts_unavailable", |_, _| {});
}

#[test]
fn a_limit_of_zero_allows_nothing() {
    let none = Seen::default();
    for (limits, refused) in [
        (TextLimits { per_number_and_hour: 0, ..limits() }, reached(Limit::PerNumberAndHour, 0, 0, 3_600)),
        (TextLimits { per_number_and_day: 0, ..limits() }, reached(Limit::PerNumberAndDay, 0, 0, 86_400)),
        (TextLimits { numbers_per_range: 0, ..limits() }, reached(Limit::NumbersPerRange, 0, 0, 600)),
        (TextLimits { unused_codes_per_range: 0, ..limits() }, reached(Limit::UnusedPerRange, 0, 0, 600)),
        (TextLimits { numbers_per_address_and_day: 0, ..limits() }, reached(Limit::NumbersPerAddress, 0, 0, 86_400)),
        (TextLimits { per_country_and_day: 0, ..limits() }, reached(Limit::PerCountryAndDay, 0, 0, 86_400)),
        (TextLimits { per_day: 0, ..limits() }, reached(Limit::PerDay, 0, 0, 86_400)),
    ] {
        assert_eq!(judge((&limits, Strictness::Usual), LIMITS, &none, &to(MOBILE), NOW), Err(refused));
    }
    let unlimited = TextLimits { between_texts: TimeDelta::zero(), ..limits() };
    assert_eq!(
        judge((&unlimited, Strictness::Usual), LIMITS, &Seen { to_number: vec![NOW], ..none }, &to(MOBILE), NOW),
        Ok(()),
        "no time between texts is no limit"
    );
}

#[test]
fn a_reached_limit_has_its_value_the_count_and_the_end() {
    let seen = Seen { to_number: vec![NOW - TimeDelta::seconds(12)], ..Seen::default() };
    let refused = judge((&limits(), Strictness::Usual), LIMITS, &seen, &to(MOBILE), NOW);
    assert_eq!(refused, Err(reached(Limit::BetweenTexts, 30, 12, 18)));
    // Of several reached limits, the one that lasts longest decides.
    let seen = Seen { to_number: (0..6).map(|n| NOW - TimeDelta::seconds(12 + n)).collect(), ..Seen::default() };
    let refused = judge((&limits(), Strictness::Usual), LIMITS, &seen, &to(MOBILE), NOW).unwrap_err();
    assert_eq!(refused, reached(Limit::PerNumberAndHour, 6, 6, 3_583));
    assert_eq!(
        refused.to_string(),
        "Texts sent to the number within one hour: 6; the limit is 6. The next text is allowed at 1970-01-01T00:59:43.000+00:00."
    );
}

#[test]
fn a_solved_challenge_lifts_what_is_suspected_and_nothing_that_is_counted_out() {
    let learnt = Learnt { level: 1, since: NOW, until: NOW + TimeDelta::minutes(15), reason: String::new() };
    let paused = Seen { pauses: [(Scope::Range("+1201555".to_owned()), learnt)].into(), ..Seen::default() };
    let full_range = Seen { others_in_range: 20, ..Seen::default() };
    let lifted = |limits: &TextLimits, seen: &Seen| {
        judge((limits, Strictness::Lifted), LIMITS, seen, &to(MOBILE), NOW).map_err(|refusal| refusal.rule())
    };
    for seen in [paused, range(5, 0), country(10, 60), store(50, 0), full_range, under_way(5, 10, 50)] {
        assert!(judge((&limits(), Strictness::Usual), LIMITS, &seen, &to(MOBILE), NOW).is_err());
        assert_eq!(lifted(&limits(), &seen), Ok(()));
    }
    let day = || Seen { to_number: (0..12).map(|n| NOW - TimeDelta::hours(2 + n)).collect(), ..Seen::default() };
    for (seen, rule) in [
        (Seen { to_number: vec![NOW], ..Seen::default() }, "seconds_between_texts"),
        (day(), "texts_per_number_and_day"),
        (Seen { everywhere: 20, ..Seen::default() }, "daily_texts_per_number"),
        (Seen { unused_of_address: 10, ..Seen::default() }, "numbers_per_address_and_day"),
        (Seen { country: in_country(1_000, 0), ..Seen::default() }, "texts_per_country_and_day"),
        (Seen { store: today(1_000, 0), ..Seen::default() }, "texts_per_day"),
        (Seen { store: today(700, 700), ..Seen::default() }, "texts_reserved_percent"),
    ] {
        assert_eq!(lifted(&limits(), &seen), Err(rule));
    }
    assert_eq!(lifted(&TextLimits { pause: pause(), ..limits() }, &Seen::default()), Err("texts_paused"));
}

#[test]
fn it_is_asked_for_from_three_quarters_of_a_limit_on() {
    let early = |seen: &Seen| judge((&limits(), Strictness::Early), LIMITS, seen, &to(MOBILE), NOW).err().map(|refusal| refusal.rule());
    let of_address = |unused_of_address| Seen { unused_of_address, ..Seen::default() };
    let of_range = |others_in_range| Seen { others_in_range, ..Seen::default() };
    for (seen, rule) in [
        (of_address(6), None),
        (of_address(7), Some("numbers_per_address_and_day")),
        (of_range(14), None),
        (of_range(15), Some("numbers_per_range")),
        (under_way(2, 0, 0), None),
        (under_way(3, 0, 0), Some("unused_codes_per_range")),
        (Seen { store: today(699, 699), ..Seen::default() }, None),
    ] {
        assert_eq!(early(&seen), rule);
    }
}

#[test]
fn what_solved_challenges_may_let_through_grows_with_the_codes_that_are_used() {
    assert_eq!([0, 10].map(|used| allowed_by_challenge(&limits(), used)), [50, 60]);
    assert_eq!(allowed_by_challenge(&TextLimits { unused_codes_per_store: 0, ..limits() }, 10), 0);
}
