//! What lets a newcomer run and test Portico without setting anything up: a private PostgreSQL, the mailbox, a certificate authority for
//! loopback, and a receiver that shows what a subscriber would get.

pub mod authority;
pub mod data_dir;
pub mod demo;
pub mod mailbox;
pub mod postgres;
pub mod receive;
pub mod temporary;
pub mod workspace;
