//! Owners of webhooks and events, and the portal: docs/portal.md.

mod limits;
mod links;
mod owners;
mod pages;
mod reach;
mod restricted;
