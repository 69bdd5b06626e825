//! The specification, told as stories to the real router over a real Postgres.

#![expect(clippy::unwrap_used, reason = "a story that meets what it does not expect ends there")]

mod support;

mod api_keys;
mod card;
mod claims;
mod closure;
mod codes;
mod commands;
mod database_away;
mod declared;
mod devices;
mod event_types;
mod every_resource;
mod fleet_delivery;
mod fleet_drivers;
mod fleet_fleets;
mod fleet_issues;
mod fleet_locations;
mod fleet_order_model;
mod fleet_order_statuses;
mod fleet_orders;
mod fleet_proofs;
mod fleet_tracking;
mod fleet_vehicles;
mod gateways;
mod generated_bodies;
mod identities;
mod instances;
mod layers;
mod listening;
mod managing_api_keys;
mod messages;
mod openapi;
mod operating_the_storefront;
mod passwords;
mod phone_change;
mod problems;
mod profile;
mod providers;
mod publishing;
mod realtime;
mod registration;
mod resource_lists;
mod resources;
mod social;
mod storage;
mod streaming;
mod text_providers;
mod texts;
mod tokens;
mod transport;
mod webhooks;
