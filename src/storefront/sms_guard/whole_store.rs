//! What a store's day has brought in all countries together.

use chrono::{DateTime, Utc};

use crate::storefront::sms_guard::pumping::Conversion;
use crate::storefront::sms_guard::tally::Tally;

/// The texts of a store of the last 24 hours.
#[derive(Clone, Debug, Default)]
pub(super) struct WholeStore {
    pub(super) today: i64,
    /// The minute of the first of these texts.
    pub(super) since: Option<DateTime<Utc>>,
    pub(super) strangers_today: i64,
    /// Codes of strangers that were used.
    pub(super) used_today: i64,
    /// What became of the codes to countries where the store has no customers.
    pub(super) elsewhere: Conversion,
}

impl WholeStore {
    /// The sum of the store's countries. In a country with customers, strangers use this percentage of their codes.
    pub(super) fn of<'a>(countries: impl Iterator<Item = &'a Tally>, percent: i64) -> Self {
        countries.fold(Self::default(), |mut all, tally| {
            all.today += tally.today;
            all.since = all.since.into_iter().chain(tally.since).min();
            all.strangers_today += tally.strangers_today;
            all.used_today += tally.conversion.used_today;
            if !tally.has_customers(percent) {
                all.elsewhere.add(&tally.conversion);
            }
            all
        })
    }
}
