//! The customers of a store, and their operators.

mod audit;
mod card;
mod claims;
mod closure;
mod code_rules;
mod codes;
mod contact_change;
mod devices;
mod documented;
pub mod generated_bodies;
mod guessing;
mod identities;
mod mail_limit;
mod messages;
mod operators;
mod password_reset;
mod passwords;
mod profile;
mod providers;
mod registration;
mod sign_in_by_mail;
mod sms_guard;
mod sms_provider_guide;
mod sms_providers;
mod social;
pub mod text_log;
pub mod tokens;
