//! How settings are read: empty text is "not set", lists are arrays or comma-separated text.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};

/// `#[serde(deserialize_with = "settings::optional")]`: `""` is `None`, so that every key can stand in the defaults and an
/// empty environment variable unsets one.
pub fn optional<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(D::Error::custom) }
}

/// `#[serde(deserialize_with = "settings::list")]`: an array, or text separated by commas as an environment variable has it.
pub fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Form {
        Array(Vec<Item>),
        Text(String),
    }
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Item {
        Text(String),
        Number(i64),
    }
    impl Item {
        fn into_text(self) -> String {
            match self {
                Self::Text(text) => text,
                Self::Number(number) => number.to_string(),
            }
        }
    }
    let items: Vec<String> = match Form::deserialize(deserializer)? {
        Form::Array(items) => items.into_iter().map(Item::into_text).collect(),
        Form::Text(text) => text.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect(),
    };
    items.iter().map(|item| item.parse().map_err(|error: T::Err| D::Error::custom(format!("{item}: {error}")))).collect()
}
