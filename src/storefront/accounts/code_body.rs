//! The body of the routes that take a code from a signed-in customer.

use crate::storefront::codes::SubmittedCode;
use crate::storefront::routes::body;

body! {
    /// A code from a signed-in customer.
    #[derive(Debug)]
    pub struct CodeBody {
        /// The verification code: six digits.
        #[serde(default)]
        pub code: SubmittedCode,
    }
}
