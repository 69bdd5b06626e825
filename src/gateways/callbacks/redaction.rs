//! Leaves secrets and the data of cards out of what a callback's body shows. The body itself stays as it came, because it may be processed
//! again.
//!
//! The text is read as it is and not as JSON: of a refused callback only the beginning is kept, and it may be anything.

/// What stands in place of what is not shown.
const HIDDEN: &str = "••••";

/// The endings of the names of members whose values are not shown, in lower case.
const NAMES: [&str; 12] =
    ["secret", "password", "token", "api_key", "apikey", "authorization", "cvc", "cvv", "card_number", "cardnumber", "pan", "iban"];

/// The text without the values of members with such a name, and without card numbers.
pub fn redacted(body: &str) -> String {
    let mut shown = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(start) = rest.find('"') {
        shown.push_str(&without_card_numbers(&rest[..start]));
        let (literal, after) = string(&rest[start..]);
        let value_start = after.trim_start();
        let is_name = value_start.starts_with(':');
        if is_name && is_secret(literal) {
            let gap = after.len() - value_start[1..].trim_start().len();
            shown.push_str(literal);
            shown.push_str(&after[..gap]);
            let value = value_start[1..].trim_start();
            let (hidden, behind) = scalar(value);
            shown.push_str(&if hidden.is_empty() || hidden == "null" { hidden.to_owned() } else { format!("\"{HIDDEN}\"") });
            rest = behind;
        } else {
            shown.push_str(&without_card_numbers(literal));
            rest = after;
        }
    }
    shown.push_str(&without_card_numbers(rest));
    shown
}

fn is_secret(literal: &str) -> bool {
    let name = literal.trim_matches('"').to_ascii_lowercase();
    NAMES.iter().any(|secret| name == *secret || name.ends_with(&format!("_{secret}")) || name.ends_with(&format!("-{secret}")))
        // `clientSecret`
        || literal.trim_matches('"').ends_with("Secret") || literal.trim_matches('"').ends_with("Token")
}

/// Splits a text that begins with a quote behind the string; behind everything if the string has no end.
fn string(text: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, character)| {
        let ends = *character == '"' && !escaped;
        escaped = *character == '\\' && !escaped;
        ends
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at + 1))
}

/// Splits behind a string, a number or a word. Objects and arrays are not split: their members have names of their own.
fn scalar(text: &str) -> (&str, &str) {
    match text.chars().next() {
        Some('"') => string(text),
        Some('{' | '[') | None => ("", text),
        Some(_) => text.split_at(text.find([',', '}', ']', '\n', ' ']).unwrap_or(text.len())),
    }
}

/// Hides 13 to 19 digits, with or without spaces and hyphens between them, that have the check digit of a card number.
fn without_card_numbers(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        shown.push_str(&rest[..start]);
        let run = &rest[start..];
        let end = run.find(|character: char| !(character.is_ascii_digit() || character == ' ' || character == '-')).unwrap_or(run.len());
        let found = run[..end].trim_end_matches([' ', '-']);
        shown.push_str(if is_card_number(found) { HIDDEN } else { found });
        rest = &run[found.len()..];
    }
    shown.push_str(rest);
    shown
}

fn is_card_number(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|character| character.to_digit(10)).collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match place % 2 {
            0 => *digit,
            _ if *digit > 4 => digit * 2 - 9,
            _ => digit * 2,
        })
        .sum();
    // Numbers of cards begin with 2 to 6; instants in milliseconds, which are as long, with 1.
    (13..=19).contains(&digits.len()) && matches!(digits[0], 2..=6) && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_card_data_are_hidden_and_the_rest_stays_as_it_came() {
        for (body, shown) in [
            (r#"{"id": "evt_1", "amount": 1250}"#, r#"{"id": "evt_1", "amount": 1250}"#),
            (r#"{"client_secret":"pi_1_secret_2","id":"pi_1"}"#, r#"{"client_secret":"••••","id":"pi_1"}"#),
            (r#"{"clientSecret" : "a\"b", "cvc": 123}"#, r#"{"clientSecret" : "••••", "cvc": "••••"}"#),
            (r#"{"token": null, "secret": {"id": 1}}"#, r#"{"token": null, "secret": {"id": 1}}"#),
            (r#"{"note": "paid with 4242 4242 4242 4242 today"}"#, r#"{"note": "paid with •••• today"}"#),
            (r#"{"number": "5555555555554444", "last4": "4444"}"#, r#"{"number": "••••", "last4": "4444"}"#),
            (
                r#"{"created": 1779358500000, "order": "order_01h455vb4pex5vsknk084sn02q"}"#,
                r#"{"created": 1779358500000, "order": "order_01h455vb4pex5vsknk084sn02q"}"#,
            ),
            // Not JSON, and JSON that was cut off.
            (r#"card=4242424242424242&cvc"#, r#"card=••••&cvc"#),
            (r#"{"api_key":"sk_live_12"#, r#"{"api_key":"••••""#),
            ("", ""),
        ] {
            assert_eq!(redacted(body), shown, "{body}");
        }
    }
}
