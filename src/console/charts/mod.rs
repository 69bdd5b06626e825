//! Charts: SVG that the server makes, from the figures of the API.
//!
//! A chart is bars of one colour, with what failed stacked on top in the colour of failures. Each bar says what it stands for when it is
//! pointed at, and a table below has the same numbers for whoever cannot see the bars.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! figures                  figures of the API, and the charts that can be drawn of them
//! bars      period         bars beside one another, with their table; how far back a page looks
//! number                   numbers and durations, as people read them
//! ```

mod bars;
mod figures;
mod number;
mod period;

pub use bars::{Chart, Sparkline};
pub use figures::Figures;
pub use number::{number, rate};
pub use period::{Choice, Period};
