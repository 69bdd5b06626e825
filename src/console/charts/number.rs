//! Numbers and durations, as people read them.

/// `1 204`, with narrow spaces between thousands, as they are read in every language.
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// `84 ms`, `1.2 s`
pub fn duration(milliseconds: f64) -> String {
    if milliseconds < 1_000.0 { format!("{milliseconds:.0} ms") } else { format!("{:.1} s", milliseconds / 1_000.0) }
}

/// `98.7 %`, of a rate from 0 to 1.
pub fn rate(rate: f64) -> String {
    format!("{:.1} %", rate * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (given, shown) in [(0, "0"), (999, "999"), (1_204, "1\u{202f}204"), (12_345_678, "12\u{202f}345\u{202f}678")] {
            assert_eq!(number(given), shown);
        }
    }

    #[test]
    fn long_durations_are_told_in_seconds() {
        assert_eq!((duration(84.4).as_str(), duration(1_240.0).as_str(), rate(0.987).as_str()), ("84 ms", "1.2 s", "98.7 %"));
    }
}
