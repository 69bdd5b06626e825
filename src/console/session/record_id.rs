//! The id in the address of a page.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use uuid::Uuid;

use crate::console::Console;
use crate::console::shell::PageError;

/// The id in the address of a page, a TypeID or a UUID: one segment that leads nowhere else when it becomes part of a path of the API.
#[derive(Clone, Debug)]
pub struct RecordId(pub String);

impl RecordId {
    fn parse(text: &str) -> Option<Self> {
        let suffix = text.rsplit_once('_').map(|(_, suffix)| suffix);
        let is_type_id =
            suffix.is_some_and(|suffix| suffix.len() == 26) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (is_type_id || Uuid::try_parse(text).is_ok()).then(|| Self(text.to_owned()))
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
        for other in [
            "",
            ".",
            "..",
            "stream",
            "new",
            "order_01m84sb8tke65bgezb81b6nk54/secret",
            "a?limit=1",
            "order_01m84sb8tke65bgezb81b6n?54",
            "%2e",
        ] {
            assert!(RecordId::parse(other).is_none(), "{other:?}");
        }
    }
}
