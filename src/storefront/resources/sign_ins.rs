//! The sign-in audit in the API for operators.

use crate::callers::Area;
use crate::kernel::ids::{CustomerId, SignInId, StoreId};
use crate::resources::{LoggedWord, Reference, Resource};
use crate::storefront::resources::logged_values::{LoggedAddress, LoggedOutcome};
use crate::storefront::resources::test_identities::TestedIdentity;
use crate::storefront::state::Storefront;

crate::read_only! {
    /// An attempt to sign in, in the API for operators.
    pub struct SignInRecord {
        /// The store.
        #[filtered]
        store_id as "store": Reference<StoreId>,
        /// The customer, if known.
        #[filtered]
        customer_id as "customer": Option<Reference<CustomerId>>,
        /// `registration`, `code`, `password`, `password_reset`, `passkey`, `totp` or `recovery_code` for a second factor, or the identity provider: `idp_a` for `login-with-idp-a`. A list can be filtered by any word, because companies name their providers.
        #[filtered]
        method: LoggedWord,
        /// The phone number or email address of the attempt.
        #[filtered]
        identity: Option<TestedIdentity>,
        /// `signed_in`, or the code of the problem that refused it.
        #[filtered]
        outcome: LoggedOutcome,
        /// The client's address.
        #[filtered]
        address: LoggedAddress,
        /// The client's `User-Agent`.
        user_agent: Option<String>,
    }
}

impl Resource for SignInRecord {
    type Id = SignInId;
    type State = Storefront;

    const SINGULAR: &'static str = "sign_in";
    const PLURAL: &'static str = "sign_ins";
    const AREA: Area = Area::Customers;
    const TABLE: &'static str = "sign_in_log";
}
