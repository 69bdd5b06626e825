//! The limits that are counted, in their order.

use chrono::{DateTime, TimeDelta, Utc};

use crate::storefront::sms_guard::limit::{Limit, LimitReached};
use crate::storefront::sms_guard::pumping::UNDER_WAY_FOR;
use crate::storefront::sms_guard::recipient::{Recipient, Standing};
use crate::storefront::sms_guard::rules::{DeploymentLimits, RANGE_WINDOW, Seen, Strictness, allowed_under_way, conversion, scopes};
use crate::storefront::stores::TextLimits;

const DAY: TimeDelta = TimeDelta::days(1);

/// The first limit that another text would exceed: of the number, of its range, of the client address, of its country, of the store.
/// Customers whose number is proven have fewer of them.
pub(super) fn reached(
    (limits, strictness): (&TextLimits, Strictness),
    deployment: DeploymentLimits,
    seen: &Seen,
    Recipient { number, standing }: &Recipient,
    now: DateTime<Utc>,
) -> Option<LimitReached> {
    let is_stranger = *standing == Standing::Stranger;
    let scopes = if is_stranger { scopes(limits, seen, number) } else { Vec::new() };
    let under_way = |limit, kind| {
        let scope = scopes.iter().find(|scope| scope.kind() == kind)?;
        let found = conversion(seen, scope).under_way;
        let allowed = strictness.soft(allowed_under_way(limits, seen, scope, now))?;
        (found >= allowed).then(|| LimitReached::new(limit, allowed, found, now + UNDER_WAY_FOR, now))
    };
    let within_day = |limit, allowed: i64, counted: i64, since: Option<DateTime<Utc>>| {
        (counted >= allowed).then(|| LimitReached::new(limit, allowed, counted, since.unwrap_or(now) + DAY, now))
    };
    let of_strangers = |limit, of_all: i64, counted, since| {
        let allowed = of_all - of_all * limits.reserved_percent / 100;
        if is_stranger { within_day(limit, allowed, counted, since) } else { None }
    };
    let of_address = || {
        let allowed = if limits.numbers_per_address_and_day == 0 { 0 } else { limits.numbers_per_address_and_day + seen.used_of_address };
        let allowed = strictness.early(allowed);
        let reached = || within_day(Limit::NumbersPerAddress, allowed, seen.unused_of_address, seen.address_since);
        if is_stranger { reached() } else { None }
    };
    let (per_country, per_day) = (limits.per_country_and_day, limits.per_day);
    let of_number = || {
        of_number(limits, &seen.to_number, now)
            .or_else(|| within_day(Limit::PerNumberEverywhere, deployment.daily_texts_per_number, seen.everywhere, seen.everywhere_since))
    };
    if *standing == Standing::Told { None } else { of_number() }
        .or_else(|| of_range(strictness.soft(limits.numbers_per_range)?, seen, now))
        .or_else(|| under_way(Limit::UnusedPerRange, "range"))
        .or_else(of_address)
        .or_else(|| within_day(Limit::PerCountryAndDay, per_country, seen.country.today, seen.country.since))
        .or_else(|| of_strangers(Limit::PerCountryAndDay, per_country, seen.country.strangers_today, seen.country.since))
        .or_else(|| under_way(Limit::UnusedPerCountry, "country"))
        .or_else(|| under_way(Limit::UnusedPerStore, "store"))
        .or_else(|| within_day(Limit::PerDay, per_day, seen.store.today, seen.store.since))
        .or_else(|| of_strangers(Limit::Reserved, per_day, seen.store.strangers_today, seen.store.since))
}

/// Different numbers of one range, which are usually sold together.
fn of_range(allowed: i64, seen: &Seen, now: DateTime<Utc>) -> Option<LimitReached> {
    let is_new = seen.to_number.first().is_none_or(|last| *last <= now - RANGE_WINDOW);
    let until = seen.range_since.unwrap_or(now) + RANGE_WINDOW;
    let counted = seen.others_in_range;
    (is_new && counted >= allowed).then(|| LimitReached::new(Limit::NumbersPerRange, allowed, counted, until, now))
}

/// The one of the three limits of a number that lasts longest.
fn of_number(limits: &TextLimits, texts: &[DateTime<Utc>], now: DateTime<Utc>) -> Option<LimitReached> {
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
    let day = per_window(Limit::PerNumberAndDay, limits.per_number_and_day, DAY);
    [between, hour, day].into_iter().flatten().filter(|reached| reached.until > now).max_by_key(|reached| reached.until)
}
