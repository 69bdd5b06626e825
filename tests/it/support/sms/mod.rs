//! Providers of texts.

pub mod http;
pub mod twilio;
pub mod vonage;
