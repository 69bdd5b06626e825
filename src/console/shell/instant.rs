//! Instants as people read them: how long ago, with the exact time beside it.

use std::fmt;

use askama::filters::HtmlSafe;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use crate::console::shell::language::Language;

/// A `<time>` element.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    instant: DateTime<Utc>,
    now: DateTime<Utc>,
    language: Language,
}

impl Moment {
    pub(super) fn new(instant: DateTime<Utc>, now: DateTime<Utc>, language: Language) -> Self {
        Self { instant, now, language }
    }

    /// `2 min ago`, `in 5 min`, or the date if that is longer than a week.
    pub fn text(&self) -> String {
        let (past, distance) = if self.instant <= self.now { (true, self.now - self.instant) } else { (false, self.instant - self.now) };
        let amount = match distance {
            short if short < TimeDelta::seconds(5) && past => return self.language.translate("just now").to_owned(),
            seconds if seconds < TimeDelta::minutes(1) => format!("{} s", seconds.num_seconds()),
            minutes if minutes < TimeDelta::hours(1) => format!("{} min", minutes.num_minutes()),
            hours if hours < TimeDelta::days(1) => format!("{} h", hours.num_hours()),
            days if days < TimeDelta::days(7) => format!("{} d", days.num_days()),
            _ => return self.instant.format("%Y-%m-%d").to_string(),
        };
        self.language.translate(if past { "{} ago" } else { "in {}" }).replace("{}", &amount)
    }
}

/// Has no characters that mean something in HTML.
impl HtmlSafe for Moment {}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = self.instant.to_rfc3339_opts(SecondsFormat::Millis, true);
        let shown = self.instant.format("%Y-%m-%d %H:%M:%S UTC");
        write!(f, r#"<time datetime="{exact}" title="{shown}">{}</time>"#, self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_told_by_its_distance() {
        let now = DateTime::from_timestamp(1_779_358_500, 0).unwrap();
        for (seconds, english, german) in [
            (-2, "just now", "gerade eben"),
            (-59, "59 s ago", "vor 59 s"),
            (-3_599, "59 min ago", "vor 59 min"),
            (-86_399, "23 h ago", "vor 23 h"),
            (-6 * 86_400, "6 d ago", "vor 6 d"),
            (-8 * 86_400, "2026-05-13", "2026-05-13"),
            (300, "in 5 min", "in 5 min"),
        ] {
            let told = |language| Moment::new(now + TimeDelta::seconds(seconds), now, language).text();
            assert_eq!((told(Language::English), told(Language::German)), (english.to_owned(), german.to_owned()));
        }
    }
}
