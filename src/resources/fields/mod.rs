//! The fields of a kind of record, declared once by [`fields!`](crate::fields), and everything that describes them.

mod columns;
mod declaration;
mod field_doc;
mod filter;
mod form;
mod marks;
mod member;

pub use columns::{Columns, Values};
pub use declaration::Fields;
pub use field_doc::{FieldDoc, ShownIn};
pub use filter::Filter;
pub use form::{FormField, form, label};
pub use marks::{chosen, count_chosen};
pub use member::Member;
