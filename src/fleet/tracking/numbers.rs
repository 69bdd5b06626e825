//! Tracking numbers: created with an order, for its recipient.

use crate::events::{EventName, names};
use crate::fleet::Fleet;
use crate::fleet::orders::Order;
use crate::kernel::crypto::random_bytes;
use crate::kernel::ids::{OrderId, TrackingNumberId};
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Change, Filter, Line, Link, PublishesEvents, Record, RecordTransaction, Resource, Validated};

/// Digits and capital letters without I, L, O and U, which resemble others.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A new random number of 12 characters out of 32 (2⁶⁰ values): collisions and guessing are practically impossible.
pub fn generate_number() -> String {
    random_bytes::<12>().iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

crate::fields! {
    /// The tracking number of an order.
    pub struct TrackingNumber, body TrackingNumberBody {
        /// The number that the recipient tracks the order with.
        tracking_number: Line<64>,
        /// The order.
        order_id as "order": Link<Order>,
    }
}

impl Resource for TrackingNumber {
    type Id = TrackingNumberId;
    type State = Fleet;

    const SINGULAR: &'static str = "tracking_number";
    const PLURAL: &'static str = "tracking_numbers";
    const FILTERS: &'static [Filter] = &[Filter::id::<OrderId>("order").on("order_id"), Filter::text("tracking_number")];
    const SEARCH: &'static [&'static str] = &["tracking_number"];
}

impl PublishesEvents for TrackingNumber {
    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        match change {
            Change::Created(_) => vec![names::TRACKING_NUMBER_CREATED],
            Change::Updated(..) => vec![names::TRACKING_NUMBER_UPDATED],
            Change::Deleted(_) => Vec::new(),
        }
    }
}

impl Validated for TrackingNumber {
    /// Updates the order with its new number.
    async fn validate(transaction: &mut RecordTransaction<Fleet>, before: Option<&Record<Self>>, number: &mut Self) -> Result<(), Problem> {
        if before.is_some_and(|before| before.fields == *number) {
            return Ok(());
        }
        if before.is_some_and(|before| before.fields.order_id != number.order_id) {
            return Err(FieldErrors::one("order", "The order of a tracking number cannot change."));
        }
        let Some(order) = transaction.lock_all::<Order>(&[number.order_id]).await?.pop() else {
            return Err(FieldErrors::one("order", "The order was deleted; its tracking number cannot change."));
        };
        let renumbered = Order { tracking_number: number.tracking_number.clone(), ..order.fields.clone() };
        transaction.update(order, renumbered).await?;
        Ok(())
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
