//! The status of an order and its transitions (`docs/specification/decisions.md`, section 9).

use crate::fleet::vehicles::VehicleStatus;
use crate::kernel::problem::{Problem, ProblemCode};

crate::text_enum! {
    /// The status of an order.
    pub enum Status, default Created {
        /// The order was placed.
        Created = "created",
        /// The order was dispatched to its driver.
        Dispatched = "dispatched",
        /// The order is on its way.
        Started = "started",
        /// The order was delivered.
        Completed = "completed",
        /// The order was cancelled.
        Cancelled = "cancelled",
        /// The order could not be delivered.
        Failed = "failed",
    }
}

/// Properties of an order that a transition depends on.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// Whether the order has a driver.
    pub has_driver: bool,
    /// Whether the order may start without having been dispatched.
    pub skip_dispatch: bool,
}

/// The reason why a transition is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransitionError {
    /// No transition leads from the first status to the second.
    #[error("An order that is {} cannot become {}.", .0.as_str(), .1.as_str())]
    NoArrow(Status, Status),
    /// An order without a driver cannot be dispatched.
    #[error("An order needs a driver before it is dispatched.")]
    NoDriver,
    /// The driver who is sent on the way does not work at present.
    #[error("The driver is inactive. Assign another driver, or set the status of this one to active.")]
    DriverOutOfService,
    /// The vehicle that is sent on the way cannot be used.
    #[error("The vehicle has the status {}. Assign another vehicle, or none, or set the status of this one to active.", .0.as_str())]
    VehicleOutOfService(VehicleStatus),
}

impl From<TransitionError> for Problem {
    fn from(error: TransitionError) -> Self {
        Problem::new(ProblemCode::TransitionInvalid).detail(error.to_string())
    }
}

impl Status {
    /// Whether the order can still change its status.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Created | Self::Dispatched | Self::Started)
    }

    /// Whether a driver is under way with the order, or about to be.
    pub(super) fn is_on_the_way(self) -> bool {
        matches!(self, Self::Dispatched | Self::Started)
    }

    /// Checks a transition. Starting does not require a driver: a dispatched order has one, and an order that skips the dispatch
    /// may be picked up by its customer.
    pub fn transition_to(self, next: Self, conditions: Conditions) -> Result<(), TransitionError> {
        match (self, next) {
            (Self::Created, Self::Dispatched) if !conditions.has_driver => Err(TransitionError::NoDriver),
            (Self::Created, Self::Dispatched) | (Self::Dispatched, Self::Started) | (Self::Started, Self::Completed) => Ok(()),
            (Self::Created, Self::Started) if conditions.skip_dispatch => Ok(()),
            (open, Self::Cancelled | Self::Failed) if open.is_open() => Ok(()),
            _ => Err(TransitionError::NoArrow(self, next)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::{Cancelled, Completed, Created, Dispatched, Failed, Started};

    #[test]
    fn only_the_arrows_of_the_specification_exist() {
        // from, to, whether a driver is required, whether skip_dispatch is required
        let arrows = [
            (Created, Dispatched, true, false),
            (Created, Started, false, true),
            (Created, Cancelled, false, false),
            (Created, Failed, false, false),
            (Dispatched, Started, false, false),
            (Dispatched, Cancelled, false, false),
            (Dispatched, Failed, false, false),
            (Started, Completed, false, false),
            (Started, Cancelled, false, false),
            (Started, Failed, false, false),
        ];
        for (from, to) in Status::ALL.iter().flat_map(|from| Status::ALL.iter().map(|to| (*from, *to))) {
            for (has_driver, skip_dispatch) in [(false, false), (false, true), (true, false), (true, true)] {
                let arrow = arrows.iter().find(|arrow| (arrow.0, arrow.1) == (from, to));
                let allowed = arrow.is_some_and(|arrow| (has_driver || !arrow.2) && (skip_dispatch || !arrow.3));
                let judged = from.transition_to(to, Conditions { has_driver, skip_dispatch });
                assert_eq!(judged.is_ok(), allowed, "{from:?} to {to:?}, driver {has_driver}, skip {skip_dispatch}");
            }
        }
    }

    #[test]
    fn a_status_has_one_spelling() {
        for status in Status::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
        let refusal = "Created".parse::<Status>().unwrap_err();
        assert_eq!(refusal.to_string(), "This must be one of created, dispatched, started, completed, cancelled, failed.");
    }
}
