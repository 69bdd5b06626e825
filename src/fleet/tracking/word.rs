//! The status words of tracking statuses.

use serde::Deserialize;
use serde_json::json;

use crate::fleet::orders::status::Status;
use crate::resources::FilterForm;

const MAX_LEN: usize = 50;

/// A status in one word, such as `at_the_depot`: defined by the shop, or a status of the order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct TrackingWord(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be a word of lower-case letters, digits and underscores, such as at_the_depot.")]
pub struct InvalidTrackingWord;

impl TryFrom<String> for TrackingWord {
    type Error = InvalidTrackingWord;

    fn try_from(word: String) -> Result<Self, InvalidTrackingWord> {
        let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let good = (1..=MAX_LEN).contains(&word.len()) && word.bytes().all(known);
        good.then_some(Self(word)).ok_or(InvalidTrackingWord)
    }
}

impl From<TrackingWord> for String {
    fn from(word: TrackingWord) -> Self {
        word.0
    }
}

crate::field_type!(
    TrackingWord => String,
    json!({ "type": "string", "pattern": format!("^[a-z0-9_]{{1,{MAX_LEN}}}$") }),
    in events json!({ "type": "string" }),
    filtered by FilterForm::text::<TrackingWord>("a word such as at_the_depot")
);

/// Whether the word is a status of orders, which only the order itself can record.
pub(super) fn is_order_status(word: &str) -> bool {
    word.parse::<Status>().is_ok()
}
