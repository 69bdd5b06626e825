//! The name of a provider in the routes of a deployment.

use std::fmt;

/// The name of the provider in routes such as `…/customers/card-setup-intent`: the neutral `card`, or the name that
/// the deployment's apps use.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct RouteName(String);

/// The text is not a valid name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name of a provider must have 1 to 40 lower-case letters, digits and hyphens, and begin with a letter")]
pub struct InvalidRouteName;

impl TryFrom<String> for RouteName {
    type Error = InvalidRouteName;

    fn try_from(text: String) -> Result<Self, InvalidRouteName> {
        let is_word = text.len() <= 40
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if is_word { Ok(Self(text)) } else { Err(InvalidRouteName) }
    }
}

impl fmt::Display for RouteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_name_is_a_word_that_means_nothing_to_the_router() {
        let read = |text: &str| RouteName::try_from(text.to_owned());
        assert_eq!(read("idp-a").unwrap().to_string(), "idp-a");
        for text in ["", "Card", "{card}", "card/x", "1card", "-card", "caf\u{e9}", &"x".repeat(41)] {
            assert_eq!(read(text), Err(InvalidRouteName), "{text:?}");
        }
    }
}
