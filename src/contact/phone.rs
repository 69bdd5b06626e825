//! Phone numbers in E.164, parsed with libphonenumber's data.

use std::borrow::Cow;

use rlibphonenumber::{PHONE_NUMBER_UTIL, PhoneNumber as Parsed, PhoneNumberFormat, PhoneNumberType, Region};

use crate::kernel::typed_text::{digit, is_dash, is_invisible};

/// A valid phone number in E.164: `+`, country code, subscriber number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Deserialize, sqlx::Type)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
pub struct PhoneNumber(String);

/// Its message tells the person who entered the number how to write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This is not a valid phone number. Please write it with its country code, such as +1 or +44.")]
pub struct InvalidPhoneNumber;

/// The kind of line behind a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A mobile or internet (VoIP) line, which may receive texts.
    ForTexts,
    /// A line that receives no texts (fixed, toll-free, pager, voicemail, access number of a company, satellite), or one whose owner may
    /// earn on what is sent to it (premium-rate, shared-cost, personal such as +44 70…).
    NotForTexts,
}

impl PhoneNumber {
    /// Parses a number as people enter and paste it. Accepts a missing `+`, blanks, dashes, dots, slashes, brackets, digits of any script, and the
    /// marks that nobody sees. Refuses extensions, letters, `++` and `00`.
    ///
    /// In Argentina and Mexico, many people write a mobile number in another form than E.164 has for it. It is read as that mobile number.
    pub fn parse(text: &str) -> Result<Self, InvalidPhoneNumber> {
        let digits = plain_digits(text).ok_or(InvalidPhoneNumber)?;
        let number = valid(&without_the_1_of_mexico(&digits)).ok_or(InvalidPhoneNumber)?;
        let number = mobile_of_argentina(&number).unwrap_or(number);
        Ok(Self(number.format_as(PhoneNumberFormat::E164).into_owned()))
    }

    /// The number in E.164, such as `+12015550123`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Judged by the number alone: an unknown type counts as one for texts, a number without a country does not.
    pub fn line(&self) -> Line {
        // Numbers without a country (satellite, international networks) have no ISO region.
        if self.country().is_none() {
            return Line::NotForTexts;
        }
        match self.parsed().get_type() {
            // Many VoIP numbers receive texts. Where one does not, the provider says so.
            PhoneNumberType::Mobile | PhoneNumberType::FixedLineOrMobile | PhoneNumberType::VoIP => Line::ForTexts,
            // In a few countries, numbers of unknown type receive texts.
            PhoneNumberType::Unknown => Line::ForTexts,
            PhoneNumberType::FixedLine
            | PhoneNumberType::TollFree
            | PhoneNumberType::PremiumRate
            | PhoneNumberType::SharedCost
            | PhoneNumberType::PersonalNumber
            | PhoneNumberType::Pager
            | PhoneNumberType::UAN
            | PhoneNumberType::VoiceMail => Line::NotForTexts,
        }
    }

    /// The ISO 3166 code of the number's country, if it has one.
    pub fn country(&self) -> Option<String> {
        let code = self.parsed().get_region_code()?.as_region_str().to_string();
        (code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase())).then_some(code)
    }

    /// Whether there are numbers in the country with this ISO 3166 code.
    pub fn are_in(country: &str) -> bool {
        let region = Region::from_code(country).ok().filter(|region| *region != Region::World);
        region.is_some_and(|region| PHONE_NUMBER_UTIL.get_country_code_for_region(region).is_some())
    }

    /// The number range: the number without its last four digits. The numbers of one range are usually sold together.
    pub fn range(&self) -> &str {
        &self.0[..self.0.len().saturating_sub(4)]
    }

    /// The number for who is not known to own it: the country's digit and the last two, enough to recognize it.
    pub fn masked(&self) -> String {
        let (shown, hidden) = (self.0.get(..2).unwrap_or_default(), self.0.len().saturating_sub(2));
        format!("{shown}•••{}", &self.0[hidden..])
    }

    fn parsed(&self) -> Parsed {
        self.0.parse().expect("the number was parsed before")
    }
}

impl TryFrom<String> for PhoneNumber {
    type Error = InvalidPhoneNumber;

    fn try_from(typed: String) -> Result<Self, InvalidPhoneNumber> {
        Self::parse(&typed)
    }
}

impl From<PhoneNumber> for String {
    fn from(parsed: PhoneNumber) -> Self {
        parsed.0
    }
}

impl std::fmt::Display for PhoneNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The digits of the input, or `None` if it contains a character that is not allowed in a number.
fn plain_digits(text: &str) -> Option<String> {
    let mut digits = String::with_capacity(15);
    let mut plus = false;
    for character in text.chars() {
        match character {
            '+' | '\u{ff0b}' if !plus && digits.is_empty() => plus = true,
            '.' | '/' | '\u{b7}' | '\u{2215}' | '\u{ff0e}' | '\u{ff0f}' => {}
            '(' | ')' | '[' | ']' | '\u{ff08}' | '\u{ff09}' | '\u{ff3b}' | '\u{ff3d}' => {}
            _ if character.is_whitespace() || is_dash(character) || is_invisible(character) => {}
            _ => digits.push(digit(character)?),
        }
    }
    // The prefix `00` is not part of the number. It depends on the country of the caller, so the number behind it is ambiguous.
    (!digits.starts_with('0') && (5..=15).contains(&digits.len())).then_some(digits)
}

fn valid(digits: &str) -> Option<Parsed> {
    let parsed: Parsed = format!("+{digits}").parse().ok()?;
    (parsed.is_valid() && parsed.extension.is_none()).then_some(parsed)
}

/// Until 2019, mobile numbers of Mexico had a 1 behind +52. No number there begins with one now, but messengers still show it.
fn without_the_1_of_mexico(digits: &str) -> Cow<'_, str> {
    match digits.strip_prefix("521") {
        Some(rest) if rest.len() == 10 => format!("52{rest}").into(),
        _ => digits.into(),
    }
}

/// The mobile number for what looks like a fixed line of Argentina. Mobile numbers have a 9 behind +54, which only callers from abroad dial: people
/// leave it out, and the rest tells no fixed line from a mobile one. The numbers here are texted.
fn mobile_of_argentina(number: &Parsed) -> Option<Parsed> {
    let written = number.format_as(PhoneNumberFormat::E164);
    let rest = written.strip_prefix("+54").filter(|_| matches!(number.get_type(), PhoneNumberType::FixedLine))?;
    valid(&format!("549{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_one_number_is_one_number() {
        for spelling in [
            "+12015550123",
            "12015550123",
            "+1 (201) 555-0123",
            "+1\u{a0}201\u{a0}555\u{a0}0123",
            "+１２０１５５５０１２３",
            " +1.201.555.0123 ",
            "+1 201/555–0123",
            "+1\t201\t555\t0123\r\n",
            "+1٢٠١٥٥٥٠١٢٣",
            "+۱ ۲۰۱ ۵۵۵ ۰۱۲۳",
            // As messengers wrap it, and as it is written among words from right to left.
            "\u{202a}+1 201-555-0123\u{202c}",
            "\u{2068}+1\u{2011}201\u{2011}555\u{2011}0123\u{2069}",
            "\u{200f}+12015550123\u{200e}",
            "+1\u{200b}2015550123",
        ] {
            assert_eq!(PhoneNumber::parse(spelling).unwrap().as_str(), "+12015550123", "{spelling:?}");
        }
        assert_eq!(PhoneNumber::parse("+49 151/23456781").unwrap().as_str(), "+4915123456781");
    }

    #[test]
    fn a_country_has_numbers_or_there_is_no_such_country() {
        assert_eq!(["DE", "GB", "US"].map(PhoneNumber::are_in), [true; 3]);
        assert_eq!(["XX", "UK", "001", "D", "", "Germany"].map(PhoneNumber::are_in), [false; 6]);
    }

    #[test]
    fn a_mobile_number_is_read_as_people_in_its_country_write_it() {
        for written in ["+54 9 11 2345-6789", "+54 11 2345-6789", "+54 (11) 2345 6789"] {
            assert_eq!(PhoneNumber::parse(written).unwrap().as_str(), "+5491123456789", "{written}");
        }
        for written in ["+52 55 1234 5678", "+52 1 55 1234 5678", "+521 55 1234 5678"] {
            assert_eq!(PhoneNumber::parse(written).unwrap().as_str(), "+525512345678", "{written}");
        }
        // No mobile number either way.
        assert_eq!(PhoneNumber::parse("+54 800 123 4567").unwrap().as_str(), "+548001234567");
        assert_eq!(PhoneNumber::parse("+52 1 55 1234 567"), Err(InvalidPhoneNumber));
    }

    #[test]
    fn invalid_numbers_are_refused() {
        for text in [
            "",
            "+",
            "hello",
            "+999123456789",
            "++12015550123",
            "0012015550123",
            "+1 201 555 0123 ext. 5",
            "+12015550123;5",
            "+1 800 FLOWERS",
            "+12015550123\r\nBcc: x",
            "+1 201 555 0123 ²",
            "+1201555012",
            "+1201555012345",
            "1+2015550123",
            "{{phone}}",
        ] {
            assert_eq!(PhoneNumber::parse(text), Err(InvalidPhoneNumber), "{text:?}");
        }
    }

    #[test]
    fn texts_go_to_mobile_and_internet_lines_only() {
        let line = |text| PhoneNumber::parse(text).unwrap().line();
        for mobile in
            ["+12015550123", "+447400123456", "+2250701234567", "+393123456789", "+4915112345678", "+33612345678", "+5511961234567"]
        {
            assert_eq!(line(mobile), Line::ForTexts, "{mobile}");
        }
        for internet in ["+33912345678", "+445612345678", "+815012345678", "+827012345678"] {
            assert_eq!(line(internet), Line::ForTexts, "{internet}");
        }
        for (other, kind) in [
            ("+442079460018", "fixed"),
            ("+390612345678", "fixed, with a leading zero"),
            ("+18002345678", "toll-free"),
            ("+80012345678", "international toll-free"),
            ("+19002345678", "premium rate"),
            ("+448431234567", "shared cost"),
            ("+447012345678", "personal"),
            ("+447640123456", "pager"),
            ("+41860123456789", "voicemail"),
            ("+445512345678", "access number of a company"),
            ("+881612345678", "satellite"),
            ("+883510012345", "internet, of no country"),
        ] {
            assert_eq!(line(other), Line::NotForTexts, "{other} ({kind})");
        }
    }

    #[test]
    fn a_range_is_all_but_the_last_four_digits() {
        assert_eq!(PhoneNumber::parse("+12015550123").unwrap().range(), "+1201555");
    }
}
