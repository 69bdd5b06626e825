//! The check that a URL is secure enough to send secrets to.

use url::{Host, Url};

/// Whether requests to this URL are protected in transit: HTTPS, or plain HTTP to this machine.
pub(super) fn is_secure(url: &Url) -> bool {
    let is_this_machine = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || url.scheme() == "http" && is_this_machine
}

/// The reason why any other URL is refused.
pub(super) const NOT_SECURE: &str = "is not an https:// URL";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_allowed_to_this_machine_only() {
        let is_good = |text: &str| is_secure(&text.parse().unwrap());
        for good in ["https://idp.example/keys", "http://127.0.0.1:8090/keys", "http://[::1]/keys", "http://localhost/keys"] {
            assert!(is_good(good), "{good}");
        }
        for bad in ["http://idp.example/keys", "http://localhost.example/keys", "http://10.0.0.1/keys", "file:///etc/passwd"] {
            assert!(!is_good(bad), "{bad}");
        }
    }
}
