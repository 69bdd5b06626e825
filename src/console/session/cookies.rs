//! The cookies of the console.

use axum::http::{HeaderMap, HeaderValue};

use crate::console::Console;
use crate::console::shell::cookies;

/// How long a browser remembers that it is known, in seconds: a year.
const A_YEAR: u32 = 365 * 24 * 60 * 60;
/// How long a browser remembers a sign-in that goes on in another step. The server judges whether the step is still good.
const TEN_MINUTES: u32 = 10 * 60;

/// A cookie of the console. Over TLS its name has the prefix `__Host-`, so that no other host of the domain can set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie {
    /// The token of the session. It ends with the browser, and with the session on the server.
    Session,
    /// The proof that an operator has signed in with this browser before.
    KnownBrowser,
    /// The step behind the first factor: the choice of a company, or the second factor.
    Step,
    /// A sign-in that was begun with the provider, sealed.
    AtProvider,
    /// The cell in which an operator signs in, if there are several.
    Cell,
    /// The cell of a session of the portal.
    PortalCell {
        /// As of the session.
        framed: bool,
    },
    /// The token of a session of the portal.
    Portal {
        /// Whether pages of other sites may show the portal in a frame. The browser then keeps a cookie for each such site.
        framed: bool,
    },
}

impl Cookie {
    /// That of the portal.
    pub fn of_portal(console: &Console) -> Self {
        Self::Portal { framed: !console.portal.frame_ancestors().is_empty() }
    }

    fn name(self, secure: bool) -> String {
        let name = match self {
            Self::Session => "portico-session",
            Self::KnownBrowser => "portico-browser",
            Self::Step => "portico-step",
            Self::AtProvider => "portico-provider",
            Self::Portal { .. } => "portico-portal",
            Self::Cell => "portico-cell",
            Self::PortalCell { .. } => "portico-portal-cell",
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
            Self::Session | Self::Portal { .. } | Self::PortalCell { .. } => String::new(),
            Self::KnownBrowser | Self::Cell => format!("; Max-Age={A_YEAR}"),
            Self::Step | Self::AtProvider => format!("; Max-Age={TEN_MINUTES}"),
        };
        self.header(value, &lifetime, secure)
    }

    /// The header that removes the cookie.
    pub fn remove(self, secure: bool) -> HeaderValue {
        self.header("", "; Max-Age=0", secure)
    }

    fn header(self, value: &str, lifetime: &str, secure: bool) -> HeaderValue {
        let name = self.name(secure);
        let sent = match self {
            // Browsers send it in a frame of another site only like this.
            Self::Portal { framed: true } | Self::PortalCell { framed: true } => "SameSite=None; Secure; Partitioned",
            _ if secure => "SameSite=Lax; Secure",
            _ => "SameSite=Lax",
        };
        let text = format!("{name}={value}; Path=/; HttpOnly; {sent}{lifetime}");
        HeaderValue::from_str(&text).expect("tokens and names of cells have letters, digits and underscores only")
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
        let framed = Cookie::Portal { framed: true }.set("t", true);
        assert_eq!(framed, "__Host-portico-portal=t; Path=/; HttpOnly; SameSite=None; Secure; Partitioned");
        let alone = Cookie::Portal { framed: false }.set("t", true);
        assert_eq!(alone, "__Host-portico-portal=t; Path=/; HttpOnly; SameSite=Lax; Secure");
        assert_eq!(Cookie::KnownBrowser.remove(false), "portico-browser=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
    }
}
