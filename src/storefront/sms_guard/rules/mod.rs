//! The rules of the guard, in their order: a pure function of the store's limits and of what was counted.

mod limits;
mod strictness;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::contact::{Line, PhoneNumber};
use crate::storefront::sms_guard::guard_pause::{GuardPause, NewPause};
use crate::storefront::sms_guard::learnt::Learnt;
use crate::storefront::sms_guard::pumping::{Conversion, Tolerance};
use crate::storefront::sms_guard::recipient::{Recipient, Standing};
use crate::storefront::sms_guard::refusal::TextRefusal;
use crate::storefront::sms_guard::scope::Scope;
use crate::storefront::sms_guard::tally::Tally;
use crate::storefront::sms_guard::whole_store::WholeStore;
use crate::storefront::stores::TextLimits;

pub(super) use strictness::Strictness;

/// The period in which the numbers of one range are counted.
pub(super) const RANGE_WINDOW: TimeDelta = TimeDelta::minutes(10);

/// The texts of the last 24 hours that concern one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// When the store texted this number, newest first.
    pub(super) to_number: Vec<DateTime<Utc>>,
    /// Texts to this number by all stores, and when the first of them was sent.
    pub(super) everywhere: i64,
    pub(super) everywhere_since: Option<DateTime<Utc>>,
    /// When a provider last reported that the number cannot receive texts, and no text has arrived since.
    pub(super) reported_unreachable: Option<DateTime<Utc>>,
    /// The count of other numbers of the same range within [`RANGE_WINDOW`], and when the first of their texts was sent. Strangers are
    /// counted for strangers, and customers for customers, so that those cannot keep these from their texts.
    pub(super) others_in_range: i64,
    pub(super) range_since: Option<DateTime<Utc>>,
    /// What became of the codes of the range.
    pub(super) range: Conversion,
    /// Other numbers of strangers that the client address asked for without using their codes, and when the first of them was.
    pub(super) unused_of_address: i64,
    pub(super) address_since: Option<DateTime<Utc>>,
    /// Codes of strangers that the client address asked for and that were used.
    pub(super) used_of_address: i64,
    pub(super) country: Tally,
    pub(super) store: WholeStore,
    /// The latest pauses of the scopes that the guard has paused.
    pub(super) pauses: HashMap<Scope, Learnt>,
    /// Whether nobody sends texts of the company at all.
    pub(super) has_no_provider: bool,
}

/// What the deployment allows for all stores.
#[derive(Clone, Copy, Debug)]
pub struct DeploymentLimits {
    /// Texts to one number within 24 hours, by all stores together.
    pub daily_texts_per_number: i64,
    /// How long a number is not texted that a provider has reported as unreachable for good.
    pub unreachable_for: TimeDelta,
}

/// Judges whether one more text may be sent to the recipient. The first rule that refuses decides.
pub(super) fn judge(
    (limits, strictness): (&TextLimits, Strictness),
    deployment: DeploymentLimits,
    seen: &Seen,
    recipient: &Recipient,
    now: DateTime<Utc>,
) -> Result<(), TextRefusal> {
    if let Some(pause) = &limits.pause {
        return Err(TextRefusal::Paused(pause.clone()));
    }
    let Recipient { number, standing } = recipient;
    if *standing == Standing::Stranger && strictness != Strictness::Lifted {
        look_for_pumping(limits, seen, number, now)?;
    }
    if number.line() == Line::NotForTexts {
        return Err(TextRefusal::LineNotForTexts);
    }
    if !is_served(&limits.countries, number) {
        return Err(TextRefusal::CountryNotServed);
    }
    if let Some(at) = seen.reported_unreachable.filter(|at| *at + deployment.unreachable_for > now) {
        return Err(TextRefusal::ReportedUnreachable(at));
    }
    if *standing == Standing::Unproven {
        return Err(TextRefusal::NumberUnproven);
    }
    if let Some(reached) = limits::reached((limits, strictness), deployment, seen, recipient, now) {
        return Err(TextRefusal::LimitReached(reached));
    }
    if seen.has_no_provider { Err(TextRefusal::Unavailable) } else { Ok(()) }
}

/// How many texts of a day a solved challenge alone may let through, while so many of their codes were used: as many as may be under way.
pub(super) fn allowed_by_challenge(limits: &TextLimits, used: i64) -> i64 {
    let tolerance = Tolerance { unused: limits.unused_codes_per_store, percent: limits.used_codes_percent };
    tolerance.under_way(&Conversion { used_today: used, ..Conversion::default() })
}

/// Refuses what is paused, or has to be: the smallest scope first, so that as few customers as possible are refused.
fn look_for_pumping(limits: &TextLimits, seen: &Seen, number: &PhoneNumber, now: DateTime<Utc>) -> Result<(), TextRefusal> {
    let scopes = scopes(limits, seen, number);
    let lasting = |scope| GuardPause::lasting(scope, seen.pauses.get(scope)?, now);
    if let Some(pause) = scopes.iter().find_map(lasting) {
        return Err(TextRefusal::PausedByGuard(pause));
    }
    let suspicious = |scope| {
        let before = seen.pauses.get(scope);
        let found = tolerance(limits, seen, scope, now).suspects(conversion(seen, scope))?;
        Some(NewPause::begin(scope, found, before, now))
    };
    scopes.iter().find_map(suspicious).map_or(Ok(()), |pause| Err(TextRefusal::Pumping(pause)))
}

/// The scopes that a number is judged in. The store as a whole concerns only countries where it has no customers.
fn scopes(limits: &TextLimits, seen: &Seen, number: &PhoneNumber) -> Vec<Scope> {
    let of_store = !seen.country.has_customers(limits.used_codes_percent);
    Scope::of(number).into_iter().filter(|scope| *scope != Scope::Store || of_store).collect()
}

fn conversion<'a>(seen: &'a Seen, scope: &Scope) -> &'a Conversion {
    match scope {
        Scope::Range(_) => &seen.range,
        Scope::Country(_) => &seen.country.conversion,
        Scope::Store => &seen.store.elsewhere,
    }
}

/// What is tolerated in a scope. A store that does not know its countries yet tolerates as much in each of them as altogether.
fn tolerance(limits: &TextLimits, seen: &Seen, scope: &Scope, now: DateTime<Utc>) -> Tolerance {
    let knows_countries = seen.store.used_today >= limits.unused_codes_per_store;
    let unused = match scope {
        Scope::Range(_) => limits.unused_codes_per_range,
        Scope::Country(_) if knows_countries => limits.unused_codes_per_country,
        Scope::Country(_) | Scope::Store => limits.unused_codes_per_store,
    };
    let level = seen.pauses.get(scope).map_or(0, |learnt| learnt.level(now));
    Tolerance { unused, percent: limits.used_codes_percent }.recalling(level)
}

/// How many codes may be under way in a scope. A store that opens expects more, beyond single ranges: no code was used yet, and strangers come
/// at once. What was paused lately is not given them, and what they use is judged as ever.
fn allowed_under_way(limits: &TextLimits, seen: &Seen, scope: &Scope, now: DateTime<Utc>) -> i64 {
    let usual = tolerance(limits, seen, scope, now);
    let was_paused = seen.pauses.get(scope).is_some_and(|learnt| learnt.level(now) > 0);
    let may_open = !matches!(scope, Scope::Range(_)) && !was_paused && usual.unused > 0;
    let opening = limits.opening.filter(|opening| may_open && opening.until > now);
    let unused = opening.map_or(usual.unused, |opening| opening.texts.max(usual.unused));
    Tolerance { unused, ..usual }.under_way(conversion(seen, scope))
}

fn is_served(countries: &[String], number: &PhoneNumber) -> bool {
    countries.is_empty() || number.country().is_some_and(|country| countries.contains(&country))
}
