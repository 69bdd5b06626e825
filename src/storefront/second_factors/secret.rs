//! The secret of a customer's authenticator app, as it is stored.

use crate::kernel::crypto::{ApplicationKey, CannotOpen, TotpSecret};
use crate::kernel::ids::CustomerId;
use crate::kernel::sealed_values::{Context, SealedColumn, SentTo};

/// The column that holds secrets.
pub const SEALED: SealedColumn = SealedColumn {
    table: "authenticators",
    column: "sealed_secret",
    content: "second factors of customers",
    context: Context::OfId(|id| context(id.into())),
    sent_to: SentTo::Nobody,
};

pub fn seal(secret: &TotpSecret, key: &ApplicationKey, customer: CustomerId) -> Vec<u8> {
    key.seal(&context(customer), secret.bytes())
}

/// Fails if the secret is another customer's, or the application key has changed since it was stored.
pub fn open(key: &ApplicationKey, customer: CustomerId, sealed: &[u8]) -> Result<TotpSecret, CannotOpen> {
    key.open(&context(customer), sealed).map(TotpSecret::from)
}

fn context(customer: CustomerId) -> String {
    format!("totp of {customer}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_sealed_secret_is_that_of_its_customer() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let [ada, eve] = [1, 2].map(|number| CustomerId::from(Uuid::from_u128(number)));
        let sealed = seal(&TotpSecret::generate(), &key, ada);
        assert!(open(&key, ada, &sealed).is_ok() && open(&key, eve, &sealed).is_err());
    }
}
