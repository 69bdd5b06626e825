//! The specification, told as stories to the real router over a real Postgres.

mod support;

mod codes;
mod layers;
mod passwords;
mod problems;
mod registration;
mod texts;
mod tokens;
mod webhooks;
