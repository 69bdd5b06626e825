//! The customers of a shop in Germany, over a day.

use super::chance::Chance;
use super::numbers::{self, ABROAD, AUSTRIA, GERMANY, SWITZERLAND};
use super::{HOUR, Step, Timed};

/// How many registrations there are among the texts; the others are sign-ins.
const REGISTRATIONS: f64 = 0.6;
/// How many use the code that they get. Figures of providers are between 70 and 90 %.
const USE_THEIRS: f64 = 0.78;
/// Mobile networks put many customers behind few addresses.
const BEHIND_SHARED_ADDRESSES: f64 = 0.3;
const SHARED_ADDRESSES: usize = 40;

/// So many texts over the day: most of them by day, and half of them between 19 and 22 o'clock if it is the day of a sale.
pub fn day(texts: usize, is_sale: bool, chance: &mut Chance) -> impl Iterator<Item = Timed> {
    (0..texts).map(move |_| {
        let at = match is_sale && chance.happens(0.5) {
            true => (19.0 + 3.0 * chance.share()) * HOUR,
            // The more likely, the nearer to the early afternoon.
            false => (chance.share() + chance.share()) * 12.0 * HOUR + 1.5 * HOUR * chance.share(),
        };
        let address = match chance.happens(BEHIND_SHARED_ADDRESSES) {
            true => format!("10.0.0.{}", chance.below(SHARED_ADDRESSES)),
            false => chance.address(),
        };
        if !chance.happens(REGISTRATIONS) {
            return Timed(at, Step::SignIn { address });
        }
        let country = match chance.below(100) {
            0..85 => GERMANY,
            85..93 => AUSTRIA,
            93..98 => SWITZERLAND,
            _ => chance.one_of(&ABROAD),
        };
        let uses_code_after = chance.happens(USE_THEIRS).then(|| 8.0 + 60.0 * chance.share() * chance.share());
        Timed(at, Step::Register { number: numbers::any(country, chance), address, uses_code_after, is_attack: false })
    })
}
