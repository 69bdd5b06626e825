//! Event names: `<resource>.<action>`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A well-formed event name. Whether the event exists is up to the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct EventName(Cow<'static, str>);

/// The text does not have the form `<resource>.<action>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event name must be <resource>.<action>, both of lower-case letters, digits and underscores")]
pub struct InvalidEventName;

impl EventName {
    /// A name in the program. The tests parse every name of the catalogue.
    pub const fn constant(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// `order.created`
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the dot: the group that a subscription can select as a whole (`order.*`).
    pub fn resource(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }
}

impl FromStr for EventName {
    type Err = InvalidEventName;

    fn from_str(text: &str) -> Result<Self, InvalidEventName> {
        let is_word = |word: &str| {
            word.starts_with(|first: char| first.is_ascii_lowercase())
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        match text.split_once('.') {
            Some((resource, action)) if text.len() <= 100 && is_word(resource) && is_word(action) => Ok(Self(Cow::Owned(text.to_owned()))),
            _ => Err(InvalidEventName),
        }
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_resource_dot_action() {
        assert_eq!("proof_of_delivery.created".parse::<EventName>().unwrap().resource(), "proof_of_delivery");
        for text in ["", "order", "order.", ".created", "Order.created", "order.created.twice", "order.*", "1.2"] {
            assert_eq!(text.parse::<EventName>(), Err(InvalidEventName), "{text:?}");
        }
    }
}
