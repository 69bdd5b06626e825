//! The position where a page ended, encoded as an opaque text.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Datelike, Utc};
use uuid::Uuid;

use crate::kernel::crypto::sha256;

const INSTANT_LEN: usize = 8;
const BODY_LEN: usize = 1 + INSTANT_LEN + 16;
const CHECK_LEN: usize = 4;

/// The sort order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `created_at`
    OldestFirst,
    /// `-created_at`
    NewestFirst,
    /// `updated_at`
    LongestUnchangedFirst,
    /// `-updated_at`
    LastChangedFirst,
}

impl Direction {
    /// Every order with its word, in the order of their numbers in a cursor.
    pub(super) const NAMED: [(&'static str, Self); 4] = [
        ("created_at", Self::OldestFirst),
        ("-created_at", Self::NewestFirst),
        ("updated_at", Self::LongestUnchangedFirst),
        ("-updated_at", Self::LastChangedFirst),
    ];

    /// The words, as clients write them.
    pub(super) fn names() -> [&'static str; 4] {
        Self::NAMED.map(|(name, _)| name)
    }

    /// Whether records are in the order of their last changes, and not of their creation.
    pub(super) fn is_by_change(self) -> bool {
        matches!(self, Self::LongestUnchangedFirst | Self::LastChangedFirst)
    }

    /// Whether what happens later comes later.
    pub(super) fn is_forward(self) -> bool {
        matches!(self, Self::OldestFirst | Self::LongestUnchangedFirst)
    }

    /// The column that is sorted by, before the id.
    pub(super) fn column(self) -> &'static str {
        if self.is_by_change() { "updated_at" } else { "created_at" }
    }

    /// The order as an SQL keyword.
    pub(super) fn order(self) -> &'static str {
        if self.is_forward() { "asc" } else { "desc" }
    }

    /// The SQL operator for keys after a given key.
    pub(super) fn comparison(self) -> &'static str {
        if self.is_forward() { ">" } else { "<" }
    }

    /// The SQL operator for keys up to and including a given key.
    pub(super) fn comparison_until(self) -> &'static str {
        if self.is_forward() { "<=" } else { ">=" }
    }
}

/// The last record of a page; the next page starts after it. The id breaks ties between records of the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The order of the list.
    pub direction: Direction,
    /// When the record was created or, in an order by changes, last changed.
    pub at: DateTime<Utc>,
    /// The id of the record.
    pub id: Uuid,
    /// Where a list that is followed goes back to at its end.
    pub(super) back_to: Option<DateTime<Utc>>,
}

impl Cursor {
    /// The position of a record.
    pub fn new(direction: Direction, at: DateTime<Utc>, id: Uuid) -> Self {
        Self { direction, at, id, back_to: None }
    }

    /// The text that is returned as `meta.next`.
    pub fn encode(&self) -> String {
        let number = Direction::NAMED.iter().position(|(_, named)| *named == self.direction).unwrap_or_default();
        let mut bytes = vec![u8::try_from(number).expect("there are few orders")];
        bytes.extend(self.at.timestamp_micros().to_be_bytes());
        bytes.extend(self.id.as_bytes());
        bytes.extend(self.back_to.iter().flat_map(|at| at.timestamp_micros().to_be_bytes()));
        // The check does not protect against forgery, which would gain nothing. It rejects a truncated or mistyped cursor instead
        // of starting at a wrong position.
        let check = sha256(&bytes);
        bytes.extend(&check[..CHECK_LEN]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Parses the output of [`Cursor::encode`]; anything else returns `None`.
    pub fn decode(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (body, check) = bytes.split_at_checked(bytes.len().checked_sub(CHECK_LEN)?)?;
        if check != &sha256(body)[..CHECK_LEN] {
            return None;
        }
        let (body, back_to) = body.split_at_checked(BODY_LEN)?;
        let (_, direction) = *Direction::NAMED.get(usize::from(body[0]))?;
        let back_to = if back_to.is_empty() { None } else { Some(instant(back_to)?) };
        Some(Self { direction, at: instant(&body[1..=INSTANT_LEN])?, id: Uuid::from_slice(&body[1 + INSTANT_LEN..]).ok()?, back_to })
    }
}

fn instant(bytes: &[u8]) -> Option<DateTime<Utc>> {
    let micros = i64::from_be_bytes(bytes.try_into().ok()?);
    // Postgres and chrono support different ranges of years. No record has a date outside these years.
    DateTime::from_timestamp_micros(micros).filter(|at| (1..=9999).contains(&at.year()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(micros).unwrap()
    }

    #[test]
    fn a_cursor_survives_the_way_and_a_damaged_one_does_not() {
        for (_, direction) in Direction::NAMED {
            let plain = Cursor::new(direction, at(1_779_358_500_123_456), Uuid::from_u128(7));
            for cursor in [plain, Cursor { back_to: Some(at(1_779_358_440_000_000)), ..plain }] {
                let text = cursor.encode();
                assert_eq!(Cursor::decode(&text), Some(cursor));
                for at in 0..text.len() {
                    let mut damaged = text.clone().into_bytes();
                    damaged[at] = if damaged[at] == b'x' { b'y' } else { b'x' };
                    assert_eq!(Cursor::decode(std::str::from_utf8(&damaged).unwrap()), None, "character {at}");
                }
                for nonsense in ["", "x", &text[1..], &format!("{text}A")] {
                    assert_eq!(Cursor::decode(nonsense), None, "{nonsense:?}");
                }
            }
        }
    }

    #[test]
    fn a_forged_year_is_no_place_in_a_list() {
        for forged in [DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC, DateTime::from_timestamp(-62_135_596_801, 0).unwrap()] {
            let cursor = Cursor::new(Direction::OldestFirst, forged, Uuid::nil());
            assert_eq!(Cursor::decode(&cursor.encode()), None, "{forged}");
            let back = Cursor { back_to: Some(forged), ..Cursor::new(Direction::OldestFirst, at(0), Uuid::nil()) };
            assert_eq!(Cursor::decode(&back.encode()), None, "{forged}");
        }
    }
}
