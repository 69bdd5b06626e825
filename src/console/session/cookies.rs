//! The cookies of the console.

use axum::http::{HeaderMap, HeaderValue};

use crate::console::shell::cookies;

/// How long a browser remembers that it is known, in seconds: a year.
const A_YEAR: u32 = 365 * 24 * 60 * 60;

/// A cookie of the console. Over TLS its name has the prefix `__Host-`, so that no other host of the domain can set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie {
    /// The token of the session. It ends with the browser, and with the session on the server.
    Session,
    /// The proof that an operator has signed in with this browser before.
    KnownBrowser,
}

impl Cookie {
    fn name(self, secure: bool) -> String {
        let name = match self {
            Self::Session => "portico-session",
            Self::KnownBrowser => "portico-browser",
        };
        if secure { format!("__Host-{name}") } else { name.to_owned() }
    }

    /// The value that a request has, if it has the cookie once.
    pub fn read(self, headers: &HeaderMap, secure: bool) -> Option<String> {
        let name = self.name(secure);
        let mut values = cookies(headers, &name);
        match (values.next(), values.next()) {
            (Some(value), None) => Some(value.to_owned()),
            _ => None,
        }
    }

    /// The header that sets the cookie.
    pub fn set(self, value: &str, secure: bool) -> HeaderValue {
        let lifetime = match self {
            Self::Session => String::new(),
            Self::KnownBrowser => format!("; Max-Age={A_YEAR}"),
        };
        self.header(value, &lifetime, secure)
    }

    /// The header that removes the cookie.
    pub fn remove(self, secure: bool) -> HeaderValue {
        self.header("", "; Max-Age=0", secure)
    }

    fn header(self, value: &str, lifetime: &str, secure: bool) -> HeaderValue {
        let name = self.name(secure);
        let secure = if secure { "; Secure" } else { "" };
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{lifetime}");
        HeaderValue::from_str(&text).expect("tokens have letters and digits only")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header;

    fn headers(line: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(line).unwrap())])
    }

    #[test]
    fn a_cookie_is_read_by_its_name_if_it_is_there_once() {
        assert_eq!(Cookie::Session.read(&headers("a=1; portico-session=t; b=2"), false).as_deref(), Some("t"));
        assert_eq!(Cookie::Session.read(&headers("__Host-portico-session=t"), true).as_deref(), Some("t"));
        for line in ["portico-session=t", "__Host-portico-session=t; __Host-portico-session=u", "", "x"] {
            assert_eq!(Cookie::Session.read(&headers(line), true), None, "{line}");
        }
    }

    #[test]
    fn over_tls_a_cookie_belongs_to_the_host_alone() {
        let cookie = Cookie::Session.set("t", true);
        assert_eq!(cookie, "__Host-portico-session=t; Path=/; HttpOnly; SameSite=Lax; Secure");
        assert_eq!(Cookie::KnownBrowser.remove(false), "portico-browser=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
    }
}
