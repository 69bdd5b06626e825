//! Extension resources: the five-route convention, written once (interface 2, Extension resource routes; decisions, section 9).
//!
//! A kind of record is a struct of its columns, declared with [`columns!`](crate::columns). What is told about it outside, and how it is
//! listed, is its [`Resource`]; what its changes mean to others is its [`Announced`]; what a body may do to it is its [`Editable`].
//! From the first come `GET` routes ([`read_only_routes`]), from the last all five ([`routes`]). The statements are put together here
//! from the names the resource gives: a resource has no SQL of its own for being listed, found, created, changed and deleted.
//! A type may stand for many kinds, which its room tells apart by their [`Terms`]: so do the kinds that files declare.
//! `example.rs` is the smallest resource there can be.
//!
//! Every table has the columns `id`, `company_id`, `version`, `created_at`, `updated_at`, `deleted_at` beside the resource's own, and an
//! index on `(company_id, created_at, id)`. A log that is kept in another form is read through a view that has them.
//!
//! # What is guaranteed
//!
//! * Nothing of another company, and nothing deleted, is ever found: the condition stands in every statement.
//! * A change, what follows from it and the events that tell of it are one transaction, an [`Edit`]: all of it happens or nothing.
//! * Records are changed under a lock on their row. Who sends `If-Match` changes the version they have read, or nothing.
//! * What ends unchanged is not written, keeps its version and publishes nothing.
//! * What an answer and an event show is what the table holds, not what the body said.
//! * A page continues where the last one ended, whatever was created or deleted in between.
//!
//! What is not: an `ETag` is the version of the record itself; what is shown beside it of another record (an order shows its driver's
//! name) may change without it.

mod body;
mod columns;
mod cursor;
mod edit;
mod entity_tag;
#[cfg(test)]
mod example;
mod filter;
mod list_parameters;
mod member;
mod queries;
mod record;
mod resource;
mod routes;
mod terms;
mod unique;
mod values;

pub use columns::{Columns, Values};
pub use edit::Edit;
pub use entity_tag::IfMatch;
pub use filter::Filter;
pub use member::Member;
pub use record::{Record, Shown};
pub use resource::{Announced, Change, Editable, New, Resource, Room};
pub use routes::{PathId, read_only_routes, routes, routes_of};
pub use terms::Terms;
pub use unique::Unique;
pub use values::{Instant, Line, Meta, NotAText, NotAnInstant, NotAnOverlap, OutOfRange, Overlap, Reference, Text, Within};
