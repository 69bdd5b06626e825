//! The developer API, below `developers/int/v1`.

mod api_keys;
mod changes;
mod changes_by_commands;
mod event_types;
mod feed;
mod managing_api_keys;
mod operators;
mod publishing;
mod requests_of_events;
mod streaming;
