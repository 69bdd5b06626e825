//! Query parameters of routes other than lists of records.

use crate::kernel::problem::{Problem, ProblemCode, Sentence};

pub(super) fn parameter_invalid(detail: impl Into<Sentence>) -> Problem {
    Problem::new(ProblemCode::ParameterInvalid).detail(detail)
}
