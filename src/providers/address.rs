//! The addresses of providers: whether they are secure enough to send secrets to, and what is below them.

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

/// The URL of `path`, which begins with `/`, below a base URL. A path of the base stays: there may be a proxy in front of the provider.
pub(super) fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_in_front_of_a_provider_keeps_its_path() {
        for (base, url) in [
            ("https://api.example", "https://api.example/v1/messages"),
            ("https://api.example/", "https://api.example/v1/messages"),
            ("https://proxy.example/stripe", "https://proxy.example/stripe/v1/messages"),
            ("https://proxy.example/stripe/", "https://proxy.example/stripe/v1/messages"),
        ] {
            assert_eq!(below(&base.parse().unwrap(), "/v1/messages").as_str(), url, "{base}");
        }
    }

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
