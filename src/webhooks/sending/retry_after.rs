//! `Retry-After`: how long an endpoint asks to be left alone (RFC 9110, section 10.2.3).

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

/// The two obsolete forms of a date, without the day of the week. RFC 9110, section 5.6.7 asks recipients to read them.
const OBSOLETE_FORMS: [&str; 2] = ["%d-%b-%y %H:%M:%S GMT", "%b %e %H:%M:%S %Y"];

/// The wait that a value asks for at `now`: a number of seconds, or until a date.
pub fn wait(value: &str, now: DateTime<Utc>) -> Option<TimeDelta> {
    let value = value.trim();
    match value.parse::<u32>() {
        Ok(seconds) => Some(TimeDelta::seconds(seconds.into())),
        Err(_) => Some(date(value)? - now),
    }
}

fn date(value: &str) -> Option<DateTime<Utc>> {
    if let Ok(date) = DateTime::parse_from_rfc2822(value) {
        return Some(date.to_utc());
    }
    // The day of the week follows from the rest.
    let (_, rest) = value.split_once(' ')?;
    OBSOLETE_FORMS.iter().find_map(|form| Some(NaiveDateTime::parse_from_str(rest, form).ok()?.and_utc()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: &str) -> Option<i64> {
        wait(value, "2026-05-21T12:00:00Z".parse().unwrap()).map(|wait| wait.num_seconds())
    }

    #[test]
    fn a_wait_is_a_number_of_seconds_or_ends_at_a_date_in_any_of_its_three_forms() {
        for (value, expected) in [
            ("120", 120),
            (" 0 ", 0),
            ("Thu, 21 May 2026 13:00:00 GMT", 3_600),
            ("Thursday, 21-May-26 13:00:00 GMT", 3_600),
            ("Thu May 21 13:00:00 2026", 3_600),
            ("Mon Jun  1 12:00:00 2026", 11 * 86_400),
            ("Thu, 21 May 2026 11:59:00 GMT", -60),
        ] {
            assert_eq!(seconds(value), Some(expected), "{value:?}");
        }
    }

    #[test]
    fn what_is_neither_asks_for_nothing() {
        for value in ["", "soon", "-1", "1.5", "99999999999999999999", "Thursday, 21-May-26", "Thu May 41 13:00:00 2026", "13:00:00"] {
            assert_eq!(seconds(value), None, "{value:?}");
        }
    }
}
