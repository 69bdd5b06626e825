//! What an app sends to sign in with a listed provider.

use std::fmt;
use std::str::FromStr;

use crate::providers::identity::user_id_member;

/// A field of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The identity token.
    Token,
    /// The app's client id at the provider.
    ClientId,
    /// The authorization code.
    AuthorizationCode,
    /// The provider's id of the person.
    UserId,
    /// The nonce that the app passed to the provider.
    Nonce,
    /// The name of the customer.
    Name,
}

/// A field that the requests to some providers have: an item of `fields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FurtherField(pub(super) Field);

impl FromStr for FurtherField {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "authorization_code" => Ok(Self(Field::AuthorizationCode)),
            "user_id" => Ok(Self(Field::UserId)),
            "name" => Ok(Self(Field::Name)),
            _ => Err("a further field is \"authorization_code\", \"user_id\" or \"name\""),
        }
    }
}

/// The name of the field with the identity token.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct TokenField(String);

impl TryFrom<String> for TokenField {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_name = text.len() <= 40
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_free = !text.ends_with("UserId") && !["clientId", "authorizationCode", "nonce", "name"].contains(&text.as_str());
        match (is_name, is_free) {
            (true, true) => Ok(Self(text)),
            (true, false) => Err("token_field is the name of another field"),
            (false, _) => Err("token_field must have 1 to 40 letters and digits, and begin with a lower-case letter"),
        }
    }
}

impl Default for TokenField {
    fn default() -> Self {
        Self("idToken".to_owned())
    }
}

impl fmt::Display for TokenField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The fields of the request for one provider.
#[derive(Clone, Debug)]
pub struct Form {
    token: TokenField,
    fields: Vec<Field>,
}

impl Form {
    /// Every request has a token and may have a nonce.
    pub(super) fn new(token: &TokenField, has_client_id: bool, further: &[FurtherField]) -> Self {
        let is_taken = |field: &Field| match field {
            Field::Token | Field::Nonce => true,
            Field::ClientId => has_client_id,
            Field::AuthorizationCode | Field::UserId | Field::Name => further.contains(&FurtherField(*field)),
        };
        let all = [Field::Token, Field::ClientId, Field::AuthorizationCode, Field::UserId, Field::Nonce, Field::Name];
        Self { token: token.clone(), fields: all.into_iter().filter(is_taken).collect() }
    }

    /// The fields, in the order of the documentation.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The name of a field for a provider with this name.
    pub fn name_of(&self, field: Field, provider: &str) -> String {
        match field {
            Field::Token => self.token.to_string(),
            Field::ClientId => "clientId".to_owned(),
            Field::AuthorizationCode => "authorizationCode".to_owned(),
            Field::UserId => user_id_member(provider),
            Field::Nonce => "nonce".to_owned(),
            Field::Name => "name".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_of_the_token_has_a_name_of_its_own() {
        let read = |text: &str| TokenField::try_from(text.to_owned());
        assert_eq!(read("identityToken").unwrap().to_string(), "identityToken");
        for text in ["", "id_token", "IdToken", "1Token", "name", "nonce", "clientId", "acmeUserId", &"x".repeat(41)] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
