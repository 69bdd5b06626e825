//! How a visitor wants to see the console: cookies of the browser, otherwise what the browser asks for.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::console::shell::cookies;
use crate::console::shell::language::Language;
use crate::portal::ColorScheme;

const THEME: &str = "portico-theme";
const LANGUAGE: &str = "portico-language";
const KEYS: &str = "portico-keys";

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on white.
    Light,
    /// Light text on black.
    Dark,
}

impl Theme {
    fn read(name: &str) -> Option<Self> {
        match name {
            "light" => Some(Self::Light),
            "dark" => Some(Self::Dark),
            _ => None,
        }
    }

    /// That of a portal; `None` for that of the system.
    pub fn of_portal(scheme: ColorScheme) -> Option<Self> {
        Self::read(scheme.as_str())
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// How a visitor wants to see the console.
#[derive(Clone, Copy, Debug)]
pub struct Preferences {
    /// The language.
    pub language: Language,
    /// The theme; `None` for that of the system.
    pub theme: Option<Theme>,
    /// Whether single keys do something.
    pub keys: bool,
}

impl Preferences {
    /// The preferences of the browser that sends these headers.
    pub fn of(headers: &HeaderMap) -> Self {
        let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let asked_for = || accepted.split(',').find_map(Language::read);
        Self {
            language: cookies(headers, LANGUAGE).find_map(Language::read).or_else(asked_for).unwrap_or(Language::English),
            theme: cookies(headers, THEME).find_map(Theme::read),
            keys: cookies(headers, KEYS).next() != Some("off"),
        }
    }
}

/// The cookie that keeps the choice `value` of the preference `name`; `None` if there is no such choice.
pub fn chosen(name: &str, value: &str) -> Option<HeaderValue> {
    let cookie = match name {
        "theme" if Theme::read(value).is_some() || value == "system" => THEME,
        "language" if Language::read(value).is_some() => LANGUAGE,
        "keys" if matches!(value, "on" | "off") => KEYS,
        _ => return None,
    };
    HeaderValue::from_str(&format!("{cookie}={value}; Path=/; SameSite=Lax; Max-Age=31536000")).ok()
}
