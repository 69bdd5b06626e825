//! The position where a page ended, encoded as an opaque text.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Datelike, Utc};
use uuid::Uuid;

use crate::kernel::crypto::sha256;

const BODY_LEN: usize = 1 + 8 + 16;
const CHECK_LEN: usize = 4;

/// The sort order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `created_at`
    OldestFirst,
    /// `-created_at`
    NewestFirst,
}

impl Direction {
    /// The order as an SQL keyword.
    pub(super) fn order(self) -> &'static str {
        match self {
            Self::OldestFirst => "asc",
            Self::NewestFirst => "desc",
        }
    }

    /// The SQL operator for keys after a given key.
    pub(super) fn comparison(self) -> &'static str {
        match self {
            Self::OldestFirst => ">",
            Self::NewestFirst => "<",
        }
    }

    /// The SQL operator for keys up to and including a given key.
    pub(super) fn comparison_until(self) -> &'static str {
        match self {
            Self::OldestFirst => "<=",
            Self::NewestFirst => ">=",
        }
    }
}

/// The last record of a page; the next page starts after it. The id breaks ties between records with the same `created_at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The order of the list.
    pub direction: Direction,
    /// When the record was created.
    pub created_at: DateTime<Utc>,
    /// The id of the record.
    pub id: Uuid,
}

impl Cursor {
    /// The text that is returned as `meta.next`.
    pub fn encode(&self) -> String {
        let mut bytes = vec![match self.direction {
            Direction::OldestFirst => 0,
            Direction::NewestFirst => 1,
        }];
        bytes.extend(self.created_at.timestamp_micros().to_be_bytes());
        bytes.extend(self.id.as_bytes());
        // The check does not protect against forgery, which would gain nothing. It rejects a truncated or mistyped cursor instead
        // of starting at a wrong position.
        let check = sha256(&bytes);
        bytes.extend(&check[..CHECK_LEN]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Parses the output of [`Cursor::encode`]; anything else returns `None`.
    pub fn decode(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (body, check) = bytes.split_at_checked(BODY_LEN)?;
        if check != &sha256(body)[..CHECK_LEN] {
            return None;
        }
        let direction = match body[0] {
            0 => Direction::OldestFirst,
            1 => Direction::NewestFirst,
            _ => return None,
        };
        let micros = i64::from_be_bytes(body[1..9].try_into().ok()?);
        // Postgres and chrono support different ranges of years. No record has a date outside these years.
        let created_at = DateTime::from_timestamp_micros(micros).filter(|at| (1..=9999).contains(&at.year()))?;
        Some(Self { direction, created_at, id: Uuid::from_slice(&body[9..]).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_the_way_and_a_damaged_one_does_not() {
        let cursor = Cursor {
            direction: Direction::NewestFirst,
            created_at: DateTime::from_timestamp_micros(1_779_358_500_123_456).unwrap(),
            id: Uuid::from_u128(7),
        };
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

    #[test]
    fn a_forged_year_is_no_place_in_a_list() {
        for at in [DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC, DateTime::from_timestamp(-62_135_596_801, 0).unwrap()] {
            let forged = Cursor { direction: Direction::OldestFirst, created_at: at, id: Uuid::nil() };
            assert_eq!(Cursor::decode(&forged.encode()), None, "{at}");
        }
    }
}
