//! What no two records have in common.

use crate::kernel::database::violated_constraint;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::Announced;

/// A unique constraint, and what its refusal means.
#[derive(Clone, Copy, Debug)]
pub struct Unique {
    /// Its name in the database.
    pub constraint: &'static str,
    /// The member that is to blame.
    pub member: &'static str,
    /// What is wrong with it.
    pub sentence: &'static str,
}

/// What the failure of a statement on records of the kind `R` means to whoever asked for it.
pub(super) fn refusal<R: Announced>(error: sqlx::Error) -> Problem {
    let violated = R::UNIQUE.iter().find(|unique| violated_constraint(&error) == Some(unique.constraint));
    match violated {
        Some(unique) => FieldErrors::one(unique.member, unique.sentence),
        None => error.into(),
    }
}
