//! Query parameters of routes other than lists of records.

use crate::kernel::problem::{Problem, ProblemCode};

pub(super) fn parameter_invalid(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemCode::ParameterInvalid).detail(detail)
}
