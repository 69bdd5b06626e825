//! Extension resources: the five-route convention, written once (interface 2, Extension resource routes; decisions, section 9).
//!
//! A kind of record is a struct whose members are told once, by [`fields!`](crate::fields): the columns, the bodies, what is shown and how
//! it is documented follow from it ([`Fields`]). How it is listed is its [`Resource`]; what its changes mean to others is its
//! [`Announced`]; what its members may be beside each other is its [`Ruled`], which makes it [`Editable`]. A kind whose bodies have
//! another form than its records declares its columns alone ([`columns!`](crate::columns)) and is [`Editable`] by itself.
//!
//! An [`Extension`] is a namespace of such kinds: from the first trait come `GET` routes, from the last all five, and from the same list the
//! document that describes them. The statements are put together here from the names the resource gives: a resource has no SQL of its own
//! for being listed, found, created, changed and deleted. A route beside the five that writes a record begins with [`Writing`].
//! `example.rs` is the smallest resource there can be, and `docs/extensions.md` adds one from the start to the end.
//!
//! A type may stand for many kinds, which its room tells apart by their [`Terms`]: so do the kinds that files declare. Whoever learns only
//! from a file which kind it names asks a [`Referable`].
//!
//! Every table has the columns `id`, `company_id`, `version`, `created_at`, `updated_at`, `deleted_at` beside the resource's own, and an
//! index on `(company_id, created_at, id)`; where several kinds share a table, the column that tells them apart stands before `created_at`. So
//! does, in an index of its own, each column a list can be narrowed by, but for those that `tests/it/lists_at_size.rs` names with a reason. A log that is kept in another form is read through a view that has them.
//! What stands behind the `?` of another route than a list is refused like a parameter that a list does not know.
//!
//! # What is guaranteed
//!
//! * Nothing of another company, and nothing deleted, is ever found: the condition stands in every statement.
//! * A change, what follows from it and the events that tell of it are one transaction, an [`Edit`]: all of it happens or nothing.
//! * Records are changed under a lock on their row. Who sends `If-Match` changes the version they have read, or nothing.
//! * A record that is named is there, and of the same company, when the change that names it is committed ([`Link`]).
//! * What ends unchanged is not written, keeps its version and publishes nothing.
//! * What an answer and an event show is what the table holds, not what the body said.
//! * A page continues where the last one ended, whatever was created or deleted in between.
//!
//! What is not: an `ETag` is the version of the record itself; what is shown beside it of another record (an order shows its driver's
//! name) may change without it.

/// The code of the page that explains this, so that it goes on being true.
#[cfg(doctest)]
#[doc = include_str!("../../docs/extensions.md")]
struct Explained;

mod body;
mod columns;
mod cursor;
mod edit;
mod entity_tag;
#[cfg(test)]
mod example;
mod extension;
mod fields;
mod filter;
mod list_parameters;
mod member;
mod needed_by;
mod parameters;
mod queries;
mod record;
mod referable;
mod resource;
mod routes;
mod terms;
mod unique;
mod values;
mod writing;

pub use body::NoMembers;
pub use columns::{Columns, Values};
pub use edit::Edit;
pub use entity_tag::IfMatch;
pub use extension::Extension;
pub use fields::{Described, Fields};
pub use filter::Filter;
pub use member::Member;
pub use needed_by::NeededBy;
pub use parameters::Parameters;
pub use record::{Record, Shown};
pub use referable::Referable;
pub use resource::{Announced, Change, Editable, New, Presented, Resource, Room, Ruled};
pub use routes::{Operation, PathId};
use routes::{plural_path, read_only_routes, routes};
pub use terms::Terms;
pub use unique::Unique;
pub use values::{
    Instant, Line, Link, Meta, NotAText, NotAWebAddress, NotAWord, NotAnInstant, NotAnOverlap, NotWhole, OutOfRange, Overlap, Parsed,
    Reference, Text, WebAddress, Whole, Within, Words, no_such,
};
pub use writing::Writing;
