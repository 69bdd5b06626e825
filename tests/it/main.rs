//! The specification, told as stories to the real router over a real Postgres.

mod support;

mod codes;
mod database_away;
mod fleet_drivers;
mod fleet_order_statuses;
mod fleet_orders;
mod layers;
mod passwords;
mod problems;
mod providers;
mod registration;
mod resource_lists;
mod resources;
mod texts;
mod tokens;
