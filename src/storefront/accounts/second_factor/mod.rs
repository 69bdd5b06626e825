//! The second factor of a customer: set up, shown and removed by the customer ([`own`]), and asked for by every sign-in ([`sign_in`]).
//!
//! A new secret is only offered until a code has proven that the app has it. From then on, every first factor is answered with
//! `second_factor_required` and a handle, and `login-with-totp` opens the session. Neither a new password nor a take-back removes the factor:
//! a customer who has lost app and recovery codes asks the shop, which can ([`withdraw`]). Whatever happens to it is told.

mod own;
mod proof;
mod sign_in;
mod withdraw;

use crate::storefront::routes::Routes;
use crate::storefront::state::Storefront;

pub use own::tell;
pub use proof::{Answer, REFUSALS, prove};
pub use withdraw::tell_removed;

pub fn routes() -> Routes<Storefront> {
    own::routes().merge(sign_in::routes())
}
