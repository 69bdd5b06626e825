//! Tracking numbers: created with an order, for its recipient.

use serde_json::{Map, Value};

use crate::events::{EventName, names};
use crate::fleet::Fleet;
use crate::fleet::orders::Order;
use crate::kernel::ids::{OrderId, TrackingNumberId};
use crate::kernel::problem::{FieldErrors, Problem};
use crate::kernel::secrets::random_bytes;
use crate::resources::{Announced, Change, Edit, Fields, Filter, Line, Link, Record, Resource, Ruled};

/// Digits and capital letters without I, L, O and U, which resemble others.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A new random number of 12 characters out of 32 (2⁶⁰ values): collisions and guessing are practically impossible.
pub fn generate_number() -> String {
    random_bytes::<12>().iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

crate::fields! {
    /// The tracking number of an order.
    pub struct TrackingNumber, sent as TrackingNumberBody {
        /// The number that the recipient tracks the order with.
        tracking_number: Line<64>,
        /// The order.
        order_id as "order": Link<Order>,
    }
}

impl Resource for TrackingNumber {
    type Id = TrackingNumberId;
    type Room = Fleet;

    const SINGULAR: &'static str = "tracking_number";
    const PLURAL: &'static str = "tracking_numbers";
    const FILTERS: &'static [Filter] = &[Filter::id::<OrderId>("order").on("order_id"), Filter::text("tracking_number")];
    const SEARCH: &'static [&'static str] = &["tracking_number"];

    fn shown(&self) -> Map<String, Value> {
        self.members()
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

impl Ruled for TrackingNumber {
    /// Updates the order with its new number.
    async fn rules(edit: &mut Edit<Fleet>, before: Option<&Record<Self>>, number: &mut Self) -> Result<(), Problem> {
        if before.is_some_and(|before| before.fields == *number) {
            return Ok(());
        }
        if before.is_some_and(|before| before.fields.order_id != number.order_id) {
            return Err(FieldErrors::one("order", "A tracking number stays with its order."));
        }
        let Some(order) = edit.lock_all::<Order>(&[number.order_id]).await?.pop() else {
            return Err(FieldErrors::one("order", "The order was deleted; its number stays as it was."));
        };
        let renumbered = Order { tracking_number: number.tracking_number.clone(), ..order.fields.clone() };
        edit.update(order, renumbered).await?;
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
