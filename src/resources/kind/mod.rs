//! A kind of record: how its records are listed, found and changed, and what a change has as consequences.
//!
//! The traits and the transaction are one room, because each is written in terms of the other: a kind's hooks get the transaction, and the
//! transaction calls the hooks.

mod descriptor;
mod event_data;
#[cfg(test)]
pub mod example;
mod link;
pub mod list_parameters;
pub mod queries;
mod record;
mod record_transaction;
mod referable;
mod referenced_by;
mod resource;
mod unique;

pub use descriptor::ResourceDescriptor;
pub use event_data::{EventData, EventDoc};
pub use link::Link;
pub use record::{Record, Shown};
pub use record_transaction::RecordTransaction;
pub use referable::Referable;
pub use referenced_by::ReferencedBy;
pub use resource::{Change, Editable, New, Owned, Presented, PublishesEvents, Resource, ResourceState, Validated};
pub use unique::Unique;
