//! The `payload` of an order: its two addresses, which are columns of the order.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::fleet::orders::Order;
use crate::resources::{FieldType, Line, Member};

type Address = Option<Line<500>>;

/// The pickup and the drop-off address in a request. Null clears both; a missing address keeps its value.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Option<Sent>")]
pub struct Payload(Sent);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Sent {
    pickup: Member<Address>,
    dropoff: Member<Address>,
}

impl From<Option<Sent>> for Payload {
    fn from(sent: Option<Sent>) -> Self {
        Self(sent.unwrap_or(Sent { pickup: Member::Sent(None), dropoff: Member::Sent(None) }))
    }
}

impl Payload {
    pub(super) fn put(self, order: &mut Order) {
        self.0.pickup.put_or_clear(&mut order.pickup);
        self.0.dropoff.put_or_clear(&mut order.dropoff);
    }
}

impl FieldType for Payload {
    /// The pickup and the drop-off address.
    type Column = [Option<String>; 2];

    fn into_column(self) -> Self::Column {
        [self.0.pickup, self.0.dropoff].map(|address| address.or_initial().flatten())
    }

    fn initial() -> Option<Self::Column> {
        Some([None, None])
    }

    fn show([pickup, dropoff]: &Self::Column) -> Value {
        json!({ "pickup": pickup, "dropoff": dropoff })
    }

    fn schema() -> Value {
        json!({ "type": ["object", "null"], "properties": { "pickup": Address::schema(), "dropoff": Address::schema() } })
    }

    fn event_schema() -> Value {
        let address = |sentence: &str| json!({ "description": sentence, "type": ["string", "null"] });
        let members = json!({ "pickup": address("The pickup address."), "dropoff": address("The drop-off address.") });
        json!({ "type": "object", "properties": members, "required": ["pickup", "dropoff"] })
    }

    fn sample() -> Value {
        json!({ "pickup": "12 Baker Street, London", "dropoff": "221B Baker Street, London" })
    }
}
