//! Mobile numbers of several countries.

use portico::contact::{Line, PhoneNumber};

use super::chance::Chance;

/// The prefixes of a country's mobile numbers, and how many digits follow.
pub type Country = (&'static [&'static str], usize);

pub const GERMANY: Country =
    (&["+49151", "+49152", "+49157", "+49159", "+49162", "+49163", "+49170", "+49171", "+49172", "+49175", "+49176"], 8);
pub const AUSTRIA: Country = (&["+43664", "+43660", "+43676", "+43699"], 7);
pub const SWITZERLAND: Country = (&["+4176", "+4177", "+4178", "+4179"], 7);
/// Where a few of the customers are from.
pub const ABROAD: [Country; 4] = [(&["+336"], 8), (&["+316"], 8), (&["+393"], 9), (&["+3248", "+3247"], 7)];

/// Countries to which texts are expensive, and part of the price is paid to whoever causes them.
pub const EXPENSIVE: [Country; 12] = [
    (&["+99450", "+99455"], 7),
    (&["+99890", "+99893"], 7),
    (&["+25261"], 7),
    (&["+99292", "+99293"], 7),
    (&["+9477", "+9471"], 7),
    (&["+234803", "+234805"], 7),
    (&["+62812", "+62813"], 8),
    (&["+92300", "+92301"], 7),
    (&["+880171", "+880181"], 7),
    (&["+63917", "+63918"], 7),
    (&["+8490", "+8491"], 7),
    (&["+85512", "+85510"], 6),
];

/// Any mobile number of the country.
pub fn any(country: Country, chance: &mut Chance) -> String {
    for _ in 0..1_000 {
        let (prefixes, digits) = country;
        let prefix = chance.one_of(prefixes);
        // In Germany, older prefixes have shorter numbers.
        let digits = if prefix.starts_with("+4916") || prefix.starts_with("+4917") { digits - 1 } else { digits };
        let rest: String = (0..digits).map(|_| char::from(b'0' + chance.below(10) as u8)).collect();
        let number = format!("{prefix}{rest}");
        if PhoneNumber::parse(&number).is_ok_and(|number| number.line() == Line::ForTexts) {
            return number;
        }
    }
    panic!("{country:?} has no mobile numbers");
}
