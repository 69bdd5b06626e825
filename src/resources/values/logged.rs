//! Words and names in logs, which only the service writes. The filter of a list reads them like any field, so that a value that no entry can have is
//! refused.

use serde::Deserialize;
use serde_json::json;

use crate::events::{EventName, InvalidEventName};
use crate::kernel::request_id::RequestId;
use crate::resources::FilterForm;

/// The longest word. No name of a provider is half as long.
const MAX_LEN: usize = 100;

/// A word of lower-case letters, digits and underscores that companies may choose, such as the name of a provider. A word of a closed list is a
/// [`Word`](crate::resources::Word).
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct LoggedWord(String);

/// The text is not such a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be a word of lower-case letters, digits and underscores.")]
pub struct InvalidLoggedWord;

impl TryFrom<String> for LoggedWord {
    type Error = InvalidLoggedWord;

    fn try_from(text: String) -> Result<Self, InvalidLoggedWord> {
        let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_word = (1..=MAX_LEN).contains(&text.len()) && text.bytes().all(known);
        is_word.then_some(Self(text)).ok_or(InvalidLoggedWord)
    }
}

impl From<LoggedWord> for String {
    fn from(word: LoggedWord) -> Self {
        word.0
    }
}

/// The name of an event, whether it is in the catalogue or not.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct LoggedEventName(EventName);

impl TryFrom<String> for LoggedEventName {
    type Error = InvalidEventName;

    fn try_from(text: String) -> Result<Self, InvalidEventName> {
        text.parse().map(Self)
    }
}

impl From<LoggedEventName> for String {
    fn from(name: LoggedEventName) -> Self {
        name.0.as_str().to_owned()
    }
}

/// The id of a request, in a column of texts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub struct LoggedRequestId(RequestId);

impl From<LoggedRequestId> for String {
    fn from(id: LoggedRequestId) -> Self {
        id.0.to_string()
    }
}

crate::field_type!(LoggedWord => String, json!({ "type": "string" }), filtered by FilterForm::text::<LoggedWord>("a word such as password"));
crate::field_type!(
    LoggedEventName => String,
    json!({ "type": "string" }),
    filtered by FilterForm::text::<LoggedEventName>("the name of an event such as order.created")
);
crate::field_type!(
    LoggedRequestId => String,
    json!({ "type": "string", "pattern": "^[0-9a-f]{32}$" }),
    filtered by FilterForm::text::<LoggedRequestId>("the id of a request")
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{FieldType, Operand};

    #[test]
    fn what_no_entry_of_a_log_can_have_is_not_read() {
        fn read<T: FieldType>(text: &str) -> Option<Operand> {
            T::FILTER.unwrap().read(text)
        }
        let text = |text: &str| Some(Operand::Text(text.to_owned()));
        assert_eq!(read::<LoggedWord>("code_invalid"), text("code_invalid"));
        assert_eq!(read::<LoggedEventName>("order.created"), text("order.created"));
        let id = "01890A5DAC96774BBCCEB302099A8057";
        assert_eq!(read::<LoggedRequestId>(id), text(&id.to_lowercase()));
        for wrong in ["", "Code invalid", "order.*"] {
            assert_eq!(
                (read::<LoggedWord>(wrong), read::<LoggedEventName>(wrong), read::<LoggedRequestId>(wrong)),
                (None, None, None),
                "{wrong}"
            );
        }
    }
}
