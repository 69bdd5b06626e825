//! Shared parts of the benchmarks: the service in its own process, and callers with minimal overhead.

pub mod callgrind;
pub mod calls;
pub mod cells;
pub mod company;
pub mod customers;
pub mod database;
pub mod floor;
pub mod hub;
pub mod load;
pub mod offer;
pub mod pgbench;
pub mod process;
pub mod program;
pub mod publisher;
pub mod sender;
pub mod service;
pub mod sink;
pub mod usage;
