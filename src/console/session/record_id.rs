//! The id in the address of a page.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

use crate::console::Console;
use crate::console::shell::PageError;

/// The id in the address of a page: one segment that leads nowhere else when it becomes part of a path of the API.
#[derive(Clone, Debug)]
pub struct RecordId(pub String);

impl RecordId {
    fn parse(text: &str) -> Option<Self> {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        plain.then(|| Self(text.to_owned()))
    }
}

impl FromRequestParts<Console> for RecordId {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, PageError> {
        let parameters = RawPathParams::from_request_parts(parts, console).await.map_err(|_| PageError::NOT_FOUND)?;
        let id = parameters.iter().find(|(name, _)| *name == "id").and_then(|(_, value)| Self::parse(value));
        id.ok_or(PageError::NOT_FOUND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_plain_segment() {
        for id in ["order_01m84sb8tke65bgezb81b6nk54", "01a20995-a353-718a-b83b-eb40566acca4"] {
            assert!(RecordId::parse(id).is_some(), "{id}");
        }
        for other in ["", ".", "..", "a/secret", "a?limit=1", "a#b", "a b", "%2e"] {
            assert!(RecordId::parse(other).is_none(), "{other:?}");
        }
    }
}
