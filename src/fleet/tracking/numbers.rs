//! Tracking numbers: made with an order, for the person who waits for it.

use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::events::{EventName, names};
use crate::fleet::Fleet;
use crate::kernel::ids::{OrderId, TrackingNumberId};
use crate::kernel::secrets::random_bytes;
use crate::members;
use crate::resources::{Announced, Change, Filter, Record, Resource};

/// Digits and capitals without those that look like others: no I, L, O and U.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A new number: 12 of 32 characters, too many (2⁶⁰) to come twice and for anybody to find one by trying.
pub fn generate_number() -> String {
    random_bytes::<12>().iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

crate::columns! {
    /// The number of an order.
    pub struct TrackingNumber {
        /// The order.
        pub order_id: OrderId,
        /// Its number.
        pub tracking_number: String,
    }
}

impl Resource for TrackingNumber {
    type Id = TrackingNumberId;
    type Room = Fleet;

    const SINGULAR: &'static str = "tracking_number";
    const PLURAL: &'static str = "tracking_numbers";
    const FILTERS: &'static [Filter] = &[Filter::id::<OrderId>("order").on("order_id"), Filter::text("tracking_number")];
    const SEARCH: &'static [&'static str] = &["tracking_number"];

    async fn present(_: &mut PgConnection, numbers: &[Record<Self>]) -> Result<Vec<Map<String, Value>>, sqlx::Error> {
        let present = |number: &Self| members! { "tracking_number": number.tracking_number, "order": number.order_id };
        Ok(numbers.iter().map(|number| present(&number.fields)).collect())
    }
}

impl Announced for TrackingNumber {
    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        match change {
            Change::Created(_) => vec![names::TRACKING_NUMBER_CREATED],
            Change::Updated(..) => vec![names::TRACKING_NUMBER_UPDATED],
            Change::Deleted(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_can_be_read_aloud() {
        let number = generate_number();
        assert_eq!(number.len(), 12);
        assert!(number.bytes().all(|character| ALPHABET.contains(&character)));
        assert_ne!(number, generate_number());
    }
}
