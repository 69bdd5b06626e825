//! Amounts in minor units, and the currencies that define the minor unit (ISO 4217).

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// A currency code: three upper-case letters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(try_from = "String", into = "String")]
#[sqlx(transparent)]
pub struct Currency(String);

/// The text does not consist of three ASCII letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A currency has three letters, such as USD.")]
pub struct InvalidCurrency;

/// The value is not an amount in this currency.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAmount {
    /// It is neither a number nor a numeric text, or it is negative.
    #[error("is not a number, or is negative")]
    Number,
    /// It is more exact than the currency: a part of a cent, or of a shilling where there is nothing smaller.
    #[error("{}", too_exact(.0, .1))]
    Decimals(Currency, Unit),
}

fn too_exact(currency: &Currency, unit: &Unit) -> String {
    match (currency.decimals(), unit) {
        (0, _) => format!("is no whole number of {currency}"),
        (_, Unit::Minor) => format!("is no whole number of minor units (such as cents) of {currency}"),
        (decimals, Unit::Major | Unit::Decimals(_)) => format!("has more decimal places than {currency}, which has {decimals}"),
    }
}

/// The unit of the amounts that a gateway sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Minor units as ISO 4217 has them, such as cents: `1250`.
    Minor,
    /// Major units, such as dollars: `12.50`.
    Major,
    /// A gateway's own minor units: the major unit has so many decimals. Two of them are hundredths, also of a currency that has none.
    Decimals(usize),
}

impl Currency {
    /// The number of decimals of an amount (ISO 4217, list one); two for most currencies.
    fn decimals(&self) -> usize {
        match self.0.as_str() {
            "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX" | "UYI" | "VND" | "VUV" | "XAF"
            | "XOF" | "XPF" => 0,
            "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
            "CLF" | "UYW" => 4,
            _ => 2,
        }
    }

    /// The code: `USD`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Currency {
    type Err = InvalidCurrency;

    fn from_str(text: &str) -> Result<Self, InvalidCurrency> {
        let fits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
        fits.then(|| Self(text.to_ascii_uppercase())).ok_or(InvalidCurrency)
    }
}

impl TryFrom<String> for Currency {
    type Error = InvalidCurrency;

    fn try_from(text: String) -> Result<Self, InvalidCurrency> {
        text.parse()
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> Self {
        currency.0
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An amount in minor units, as people read it: `12.50 USD`.
pub fn shown(minor: i64, currency: &str) -> String {
    let decimals = currency.parse::<Currency>().map_or(0, |currency| currency.decimals());
    let digits = format!("{:0>width$}", minor.unsigned_abs(), width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let (sign, point) = (if minor < 0 { "-" } else { "" }, if decimals > 0 { "." } else { "" });
    format!("{sign}{whole}{point}{fraction} {currency}")
}

/// Converts an amount, given as a number or a text, to minor units. The conversion is decimal; no amount is represented as a float.
pub fn minor_units(value: &Value, currency: &Currency, unit: Unit) -> Result<i64, InvalidAmount> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return Err(InvalidAmount::Number),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(InvalidAmount::Number);
    }
    let fraction = fraction.trim_end_matches('0');
    let (decimals, digits) = (currency.decimals(), format!("{whole}{fraction}"));
    // How many of the digits are decimals of the major unit.
    let after_point = fraction.len()
        + match unit {
            Unit::Minor => decimals,
            Unit::Major => 0,
            Unit::Decimals(decimals) => decimals,
        };
    let minor = match after_point.checked_sub(decimals) {
        None | Some(0) => digits + &"0".repeat(decimals - after_point),
        Some(too_many) => {
            let (kept, left_out) = digits.split_at(digits.len().saturating_sub(too_many));
            if left_out.bytes().any(|digit| digit != b'0') {
                return Err(InvalidAmount::Decimals(currency.clone(), unit));
            }
            format!("0{kept}")
        }
    };
    minor.parse().map_err(|_| InvalidAmount::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_become_minor_units_exactly() {
        for (value, currency, unit, minor) in [
            (json!(1250), "usd", Unit::Minor, 1250),
            (json!("1250"), "USD", Unit::Minor, 1250),
            (json!(12.5), "USD", Unit::Major, 1250),
            (json!("12.50"), "EUR", Unit::Major, 1250),
            (json!(0.1), "EUR", Unit::Major, 10),
            (json!("1.10"), "KWD", Unit::Major, 1100),
            (json!("500.00"), "JPY", Unit::Major, 500),
            (json!(0), "USD", Unit::Minor, 0),
            (json!("1.2345"), "CLF", Unit::Major, 12_345),
            (json!(500), "UGX", Unit::Decimals(2), 5),
            (json!("500"), "XOF", Unit::Decimals(2), 5),
            (json!(0), "ISK", Unit::Decimals(2), 0),
            (json!(5), "MGA", Unit::Decimals(0), 500),
            (json!(1250), "EUR", Unit::Decimals(2), 1250),
            (json!(125), "KWD", Unit::Decimals(2), 1250),
        ] {
            assert_eq!(minor_units(&value, &currency.parse().unwrap(), unit), Ok(minor), "{value} {currency}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        let usd: Currency = "USD".parse().unwrap();
        for bad in [json!(-1), json!("-1"), json!("1e3"), json!("1,5"), json!(""), json!("."), json!(null), json!([1]), json!(1e30)] {
            assert_eq!(minor_units(&bad, &usd, Unit::Minor), Err(InvalidAmount::Number), "{bad}");
        }
        for (bad, unit, why) in [
            (json!("0.001"), Unit::Major, "has more decimal places than USD, which has 2"),
            (json!(12.5), Unit::Minor, "is no whole number of minor units (such as cents) of USD"),
        ] {
            let refused = minor_units(&bad, &usd, unit).unwrap_err();
            assert_eq!(refused, InvalidAmount::Decimals(usd.clone(), unit));
            assert_eq!(refused.to_string(), why);
        }
        let shillings: Currency = "UGX".parse().unwrap();
        for hundredths in [550, 5] {
            let refused = minor_units(&json!(hundredths), &shillings, Unit::Decimals(2)).unwrap_err();
            assert_eq!(refused, InvalidAmount::Decimals(shillings.clone(), Unit::Decimals(2)));
            assert_eq!(refused.to_string(), "is no whole number of UGX");
        }
        for bad in ["", "US", "USDT", "U$D", "ÜSD"] {
            assert_eq!(bad.parse::<Currency>(), Err(InvalidCurrency), "{bad}");
        }
    }

    #[test]
    fn an_amount_is_shown_with_the_decimals_of_its_currency() {
        for (minor, currency, text) in [
            (1250, "USD", "12.50 USD"),
            (5, "EUR", "0.05 EUR"),
            (-70, "EUR", "-0.70 EUR"),
            (500, "JPY", "500 JPY"),
            (1, "BHD", "0.001 BHD"),
            (12_345, "CLF", "1.2345 CLF"),
        ] {
            assert_eq!(shown(minor, currency), text);
        }
    }
}
