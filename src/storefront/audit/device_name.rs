//! What an app calls the device that it runs on.

use axum::http::HeaderMap;
use serde::Deserialize;

use crate::contact::is_blank;

/// The header in which an app names the device, when it signs a customer in.
const DEVICE_NAME: &str = "device-name";
/// In characters.
pub const DEVICE_NAME_MAX_LEN: usize = 64;

/// The name of a device, or of a passkey, which is called like its device: one visible line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct DeviceName(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The name has 1 to 64 characters and no control characters.")]
pub struct InvalidDeviceName;

impl DeviceName {
    /// The name that a request sends along. One that nobody could read is the same as none: a sign-in does not fail for it.
    pub fn of_headers(headers: &HeaderMap) -> Option<Self> {
        let sent = std::str::from_utf8(headers.get(DEVICE_NAME)?.as_bytes()).ok()?;
        Self::try_from(sent.chars().take(DEVICE_NAME_MAX_LEN).collect::<String>()).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for DeviceName {
    type Error = InvalidDeviceName;

    fn try_from(typed: String) -> Result<Self, InvalidDeviceName> {
        let name = typed.trim();
        let is_usable = !is_blank(name) && name.chars().count() <= DEVICE_NAME_MAX_LEN && !name.chars().any(char::is_control);
        if is_usable { Ok(Self(name.to_owned())) } else { Err(InvalidDeviceName) }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_device_has_one_visible_line_as_its_name() {
        let parse = |name: &str| DeviceName::try_from(name.to_owned()).map(|name| name.0);
        assert_eq!(parse(" Ada\u{2019}s phone "), Ok("Ada\u{2019}s phone".to_owned()));
        for unusable in ["", "  ", "\u{200b}\u{200d}", "a\nb", &"x".repeat(65)] {
            assert_eq!(parse(unusable), Err(InvalidDeviceName), "{unusable:?}");
        }
    }

    #[test]
    fn a_header_that_nobody_could_read_is_no_name() {
        let sent = |bytes: &[u8]| {
            let headers = HeaderMap::from_iter([(DEVICE_NAME.parse().unwrap(), HeaderValue::from_bytes(bytes).unwrap())]);
            DeviceName::of_headers(&headers).map(|name| name.0)
        };
        assert_eq!(sent("Adas Händi".as_bytes()), Some("Adas Händi".to_owned()));
        assert_eq!(sent(b"\xff"), None);
        assert_eq!(sent("x".repeat(100).as_bytes()), Some("x".repeat(64)));
    }
}
