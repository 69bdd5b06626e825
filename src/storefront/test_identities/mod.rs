//! Test identities: phone numbers and email addresses of nobody, whose codes are fixed and never sent. Reviewers of an app and automated
//! tests register and sign in with them. They are records ([`TestIdentityRecord`](crate::storefront::resources)); here they are looked up.

mod queries;

use chrono::{DateTime, Utc};
use secrecy::SecretString;

use crate::kernel::ids::TestIdentityId;

pub use queries::find_test_identity;

/// A phone number or email address for tests.
#[derive(Debug)]
pub struct TestIdentity {
    pub id: TestIdentityId,
    /// The code that is right for it.
    pub code: SecretString,
    pub expires_at: DateTime<Utc>,
}
