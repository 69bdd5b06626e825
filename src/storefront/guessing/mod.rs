//! Guessing: a wrong code or password costs the one who guesses, and the owner of the account as little as possible (decisions, section 4).
//!
//! A wrong guess counts three times, and each count refuses for itself:
//!
//! * by the **subject** it is a guess at: the account that the identity leads to, whatever identity is typed, or else the identity. Ten
//!   lock the subject out, each time for longer ([`lockouts`]). [`codes`](crate::storefront::codes) and
//!   [`passwords`](crate::storefront::passwords) count these;
//! * by the **networks** of the client, over all subjects of a store ([`failures`]): who tries one password at many accounts is refused
//!   before anything is counted against the accounts;
//! * by both, at **one subject from one place** (IPv6: a /48): one client locks a customer out for an hour and a quarter a day, and no longer.
//!
//! A network that has made half of the wrong guesses it may is *suspicious* ([`suspects`]): a store may ask it for a challenge.
//!
//! A client that the customer has signed in from before ([`known`]) is *favoured*: neither a lock-out that others have caused nor the
//! failures of others in its networks refuse it, until it has made a few wrong guesses of its own.

mod client;
mod failures;
mod guess;
mod known;
pub mod lockouts;
mod suspects;

pub use client::Client;
pub use failures::{forget_failures, note_failed_proof, note_wrong, take_back};
pub(crate) use guess::standing;
pub use guess::{Exceeded, Guess, Kind, Standing, account_of};
pub use known::{forget_clients, forget_old_clients, is_known};
pub use suspects::Suspects;
