//! The key sets of companies as they are published (RFC 7517). Anybody may ask for them, and deriving one costs an exponentiation for each
//! application key, so those that were asked for are kept.

use axum::body::Bytes;
use serde_json::json;

use crate::kernel::crypto::ApplicationKey;
use crate::kernel::ids::CompanyId;
use crate::storefront::access_tokens::signing_key::SigningKey;
use crate::storefront::caches::KeySets;

/// The key set of a company, as JSON. `None` if a key of it cannot be derived.
pub fn of(kept: &KeySets, key: &ApplicationKey, company: CompanyId) -> Option<Bytes> {
    let application_keys: Vec<_> = std::iter::once(key.fingerprint()).chain(key.previous()).collect();
    kept.get_or_build(company, &application_keys, || {
        let keys = SigningKey::all(key, company).inspect_err(|error| {
            tracing::error!(%company, %error, "the keys of access tokens cannot be derived");
        });
        let keys: Vec<_> = keys.ok()?.into_iter().map(SigningKey::public).collect();
        Some(json!({ "keys": keys }).to_string().into())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_key_set_is_derived_once_until_the_application_key_is_replaced() {
        let (before, after) = (ApplicationKey::generate(), ApplicationKey::generate());
        let key = |setting| ApplicationKey::parse(setting).unwrap();
        let (sets, company) = (KeySets::new(10), CompanyId::from(Uuid::from_u128(1)));
        let derived = of(&sets, &key(&before), company).unwrap();
        assert_eq!(of(&sets, &key(&before), company).unwrap().as_ptr(), derived.as_ptr(), "it is kept");

        let both = key(&after).with_previous(std::slice::from_ref(&before)).unwrap();
        let thumbprints = |set: &Bytes| {
            let set: Value = serde_json::from_slice(set).unwrap();
            set["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let (old, replaced) = (thumbprints(&derived), thumbprints(&of(&sets, &both, company).unwrap()));
        assert_eq!((replaced.len(), &replaced[1]), (2, &old[0]), "the new key comes first, and the old one stays");
        assert_eq!(thumbprints(&of(&sets, &key(&after), company).unwrap()), replaced[..1], "until the old application key is given up");
    }
}
