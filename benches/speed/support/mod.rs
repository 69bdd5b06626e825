//! What the benchmarks share: the service in a process of its own, and callers that cost next to nothing.

pub mod calls;
pub mod customers;
pub mod database;
pub mod hub;
pub mod load;
pub mod pgbench;
pub mod publisher;
pub mod sender;
pub mod service;
pub mod sink;
pub mod usage;
