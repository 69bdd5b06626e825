//! What the benchmarks share: a release build of the service in a process of its own, and callers that cost next to nothing.

pub mod calls;
pub mod service;
