//! The handbook: what the API's documentation says, read from the OpenAPI document.
//!
//! Whoever shows the documentation (the pages of [`console`](crate::console), `portico docs`) reads it here. The routes describe
//! themselves and the catalogue has the events, so nothing is said twice, and a declared kind of record is documented like any other.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! bruno  code              all operations as a collection for the Bruno client; one operation as a program
//! reading                  how the OpenAPI document is read
//! contents                 sections, chapters, operations, events and problems
//! fields                   what a schema says of each member
//! sample                   a value that fits a schema
//! schema                   schemas with what they refer to
//! ```

pub mod bruno;
pub mod code;
mod contents;
mod fields;
mod reading;
mod sample;
mod schema;

use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::Value;

pub use contents::{Answer, Body, Chapter, Contents, Credential, EventEntry, EventGroup, Operation, Parameter, Place, Refusal, Section};
pub use fields::Field;

type MakeDocument = Box<dyn FnOnce() -> Value + Send>;

/// The documentation of one deployment. It is read when it is asked for first.
#[derive(Clone)]
pub struct Handbook(Arc<Lazily>);

struct Lazily {
    document: LazyLock<Value, MakeDocument>,
    contents: OnceLock<Contents>,
}

impl Handbook {
    /// The documentation that is in this OpenAPI document.
    pub fn new(document: impl FnOnce() -> Value + Send + 'static) -> Self {
        Self(Arc::new(Lazily { document: LazyLock::new(Box::new(document)), contents: OnceLock::new() }))
    }

    /// The OpenAPI document.
    pub fn document(&self) -> &Value {
        &self.0.document
    }

    /// What is in it.
    pub fn contents(&self) -> &Contents {
        self.0.contents.get_or_init(|| Contents::read(self.document()))
    }
}
