//! Extension resources: the five-route convention, written once (interface 2, Extension resource routes;
//! `docs/specification/decisions.md`, section 9).
//!
//! A kind of record is a struct whose fields are declared once, by [`fields!`](crate::fields) or [`read_only!`](crate::read_only). The
//! columns, the request bodies, the response fields, the `data` of events ([`EventData`]), the filters and the search of lists, the
//! descriptions of forms ([`form`]) and the documentation are derived from that declaration. A kind implements up to three more traits:
//! * [`Resource`] defines how records are listed and found.
//! * [`PublishesEvents`] defines which events a change publishes.
//! * [`Validated`] validates the fields against each other and makes the kind [`Editable`].
//!
//! A kind that does more with a request than setting its fields implements [`Editable`] itself. It declares the fields that it applies
//! by hand as such, so that everything else follows from the declaration all the same. Only a kind whose fields are not known to the
//! program declares its columns alone ([`columns!`](crate::columns)).
//!
//! An [`Extension`] is a namespace of such kinds. A [`Resource`] gets the two `GET` routes, an [`Editable`] gets all five, and the
//! OpenAPI document is generated from the same list. The routes only parse and answer: [`operations`] works for every
//! [`Caller`](crate::callers::Caller). This module builds the SQL statements from the names that the resource declares, so a resource
//! contains no SQL of its own for list, find, create, update and delete. A further route that writes a record starts with
//! [`WriteRequest`], one that reads with [`ReadRequest`]. Another one that takes a body takes it [`Unread`](crate::kernel::request_body::Unread)
//! and requires the scope first. `kind/example.rs` is the smallest possible resource. `docs/extensions.md` adds a resource step by step.
//!
//! One type may serve several kinds. Its state distinguishes them by their [`ResourceDescriptor`]. The kinds declared in files work
//! this way. Code that learns the kind only from such a file uses a [`Referable`].
//!
//! Every table has the columns `id`, `company_id`, `version`, `created_at`, `updated_at` and `deleted_at` beside the resource's own
//! columns, and an index on `(company_id, created_at, id)`. If several kinds share a table, the column that distinguishes them
//! precedes `created_at` in the index. Each column that a list can be filtered by has an index of its own, in which it precedes
//! `created_at`. `tests/it/resources/lists_at_size.rs` names the exceptions with a reason. A log with a different table layout is read
//! through a view that has these columns. Routes other than lists reject unknown query parameters in the same way as lists do.
//!
//! # What is guaranteed
//!
//! * Records of another company and deleted records are never found: every statement contains the condition. For a caller who is
//!   restricted to one owner, neither are those of another owner ([`Resource::OWNED`]).
//! * A change, its consequences, the events about it and its entry in the audit trail are one transaction, a [`RecordTransaction`].
//! * Records are changed under a row lock. A request with `If-Match` only changes the version that the client has read.
//! * A referenced record exists and belongs to the same company when the change that references it is committed ([`Link`]).
//! * A change that leaves a record as it was is not written, keeps the version and publishes nothing.
//! * Responses and events show what the table contains, not what the request body contained.
//! * A page continues where the previous one ended, whatever was created or deleted in between.
//! * A client that follows a list sees each record that is created or changed at least once, whenever its transaction commits.
//!
//! # What is not guaranteed
//!
//! An `ETag` is the version of the record itself. Data of another record that is shown with it (an order shows its driver's name)
//! may change while the `ETag` stays the same.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! extension                     a namespace: its kinds with their routes and documentation
//! routes                        the handlers of the five routes
//! operations                    the five operations, for every caller
//! followed                      where a list that is followed goes on
//! body  parameters              what a request contains
//! write_request  read_request   a request that writes one record, or reads some
//! kind                          the traits of a kind, the transaction that changes records, and the statements
//! fields                        the declaration of fields and what describes them
//! values                        the types of fields
//! field_type                    what every such type tells
//! operation  path_id            the operations and the id in a path
//! entity_tag  cursor            the version of a record and the end of a page, as clients see them
//! ```

/// The code in this page is compiled as a doc test, so that it stays correct.
#[cfg(doctest)]
#[doc = include_str!("../../docs/extensions.md")]
struct Explained;

mod body;
mod cursor;
mod entity_tag;
mod extension;
mod field_type;
mod fields;
mod followed;
mod kind;
mod operation;
pub mod operations;
mod parameters;
mod path_id;
mod read_request;
mod routes;
mod values;
mod write_request;

pub use body::EmptyBody;
pub use cursor::{Cursor, Direction};
pub use entity_tag::IfMatch;
pub use extension::{Extension, KindDoc};
pub use field_type::samples::sample_id;
pub use field_type::{FieldType, FilterForm, FittingValue, Input, Operand};
pub use fields::{Columns, FieldDoc, Fields, Filter, FormField, Member, ShownIn, Values, form, label};
#[doc(hidden)]
pub use fields::{chosen, count_chosen};
pub use kind::list_parameters::ListParameters;
pub use kind::queries::{count_of, export_of};
pub use kind::{
    Change, Editable, EventData, EventDoc, Link, New, Owned, Presented, PublishesEvents, Record, RecordTransaction, Referable,
    ReferencedBy, Resource, ResourceDescriptor, ResourceState, Shown, Unique, Validated,
};
pub use operation::Operation;
pub use path_id::PathId;
pub use read_request::ReadRequest;
pub use values::{
    Count, GracePeriod, Instant, IntegerIn, IntegerOutOfRange, InvalidGracePeriod, InvalidInstant, InvalidLoggedWord, InvalidText,
    InvalidVariant, InvalidWebAddress, Line, LoggedEventName, LoggedRequestId, LoggedWord, Meta, NumberIn, NumberOutOfRange, Reference,
    Text, TextEnum, WebAddress, Word, no_such,
};
pub use write_request::WriteRequest;
