//! Sending messages to customers: what every text and mail must pass before it is sent, and the notices of what happened to an account.

mod channel;
mod judged_text;
pub mod mail_limit;
pub mod notices;
pub mod send_limit;
mod text_number;

pub use channel::Channel;
pub use judged_text::{judge_text, note_taken};
pub use text_number::read_number;
