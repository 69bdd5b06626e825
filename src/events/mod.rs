//! Events: facts about records, written in the transaction that causes them.
//!
//! [`publish`] implements the transactional outbox. It inserts the event, including its final body bytes, into `events` and
//! references it in `outbox`, both in the caller's transaction: a change that is rolled back publishes nothing, and a committed
//! change cannot lose its event. The delivering module empties the outbox. It is woken by a notification on [`PUBLISHED`], which
//! Postgres sends when the transaction commits. Of several concurrent publishing transactions only one notifies. A notification
//! only speeds up what polling would find. Events that are published alone and at a high rate are announced after the commit
//! ([`CommitNotifier`]), because a notification delays commits. The delivering module can write an event beside its deliveries
//! ([`NewEvent::body`]), and then the outbox never has it.
//!
//! The events about one record are numbered 1, 2, 3 … (`event_sequences`). The number is taken under a lock that is held until the
//! commit, so events about one record are committed, and leave the outbox, in the order of their numbers.
//!
//! This module does not know the subscribers. It guarantees that an event's id and number never change after the commit, nor its bytes, unless
//! the data of the person whom it is about is erased. It does not guarantee an order of events about different records. Events are stored in daily partitions; the delivering module has
//! them created ahead and, when nobody needs their events any more, dropped ([`create_partitions`], [`delete_expired`]).
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! publish                     writes events in the transaction that causes them
//! commit_notifier             announces those that were committed without a notification
//! erasing                     takes personal data out of events
//! queries                     the statements of these
//! new_event                   an event before it is written
//! addressed  retention        events for one subscription alone, and how long events are kept
//! outbox                      how much waits to be fanned out
//! catalogue                   every event type with the schema of its data and a sample
//! envelope                    the body that subscribers receive
//! name                        what an event is called
//! ```

mod addressed;
mod catalogue;
mod commit_notifier;
mod envelope;
mod erasing;
mod name;
mod new_event;
mod outbox;
mod publish;
mod queries;
mod retention;

pub use addressed::{Addressed, address};
pub use catalogue::{Catalogue, EventType, InvalidEventType, NameTaken, Publisher, UnknownEvent, documented, names};
pub use commit_notifier::CommitNotifier;
pub use envelope::{API_VERSION, Envelope, EventData};
pub use erasing::erase_events_about;
pub use name::{EventName, InvalidEventName};
pub use new_event::{NewEvent, Origin};
pub use outbox::Outbox;
pub use publish::{publish, publish_all, publish_without_notify};
pub use queries::{Columns, PUBLISHED, export_events};
pub use retention::{create_partitions, create_partitions_as_in, delete_expired};
