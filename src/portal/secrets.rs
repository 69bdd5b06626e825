//! The key of a link and the token of a session.

use crate::kernel::crypto::secret_token;

secret_token! {
    /// The key of a link in plain text, as the address contains it behind its `#`.
    LinkKey, 40
}

secret_token! {
    /// The token of a session in plain text, as the cookie contains it.
    SessionToken, 43
}
