//! The kinds of values that members of bodies have: each read at the edge, so that holding one is the proof that it is good.

use std::str::FromStr;

use chrono::{DateTime, Datelike, SubsecRound, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::kernel::ids::TypedId;

/// Facts the shop keeps with a record and that mean nothing to us.
pub type Meta = sqlx::types::Json<Map<String, Value>>;

/// Why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAText {
    /// There is nothing in it.
    #[error("This may not be empty.")]
    Empty,
    /// It is longer than there is room for.
    #[error("This may have {0} characters at most.")]
    TooLong(usize),
    /// It holds characters that nobody can see.
    #[error("This may not contain control characters.")]
    Control,
}

/// One line of text: 1 to `MAX` characters, without blanks around them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Line<const MAX: usize>(String);

/// Text of several lines: 1 to `MAX` characters, without blanks around them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Text<const MAX: usize>(String);

fn text(typed: &str, max: usize, may_have: impl Fn(char) -> bool) -> Result<String, NotAText> {
    let text = typed.trim();
    match text {
        "" => Err(NotAText::Empty),
        _ if text.chars().any(|character| character.is_control() && !may_have(character)) => Err(NotAText::Control),
        _ if text.chars().count() > max => Err(NotAText::TooLong(max)),
        _ => Ok(text.to_owned()),
    }
}

impl<const MAX: usize> TryFrom<String> for Line<MAX> {
    type Error = NotAText;

    fn try_from(typed: String) -> Result<Self, NotAText> {
        text(&typed, MAX, |_| false).map(Self)
    }
}

impl<const MAX: usize> TryFrom<String> for Text<MAX> {
    type Error = NotAText;

    fn try_from(typed: String) -> Result<Self, NotAText> {
        text(&typed, MAX, |character| matches!(character, '\n' | '\r' | '\t')).map(Self)
    }
}

impl<const MAX: usize> From<Line<MAX>> for String {
    fn from(line: Line<MAX>) -> Self {
        line.0
    }
}

impl<const MAX: usize> From<Text<MAX>> for String {
    fn from(text: Text<MAX>) -> Self {
        text.0
    }
}

/// A number from `MIN` to `MAX`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Within<const MIN: i32, const MAX: i32>(f64);

/// The number is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be a number from {min} to {max}.")]
pub struct OutOfRange {
    min: i32,
    max: i32,
}

impl<const MIN: i32, const MAX: i32> TryFrom<f64> for Within<MIN, MAX> {
    type Error = OutOfRange;

    fn try_from(number: f64) -> Result<Self, OutOfRange> {
        let range = f64::from(MIN)..=f64::from(MAX);
        range.contains(&number).then_some(Self(number)).ok_or(OutOfRange { min: MIN, max: MAX })
    }
}

impl<const MIN: i32, const MAX: i32> From<Within<MIN, MAX>> for f64 {
    fn from(within: Within<MIN, MAX>) -> Self {
        within.0
    }
}

/// An instant in RFC 3339, cut to the milliseconds that answers show: what was read can be sent back without changing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Instant(DateTime<Utc>);

/// The text is not an instant, or one that no calendar here reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be an instant such as 2026-05-21T10:15:00.000+00:00.")]
pub struct NotAnInstant;

impl FromStr for Instant {
    type Err = NotAnInstant;

    fn from_str(text: &str) -> Result<Self, NotAnInstant> {
        let instant = DateTime::parse_from_rfc3339(text).map_err(|_| NotAnInstant)?.to_utc().trunc_subsecs(3);
        (1..=9999).contains(&instant.year()).then_some(Self(instant)).ok_or(NotAnInstant)
    }
}

impl TryFrom<String> for Instant {
    type Error = NotAnInstant;

    fn try_from(text: String) -> Result<Self, NotAnInstant> {
        text.parse()
    }
}

impl From<Instant> for DateTime<Utc> {
    fn from(instant: Instant) -> Self {
        instant.0
    }
}

/// Another record: its UUID or TypeID, or an object that has one as its `id`, the way answers show records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ReferenceForm")]
pub struct Reference<I: TypedId>(pub I);

#[derive(Deserialize)]
#[serde(untagged, expecting = "an id, or an object with an id")]
enum ReferenceForm {
    Id(String),
    Object { id: String },
}

impl<I: TypedId> TryFrom<ReferenceForm> for Reference<I> {
    type Error = crate::kernel::ids::NotAnId;

    fn try_from(form: ReferenceForm) -> Result<Self, Self::Error> {
        let (ReferenceForm::Id(id) | ReferenceForm::Object { id }) = form;
        id.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ids::DriverId;
    use serde_json::json;
    use uuid::Uuid;

    #[test]
    fn lines_and_texts_are_trimmed_and_bounded() {
        let line = |typed: &str| Line::<5>::try_from(typed.to_owned()).map(String::from);
        assert_eq!(line(" äöüßé "), Ok("äöüßé".to_owned()));
        assert_eq!(line("123456"), Err(NotAText::TooLong(5)));
        assert_eq!(line("  "), Err(NotAText::Empty));
        for control in ["a\nb", "a\tb", "a\u{7f}b", "a\u{9b}b", "a\u{1b}b"] {
            assert_eq!(line(control), Err(NotAText::Control), "{control:?}");
        }
        let text = |typed: &str| Text::<5>::try_from(typed.to_owned()).map(String::from);
        assert_eq!(text("a\r\n\tb\n"), Ok("a\r\n\tb".to_owned()));
        assert_eq!(text("a\u{1b}b"), Err(NotAText::Control));
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        let latitude = |number: f64| Within::<-90, 90>::try_from(number).is_ok();
        assert!(latitude(-90.0) && latitude(90.0) && latitude(-0.0));
        assert!(!latitude(90.000_001) && !latitude(f64::NAN) && !latitude(f64::INFINITY));
    }

    #[test]
    fn instants_have_the_milliseconds_that_are_shown() {
        let instant = |text: &str| text.parse::<Instant>().map(|instant| crate::kernel::clock::timestamp(instant.into()));
        assert_eq!(instant("2026-05-21T12:15:00.123999+02:00").unwrap(), "2026-05-21T10:15:00.123+00:00");
        for text in ["", "2026-05-21", "2026-05-21T10:15:00", "2026-02-30T10:15:00Z", "0000-01-01T00:00:00Z", "1779358500"] {
            assert_eq!(instant(text), Err(NotAnInstant), "{text:?}");
        }
    }

    #[test]
    fn a_reference_is_an_id_in_any_of_its_forms() {
        let id = DriverId::from(Uuid::from_u128(7));
        let read = |value: Value| serde_json::from_value::<Reference<DriverId>>(value);
        for form in [json!(id), json!(id.uuid()), json!({"id": id}), json!({"id": id.uuid(), "name": "Ada"})] {
            assert_eq!(read(form.clone()).unwrap(), Reference(id), "{form}");
        }
        for form in [json!("order_01h455vb4pex5vsknk084sn02q"), json!(7), json!({}), json!({"id": null}), json!(true)] {
            assert!(read(form.clone()).is_err(), "{form}");
        }
    }
}
