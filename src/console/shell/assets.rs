//! The style sheet, the script and the icon, which are part of the program.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::console::shell::PageError;
use crate::kernel::crypto::sha256;

/// The name, the type and the content of each file.
const FILES: [(&str, &str, &str); 3] = [
    ("style.css", "text/css; charset=utf-8", include_str!("style.css")),
    ("script.js", "text/javascript; charset=utf-8", include_str!("script.js")),
    ("icon.svg", "image/svg+xml", include_str!("icon.svg")),
];

/// The addresses of the files, in the same order. They change with the content, so that browsers may keep a file for good.
static ADDRESSES: LazyLock<[String; 3]> =
    LazyLock::new(|| FILES.map(|(name, _, content)| format!("/console/assets/{name}?v={}", hex::encode(&sha256(content)[..6]))));

/// The address of the file `name`, which must be one of [`FILES`].
pub(super) fn address(name: &str) -> &'static str {
    let index = FILES.iter().position(|(known, ..)| *known == name).expect("templates name files that exist");
    &ADDRESSES[index]
}

pub(super) async fn serve(Path(name): Path<String>) -> Result<Response, PageError> {
    let (_, kind, content) = FILES.iter().find(|(known, ..)| *known == name).ok_or(PageError::NOT_FOUND)?;
    let mut response = content.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    Ok(response)
}
