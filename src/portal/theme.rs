//! What the portal looks like: four settings, each of which is checked, so that no page becomes unreadable or runs foreign style.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::resources::{IntegerIn, Line};

/// The lightest ground of the light scheme that text stands on, and of the dark one the lightest too.
const GROUNDS: (Rgb, Rgb) = ([0xf7, 0xf8, 0xfa], [0x17, 0x1b, 0x21]);
/// The least contrast of text (WCAG 2.2, 1.4.3).
const READABLE: f64 = 4.5;

type Rgb = [u8; 3];

/// How round corners are, in pixels.
pub type Radius = IntegerIn<0, 16>;

/// `[portal.theme]`, or what a link has in place of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Theme {
    /// What stands above the pages.
    pub name: Line<60>,
    /// The colour of what can be clicked.
    pub accent: Accent,
    /// How round corners are.
    pub radius: Radius,
    /// Light, dark, or as the visitor's system.
    pub color_scheme: ColorScheme,
}

crate::text_enum! {
    /// Light or dark.
    pub enum ColorScheme, default System {
        /// As the visitor's system.
        System = "system",
        /// Dark text on white.
        Light = "light",
        /// Light text on black.
        Dark = "dark",
    }
}

/// A colour such as `#2457d6`, dark enough to be read on white, and to be written on in white.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, sqlx::Type)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
pub struct Accent(String);

/// The text is no such colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAccent {
    /// It is not written as six hex digits.
    #[error("This must be a colour such as #2457d6.")]
    Unreadable,
    /// White text on it, and it on white, would be hard to read.
    #[error("This colour is too light: on white it must have a contrast of at least {READABLE}:1.")]
    TooLight,
}

impl TryFrom<String> for Accent {
    type Error = InvalidAccent;

    fn try_from(text: String) -> Result<Self, InvalidAccent> {
        let color = read(&text).ok_or(InvalidAccent::Unreadable)?;
        if contrast(color, GROUNDS.0) < READABLE { Err(InvalidAccent::TooLight) } else { Ok(Self(write(color))) }
    }
}

crate::field_type!(Accent => Self, json!({ "type": "string", "pattern": "^#[0-9a-fA-F]{6}$" }));

impl Accent {
    /// The colour, as style sheets write it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The colour on dark grounds: mixed with as little white as makes it readable there.
    pub fn on_dark(&self) -> String {
        let color = read(&self.0).expect("it was read before");
        let mixed = (0..=100_u32).map(|percent| color.map(|channel| lighter(channel, percent)));
        write(mixed.into_iter().find(|mixed| contrast(*mixed, GROUNDS.1) >= READABLE).expect("white is readable"))
    }
}

fn read(text: &str) -> Option<Rgb> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    hex::decode(digits).ok()?.try_into().ok()
}

fn write(color: Rgb) -> String {
    format!("#{}", hex::encode(color))
}

fn lighter(channel: u8, percent: u32) -> u8 {
    let mixed = (u32::from(channel) * (100 - percent) + 255 * percent) / 100;
    u8::try_from(mixed).expect("a mean of two bytes is a byte")
}

/// The contrast ratio of two colours (WCAG 2.2).
fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

fn luminance(color: Rgb) -> f64 {
    let [red, green, blue] = color.map(|channel| {
        let part = f64::from(channel) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accent(text: &str) -> Result<Accent, InvalidAccent> {
        Accent::try_from(text.to_owned())
    }

    #[test]
    fn a_colour_is_readable_on_white_and_made_readable_on_black() {
        for text in ["#2457d6", "#000000", "#B00020", "#6b21a8"] {
            let color = accent(text).unwrap();
            assert_eq!(color.as_str(), text.to_lowercase());
            assert!(contrast(read(&color.on_dark()).unwrap(), GROUNDS.1) >= READABLE, "{text}");
        }
        for light in ["#ffffff", "#ffd400", "#7ea6ff"] {
            assert_eq!(accent(light), Err(InvalidAccent::TooLight), "{light}");
        }
    }

    #[test]
    fn what_is_no_colour_is_refused() {
        for text in ["", "#", "2457d6", "#2457d", "#2457d6f", "#24 7d6", "red", "#2457d6;}", "#ÄÄÄ"] {
            assert_eq!(accent(text), Err(InvalidAccent::Unreadable), "{text:?}");
        }
    }

    #[test]
    fn the_contrast_is_that_of_the_guideline() {
        assert!((contrast([0; 3], [255; 3]) - 21.0).abs() < 1e-9);
        assert!((contrast([255; 3], [0x77; 3]) - 4.478).abs() < 1e-3);
    }
}
