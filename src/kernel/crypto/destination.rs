//! Where a secret is sent: a part of what it is sealed for, so that it opens for no other address.

use url::{Host, Url};

/// The address that a secret is for. Of a URL this is the origin, because one server has all paths of an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination(String);

impl Destination {
    /// Scheme, host and port of an `http` or `https` URL.
    pub fn origin(url: &Url) -> Self {
        Self(url.origin().ascii_serialization())
    }

    /// A server that is not asked by URLs. The protocol tells whether the connection is encrypted.
    pub fn server(protocol: &str, host: &Host<String>, port: u16) -> Self {
        Self(format!("{protocol}://{host}:{port}"))
    }

    /// A service whose address the settings of the deployment say, such as `twilio`.
    pub fn configured(service: &str) -> Self {
        Self(format!("the configured {service}"))
    }

    /// Both addresses, of a secret that is for both.
    pub fn and(self, other: Self) -> Self {
        Self(format!("{} and {}", self.0, other.0))
    }

    /// What a secret is sealed for that is sent there. `row` names its row and what it is.
    pub fn context(&self, row: &str) -> String {
        format!("{row} for {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::crypto::ApplicationKey;

    #[test]
    fn what_is_sealed_for_one_destination_opens_for_no_other() {
        let of_url = |url: &str| Destination::origin(&Url::parse(url).unwrap());
        let of_server = |protocol: &str, port| Destination::server(protocol, &Host::parse("shop.example").unwrap(), port);
        let mine = of_url("https://shop.example/hooks?shop=1");
        assert_eq!(of_url("https://shop.example:443/other"), mine, "a path is no other destination");
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let sealed = key.seal(&mine.context("row 1"), b"Bearer abc");
        assert!(key.open(&mine.context("row 1"), &sealed).is_ok());
        for other in [
            of_url("https://shop.example.evil.example/hooks"),
            of_url("https://www.shop.example/hooks"),
            of_url("https://shop.example:8443/hooks"),
            of_url("http://shop.example:443/hooks"),
            of_server("smtps", 443),
            Destination::configured("shop.example"),
            mine.clone().and(of_url("https://evil.example")),
        ] {
            assert_ne!(other, mine);
            assert!(key.open(&other.context("row 1"), &sealed).is_err(), "{other:?}");
        }
        assert!(key.open(&mine.context("row 2"), &sealed).is_err());
        assert!(key.open("row 1", &sealed).is_err());
        assert_ne!(of_server("smtps", 465), of_server("smtp+starttls", 465), "without TLS, whoever answers gets it");
    }
}
