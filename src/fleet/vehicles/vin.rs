//! Vehicle identification numbers.

use serde::Deserialize;
use serde_json::json;

use crate::resources::FilterForm;

/// Seventeen digits and capital letters without I, O and Q (ISO 3779). The check digit is not verified, because many countries do
/// not use it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Vin(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be a vehicle identification number: 17 digits and letters without I, O and Q.")]
pub struct InvalidVin;

impl TryFrom<String> for Vin {
    type Error = InvalidVin;

    fn try_from(typed: String) -> Result<Self, InvalidVin> {
        let vin = typed.trim().to_ascii_uppercase();
        let known = |byte: u8| byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !matches!(byte, b'I' | b'O' | b'Q'));
        (vin.len() == 17 && vin.bytes().all(known)).then_some(Self(vin)).ok_or(InvalidVin)
    }
}

impl From<Vin> for String {
    fn from(vin: Vin) -> Self {
        vin.0
    }
}

crate::field_type!(
    Vin => String,
    json!({ "type": "string", "pattern": "^[0-9A-HJ-NPR-Z]{17}$" }),
    in events json!({ "type": "string" }),
    filtered by FilterForm::text::<Vin>("a vehicle identification number")
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vin_has_one_spelling() {
        let vin = |typed: &str| Vin::try_from(typed.to_owned()).map(String::from);
        assert_eq!(vin(" 1hgcm82633a004352 ").unwrap(), "1HGCM82633A004352");
        for text in ["", "1HGCM82633A00435", "1HGCM82633A0043521", "IHGCM82633A004352", "1HGCM82633A00435-", "1HGCM82633A00435é"] {
            assert_eq!(vin(text), Err(InvalidVin), "{text:?}");
        }
    }
}
