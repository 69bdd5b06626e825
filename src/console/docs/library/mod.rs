//! The guides of `docs`, which are part of the program, and the files that they link to.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! guide                    from Markdown to HTML
//! files                    what is part of the program
//! ```

mod files;
mod guide;

pub use files::{FILES, IMAGES};
pub use guide::{GUIDES, Guide};
