//! Deserializers for settings: an empty text is "not set", lists are arrays or comma-separated text, durations are positive. And the headers
//! that a setting has.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer};

/// `#[serde(deserialize_with = "settings::optional")]`: `""` is `None`, so that every key can be listed in the defaults and an
/// empty environment variable unsets one.
pub fn optional<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(D::Error::custom) }
}

/// 1000 years: longer than any sensible setting, and short enough to be added to any instant.
const MAX_DURATION: Duration = Duration::from_secs(1_000 * 366 * 24 * 60 * 60);

/// `#[serde(deserialize_with = "settings::time")]`: "30s", "365d". Zero is rejected, because it would mean that a wait never
/// happens or a timeout always expires.
pub fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    match humantime_serde::deserialize(deserializer)? {
        Duration::ZERO => Err(D::Error::custom("this duration must be longer than zero")),
        time if time > MAX_DURATION => Err(D::Error::custom("this duration must be shorter than a thousand years")),
        time => Ok(time),
    }
}

/// `#[serde(deserialize_with = "settings::optional_time")]`: `""` is `None`. Zero is a duration here.
pub fn optional_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    match humantime_serde::deserialize(text.into_deserializer())? {
        time if time > MAX_DURATION => Err(D::Error::custom("this duration must be shorter than a thousand years")),
        time => Ok(Some(time)),
    }
}

/// `#[serde(deserialize_with = "settings::seconds")]`: a duration that clients see in whole seconds; at least one second.
pub fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let time = time(deserializer)?;
    if time.as_secs() == 0 { Err(D::Error::custom("this duration must be at least one second")) } else { Ok(time) }
}

/// `#[serde(deserialize_with = "settings::list")]`: an array, or text for environment variables, with commas or ends of lines between the
/// items.
pub fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let items = items(deserializer)?;
    items.iter().map(|item| item.parse().map_err(|error: T::Err| D::Error::custom(format!("{item}: {error}")))).collect()
}

/// `#[serde(deserialize_with = "settings::secrets")]`: a list of secrets, which no error shows.
pub fn secrets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SecretString>, D::Error> {
    Ok(items(deserializer)?.into_iter().map(SecretString::from).collect())
}

/// The headers of a text with one `Name: value` per line, which are never shown, because they may be credentials. The error is the number of a
/// line that is no header.
pub fn headers(lines: &SecretString) -> Result<HeaderMap, usize> {
    let mut headers = HeaderMap::new();
    for (number, line) in (1_usize..).zip(lines.expose_secret().lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let (name, value) = line.split_once(':').ok_or(number)?;
        let name: HeaderName = name.trim().parse().map_err(|_| number)?;
        let mut value: HeaderValue = value.trim().parse().map_err(|_| number)?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

fn items<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
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
    Ok(match Form::deserialize(deserializer)? {
        Form::Array(items) => items.into_iter().map(Item::into_text).collect(),
        Form::Text(text) => text.split([',', '\n']).map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect(),
    })
}
