//! Moving in: the customers of another service become customers of a store, with the passwords that they have.
//!
//! A file has one customer a line ([`line`]). [`Import`] takes it in batches; each is one transaction. A line whose external id is known
//! changes nothing, so a file that was interrupted, or mended, is simply given again. A line that cannot be taken is refused with a reason, and
//! the others go on ([`report`]).
//!
//! The password of the file opens an account. What proves who somebody is (a proven contact, a link to an identity provider) does so only if the
//! importer vouches for it: otherwise a contact is listed and not proven, as one that was typed in, and a line with a link is refused. The person
//! whom the provider knows would else be led into an account that the importer's password opens too.
//!
//! No event is published: whoever moves in a hundred thousand customers knows them, and wants no hundred thousand webhooks. The audit trail
//! has the import under the store.
//!
//! Not guaranteed: that the time which a wrong password takes does not tell that an account has still a hash of another service that takes
//! more work than ours.

mod import;
mod line;
mod report;

pub use import::{Import, Options};
pub use line::schema;
pub use report::Report;
