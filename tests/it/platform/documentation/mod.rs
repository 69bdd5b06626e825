//! The documentation: its pages, the programs on them, and the collection for Bruno.

mod bruno;
mod examples;
mod pages;
mod programs;
mod webhooks;
