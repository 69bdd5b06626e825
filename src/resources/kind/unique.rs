//! Unique constraints of resources.

use crate::kernel::database::violated_constraint;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::PublishesEvents;

/// A unique constraint, and the validation error that its violation becomes.
#[derive(Clone, Copy, Debug)]
pub struct Unique {
    /// The constraint's name in the database.
    pub constraint: &'static str,
    /// The field that the error is about.
    pub member: &'static str,
    /// The message of the error.
    pub sentence: &'static str,
}

/// Maps a failed statement on records of the kind `R` to a validation error if it violated one of [`PublishesEvents::UNIQUE`].
pub(super) fn refusal<R: PublishesEvents>(error: sqlx::Error) -> Problem {
    let violated = R::UNIQUE.iter().find(|unique| violated_constraint(&error) == Some(unique.constraint));
    match violated {
        Some(unique) => FieldErrors::one(unique.member, unique.sentence),
        None => error.into(),
    }
}
