//! Tools to run and test Portico without any setup: a private PostgreSQL, the mailbox, a certificate authority for loopback, and a
//! webhook receiver that shows what a subscriber would receive.

pub mod authority;
pub mod data_dir;
pub mod demo;
pub mod mailbox;
pub mod postgres;
pub mod receive;
pub mod temporary;
pub mod workspace;
