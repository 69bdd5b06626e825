//! What a customer has proven to read.

use crate::contact::{EmailAddress, PhoneNumber};
use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;

/// The contacts that a customer has proven.
#[derive(Clone, Debug, Default)]
pub struct ProvenContacts {
    /// The mail address.
    pub email: Option<EmailAddress>,
    /// The phone number.
    pub phone: Option<PhoneNumber>,
}

/// The contacts that a customer with an open account has proven. An account for tests has proven none: its code is no secret.
pub async fn find_proven_contacts(conn: &mut Connection, customer: CustomerId) -> Result<ProvenContacts, sqlx::Error> {
    let found = sqlx::query_as!(
        ProvenContacts,
        r#"select case when email_verified_at is not null then email end as "email: EmailAddress",
                case when phone_verified_at is not null then phone end as "phone: PhoneNumber"
         from customers where id = $1 and closed_at is null and test_identity_id is null"#,
        customer.uuid(),
    );
    Ok(found.fetch_optional(conn).await?.unwrap_or_default())
}
