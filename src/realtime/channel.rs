//! The channels that customers may subscribe to: `<kind>.<id>`, with the id in one of its two spellings.

use std::str::FromStr;

use crate::kernel::ids::{CustomerId, DriverId, OrderId, TypedId, VehicleId};

/// The record that a channel is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Order(OrderId),
    Driver(DriverId),
    Vehicle(VehicleId),
    Customer(CustomerId),
}

/// The text is not the name of a channel for customers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InvalidChannel;

impl FromStr for Channel {
    type Err = InvalidChannel;

    fn from_str(text: &str) -> Result<Self, InvalidChannel> {
        let (kind, text) = text.split_once('.').ok_or(InvalidChannel)?;
        match kind {
            OrderId::PREFIX => id(text).map(Self::Order),
            DriverId::PREFIX => id(text).map(Self::Driver),
            VehicleId::PREFIX => id(text).map(Self::Vehicle),
            CustomerId::PREFIX => id(text).map(Self::Customer),
            _ => Err(InvalidChannel),
        }
    }
}

/// Accepts only the two spellings of an id that events are published to, because the socket server compares channel names
/// literally.
fn id<Id: TypedId>(text: &str) -> Result<Id, InvalidChannel> {
    let id: Id = text.parse().map_err(|_| InvalidChannel)?;
    let uuid: uuid::Uuid = id.into();
    if text == id.to_string() || text == uuid.to_string() { Ok(id) } else { Err(InvalidChannel) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_names_a_record_in_one_of_two_spellings() {
        let uuid: uuid::Uuid = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let order = Ok(Channel::Order(uuid.into()));
        assert_eq!("order.01890a5d-ac96-774b-bcce-b302099a8057".parse(), order);
        assert_eq!("order.order_01h455vb4pex5vsknk084sn02q".parse(), order);
        assert_eq!("vehicle.vehicle_01h455vb4pex5vsknk084sn02q".parse(), Ok(Channel::Vehicle(uuid.into())));
        for text in [
            "",
            "order",
            "order.",
            "order.*",
            "orders.01890a5d-ac96-774b-bcce-b302099a8057",
            "order.01890A5D-AC96-774B-BCCE-B302099A8057",
            "order.01890a5dac96774bbcceb302099a8057",
            "order.{01890a5d-ac96-774b-bcce-b302099a8057}",
            "order.driver_01h455vb4pex5vsknk084sn02q",
            "order.order_01h455vb4pex5vsknk084sn02q.location",
            " order.order_01h455vb4pex5vsknk084sn02q",
            "Order.order_01h455vb4pex5vsknk084sn02q",
            "company.company_01h455vb4pex5vsknk084sn02q",
        ] {
            assert_eq!(text.parse::<Channel>(), Err(InvalidChannel), "{text:?}");
        }
    }
}
