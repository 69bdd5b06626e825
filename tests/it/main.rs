//! The specification, told as stories to the real router over a real Postgres.

mod support;

mod codes;
mod database_away;
mod layers;
mod passwords;
mod problems;
mod providers;
mod registration;
mod social;
mod texts;
mod tokens;
