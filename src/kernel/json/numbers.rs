//! Numbers, digit by digit: whatever a client writes is stored, sent and shown with the same value, however many digits it has.
//!
//! The database keeps numbers of JSON as decimals and writes them without exponents. Bodies are rewritten in the same way before anything
//! reads them, so that a record has the same text before and after it is stored. Without a limit, `1e130000` would be eight bytes that
//! become 130 kilobytes.

use std::borrow::Cow;

/// Maximum number of digits of a number that is written out: those of the smallest and the largest double, and some more.
const MAX_DIGITS: usize = 400;
/// A number of so few bytes, without an exponent, is within every limit.
const ALWAYS_SHORT: usize = 300;

/// A number has too many digits, or is beyond the range of a double, by which lists compare numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A number of the body has more than {MAX_DIGITS} digits when it is written out, or is beyond the range of a double.")]
pub struct NumberTooLong;

/// The same JSON with every number written out: `1.5e3` becomes `1500`. What is not valid JSON stays as it is.
pub fn written_out(json: &[u8]) -> Result<Cow<'_, [u8]>, NumberTooLong> {
    let (mut out, mut copied, mut at) = (Vec::new(), 0, 0);
    while at < json.len() {
        match json[at] {
            b'"' => at = end_of_text(json, at + 1),
            b'-' | b'+' | b'.' | b'0'..=b'9' => {
                let end = json[at..].iter().position(|byte| !is_of_number(*byte)).map_or(json.len(), |length| at + length);
                if let Some(number) = write_out(&json[at..end])? {
                    out.extend_from_slice(&json[copied..at]);
                    out.extend_from_slice(number.as_bytes());
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(json));
    }
    out.extend_from_slice(&json[copied..]);
    Ok(Cow::Owned(out))
}

/// The position behind the quotation mark that ends a text.
pub(super) fn end_of_text(json: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', &json[at.min(json.len())..]) {
        at += found;
        if json[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    json.len()
}

pub(super) fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

/// `None` if the number stays as it is, or is none.
pub(super) fn write_out(number: &[u8]) -> Result<Option<String>, NumberTooLong> {
    let is_plain = number.len() <= ALWAYS_SHORT && memchr::memchr2(b'e', b'E', number).is_none();
    // The database has no negative zero.
    let is_negative_zero = || number[0] == b'-' && number[1..].iter().all(|byte| matches!(byte, b'0' | b'.'));
    if is_plain && !is_negative_zero() {
        return Ok(None);
    }
    let Some(Parts { negative, whole, fraction, exponent }) = Parts::of(number) else { return Ok(None) };
    let exponent = exponent?;
    let digits = [whole, fraction].concat();
    let is_zero = digits.bytes().all(|digit| digit == b'0');
    // Where the decimal point is, counted from the first digit.
    let point = i64::try_from(whole.len()).map_err(|_| NumberTooLong)? + exponent;
    let (before, after) = (usize::try_from(point.max(1)), usize::try_from(i64::try_from(digits.len()).map_err(|_| NumberTooLong)? - point));
    if before.map_err(|_| NumberTooLong)? + after.unwrap_or(0) > MAX_DIGITS {
        return Err(NumberTooLong);
    }
    let (whole, fraction) = match usize::try_from(point) {
        Err(_) => (String::new(), "0".repeat(usize::try_from(-point).map_err(|_| NumberTooLong)?) + &digits),
        Ok(point) if point >= digits.len() => (digits.clone() + &"0".repeat(point - digits.len()), String::new()),
        Ok(point) => (digits[..point].to_owned(), digits[point..].to_owned()),
    };
    let whole = Some(whole.trim_start_matches('0')).filter(|digits| !digits.is_empty()).unwrap_or("0");
    let (sign, point) = (if negative && !is_zero { "-" } else { "" }, if fraction.is_empty() { "" } else { "." });
    let text = format!("{sign}{whole}{point}{fraction}");
    match text.parse::<f64>() {
        Ok(double) if double.is_finite() && (is_zero || double != 0.0) => Ok(Some(text)),
        _ => Err(NumberTooLong),
    }
}

/// The parts of a number as JSON defines it.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: Result<i64, NumberTooLong>,
}

impl<'a> Parts<'a> {
    /// `None` if it is not a number of JSON, which the parser refuses.
    fn of(number: &'a [u8]) -> Option<Self> {
        let number = std::str::from_utf8(number).ok()?;
        let unsigned = number.strip_prefix('-').unwrap_or(number);
        let (mantissa, exponent) =
            unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
        let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(whole, fraction)| (whole, Some(fraction)));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_exponent = |text: &str| digits(text.strip_prefix(['+', '-']).unwrap_or(text));
        let is_whole = digits(whole) && (whole == "0" || !whole.starts_with('0'));
        if !is_whole || !fraction.is_none_or(digits) || !exponent.is_none_or(is_exponent) {
            return None;
        }
        // A shorter one has at most six digits, with which nothing overflows.
        let short = |text: &str| if text.len() > 7 { Err(NumberTooLong) } else { text.parse().map_err(|_| NumberTooLong) };
        Some(Self {
            negative: number.starts_with('-'),
            whole,
            fraction: fraction.unwrap_or_default(),
            exponent: exponent.map_or(Ok(0), short),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(json: &str) -> String {
        String::from_utf8(written_out(json.as_bytes()).unwrap().into_owned()).unwrap()
    }

    #[test]
    fn numbers_are_written_as_the_database_writes_them() {
        for (number, text) in [
            ("1.5e3", "1500"),
            ("1.50E1", "15.0"),
            ("-12e-3", "-0.012"),
            ("1e-1", "0.1"),
            ("12.34e+1", "123.4"),
            ("1e30", "1000000000000000000000000000000"),
            ("-0", "0"),
            ("-0.00", "0.00"),
            ("0e5", "0"),
            ("0e-3", "0.000"),
        ] {
            assert_eq!(written(number), text);
        }
        let object = r#"{"a":[1e2,-3],"1e2":"1e2 \"1e2\\","b":{"c":1e2}}"#;
        assert_eq!(written(object), r#"{"a":[100,-3],"1e2":"1e2 \"1e2\\","b":{"c":100}}"#);
    }

    #[test]
    fn what_is_written_out_already_is_not_copied() {
        let long = format!("[0.{}1]", "0".repeat(320));
        for json in ["9007199254740993", "18446744073709551616", "3.14159265358979323846264338327950288", "-1.50", "[1,2]", "\"\\", &long] {
            let same = written_out(json.as_bytes()).unwrap();
            assert_eq!(&*same, json.as_bytes());
        }
        assert!(matches!(written_out(b"[1, 2.50, \"1e5\"]"), Ok(Cow::Borrowed(_))));
    }

    #[test]
    fn what_is_no_json_stays_so() {
        for wrong in ["1e", "1e+", "01e2", "1.e2", ".5e1", "--1e2", "1e2e3", "+1e2", "-", "1e2.5"] {
            assert_eq!(written(wrong), wrong);
        }
    }

    #[test]
    fn a_number_beyond_every_use_is_refused() {
        let (nines, zeros) = ("9".repeat(401), "0".repeat(400));
        for beyond in [
            "1e309",
            "-1e400",
            "1e130000",
            "1e-400",
            "1e99999999999999999999",
            "1e-99999999",
            &nines,
            &format!("1{zeros}"),
            &format!("0.{zeros}"),
        ] {
            assert_eq!(written_out(beyond.as_bytes()), Err(NumberTooLong), "{beyond}");
        }
        for kept in ["1e308", "5e-324", "1.7976931348623157e308", "2.2250738585072014e-308"] {
            assert_eq!(written(kept).parse::<f64>().unwrap(), kept.parse::<f64>().unwrap());
        }
    }
}
