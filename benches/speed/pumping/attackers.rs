//! Patterns of SMS pumping, as operators and providers have published them.

use super::chance::Chance;
use super::numbers::{self, Country, EXPENSIVE};
use super::{HOUR, Step, Timed};

/// A pattern of an attack.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    /// Numbers in sequence out of one range, from fifty addresses: a text every two seconds for three hours.
    OneRange,
    /// Any numbers of one country, from three hundred addresses, as fast and as long.
    OneCountry,
    /// Any numbers of eight countries through residential proxies: each request has another address. As fast and as long.
    Proxies,
    /// A text every three minutes for a day and a night, each to another of twelve countries, from another address.
    Drip,
    /// Five texts a second for five minutes at night, to two countries, through proxies. The attackers use one in eight codes.
    NightBurst,
}

impl Pattern {
    pub const ALL: [Self; 5] = [Self::OneRange, Self::OneCountry, Self::Proxies, Self::Drip, Self::NightBurst];

    pub fn name(self) -> &'static str {
        match self {
            Self::OneRange => "numbers in sequence of one range",
            Self::OneCountry => "any numbers of one country",
            Self::Proxies => "any numbers of eight countries through proxies",
            Self::Drip => "a slow drip to twelve countries",
            Self::NightBurst => "a burst at night, some codes are used",
        }
    }

    /// The attack, from this second of the day on. `share` of it, to be quick.
    pub fn steps(self, from: f64, share: f64, chance: &mut Chance) -> Vec<Timed> {
        let (texts, every) = match self {
            Self::OneRange | Self::OneCountry | Self::Proxies => (5_400.0, 2.0),
            Self::Drip => (480.0, 180.0),
            Self::NightBurst => (1_500.0, 0.2),
        };
        // Three in the morning, of the second night.
        let from = if matches!(self, Self::NightBurst) { 27.0 * HOUR } else { from };
        (0..(texts * share) as usize).map(|turn| Timed(from + turn as f64 * every, self.step(turn, chance))).collect()
    }

    fn step(self, turn: usize, chance: &mut Chance) -> Step {
        let of = |countries: &[Country], chance: &mut Chance| numbers::any(countries[turn % countries.len()], chance);
        let number = match self {
            Self::OneRange => format!("+99450221{:04}", turn % 10_000),
            Self::OneCountry => of(&EXPENSIVE[1..2], chance),
            Self::Proxies => of(&EXPENSIVE[..8], chance),
            Self::Drip => of(&EXPENSIVE, chance),
            Self::NightBurst => of(&EXPENSIVE[4..6], chance),
        };
        let address = match self {
            Self::OneRange => format!("10.1.0.{}", turn % 50),
            Self::OneCountry => format!("10.2.{}.{}", turn % 3, turn / 3 % 100),
            Self::Proxies | Self::Drip | Self::NightBurst => chance.address(),
        };
        let uses_code_after = (matches!(self, Self::NightBurst) && turn.is_multiple_of(8)).then_some(10.0);
        Step::Register { number, address, uses_code_after, is_attack: true }
    }
}
