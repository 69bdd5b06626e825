//! The theme of the portal as a style sheet of its own, because no page may contain style.

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::console::addresses::PORTAL;
use crate::console::shell::PageError;
use crate::portal::{Accent, Radius, Theme};

/// What the layout of the portal needs of its theme.
#[derive(Clone, Debug)]
pub struct PortalTheme {
    /// What stands above the pages.
    pub name: String,
    /// The address of the style sheet. It says all that is in it, so browsers may keep it for good.
    pub style_sheet: String,
}

impl PortalTheme {
    pub(super) fn of(theme: &Theme) -> Self {
        let (accent, radius) = (theme.accent.as_str().trim_start_matches('#'), i32::from(theme.radius));
        Self { name: theme.name.clone().into(), style_sheet: format!("{PORTAL}/theme/{accent}-{radius}.css") }
    }
}

/// `GET /portal/theme/2457d6-6.css`
pub async fn serve_style_sheet(Path(name): Path<String>) -> Result<Response, PageError> {
    let (accent, radius) = parse(&name).ok_or(PageError::NOT_FOUND)?;
    let mut response = style_sheet(&accent, radius).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    Ok(response)
}

/// Only what a theme can be gets into a style sheet.
fn parse(name: &str) -> Option<(Accent, Radius)> {
    let (accent, radius) = name.strip_suffix(".css")?.split_once('-')?;
    Some((format!("#{accent}").try_into().ok()?, radius.parse::<i64>().ok()?.try_into().ok()?))
}

fn style_sheet(accent: &Accent, radius: Radius) -> String {
    let (on_white, on_black, radius) = (accent.as_str(), accent.on_dark(), i32::from(radius));
    format!(
        ":root {{ --accent: {on_white}; --radius: {radius}px; }}\n\
         @media (prefers-color-scheme: dark) {{ :root:not([data-theme=\"light\"]) {{ --accent: {on_black}; }} }}\n\
         :root[data-theme=\"dark\"] {{ --accent: {on_black}; }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_sheet_has_what_its_address_says_and_nothing_else() {
        let (accent, radius) = parse("2457d6-12.css").unwrap();
        let sheet = style_sheet(&accent, radius);
        assert!(sheet.contains("--accent: #2457d6; --radius: 12px;"), "{sheet}");
        for other in ["", "2457d6.css", "2457d6-12", "2457d6-17.css", "2457d6--1.css", "ffffff-6.css", "2457d6;}-6.css", "red-6.css"] {
            assert!(parse(other).is_none(), "{other}");
        }
    }
}
