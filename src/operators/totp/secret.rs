//! The secret of an operator's authenticator app, as it is stored.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{ApplicationKey, CannotOpen, TotpSecret};
use crate::kernel::ids::OperatorId;
use crate::kernel::sealed_values::{Context, SealedColumn, SentTo};

/// The column that holds secrets.
pub const SEALED: SealedColumn = SealedColumn {
    table: "operators",
    column: "sealed_totp_secret",
    content: "second factors of operators",
    context: Context::OfId(|id| context(id.into())),
    sent_to: SentTo::Nobody,
};

pub(super) fn seal(secret: &TotpSecret, key: &ApplicationKey, operator: OperatorId) -> Vec<u8> {
    key.seal(&context(operator), secret.bytes())
}

pub(super) fn open(key: &ApplicationKey, operator: OperatorId, sealed: &[u8]) -> Result<TotpSecret, CannotOpen> {
    key.open(&context(operator), sealed).map(TotpSecret::from)
}

/// What is typed into an app that reads no QR codes: groups of four letters and digits.
pub(super) fn in_groups(secret: &TotpSecret) -> SecretString {
    let text = secret.base32();
    let groups: Vec<_> = text.expose_secret().as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
    groups.join(" ").into()
}

fn context(operator: OperatorId) -> String {
    format!("totp {operator}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_sealed_secret_is_that_of_its_operator() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let [ada, eve] = [1, 2].map(|number| OperatorId::from(Uuid::from_u128(number)));
        let sealed = seal(&TotpSecret::generate(), &key, ada);
        assert!(open(&key, ada, &sealed).is_ok() && open(&key, eve, &sealed).is_err());
    }

    #[test]
    fn a_person_types_the_secret_in_groups() {
        let shown = in_groups(&TotpSecret::generate());
        assert_eq!((shown.expose_secret().len(), shown.expose_secret().matches(' ').count()), (39, 7));
    }
}
