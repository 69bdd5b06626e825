//! Languages as clients and files name them.

mod accepted;
mod tag;

pub use accepted::AcceptedLanguages;
pub use tag::LanguageTag;
