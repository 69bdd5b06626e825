//! For whom a store takes passkeys (WebAuthn, section 4, Relying Party).

/// The domain that passkeys are made for, and who may use them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelyingParty {
    /// The relying party id: an authenticator shows a passkey to pages of this domain and its subdomains, and to apps that the domain names.
    pub domain: String,
    /// The pages and apps that may use them, as they call themselves. None: the pages of the domain itself.
    pub origins: Vec<String>,
}

impl RelyingParty {
    /// Whether a page or app that calls itself so is the store's.
    pub fn has_origin(&self, origin: &str) -> bool {
        match &*self.origins {
            [] => origin.strip_prefix("https://") == Some(&self.domain),
            origins => origins.iter().any(|own| own == origin),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_origins_the_pages_of_the_domain_are_the_store_s() {
        let of = |origins: &[&str]| RelyingParty {
            domain: "shop.example".to_owned(),
            origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
        };
        assert!(of(&[]).has_origin("https://shop.example"));
        for other in
            ["http://shop.example", "https://www.shop.example", "https://shop.example:8443", "https://shop.example.evil.example", ""]
        {
            assert!(!of(&[]).has_origin(other), "{other}");
        }
        let named = of(&["https://www.shop.example", "android:apk-key-hash:x"]);
        assert!(named.has_origin("https://www.shop.example") && named.has_origin("android:apk-key-hash:x"));
        assert!(!named.has_origin("https://shop.example"));
    }
}
