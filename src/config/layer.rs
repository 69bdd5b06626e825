//! One layer of the settings, with its list of identity providers as sections by name.
//!
//! A list of a later layer would replace the whole list of an earlier one, and a variable of the environment could not change an entry. So
//! `[[providers.oidc]]` becomes one section per entry, `[providers.acme_id]` for the name `acme-id`: layers complete each other key by key,
//! and `PORTICO_PROVIDERS__ACME_ID__CLIENT_SECRET` sets one key of one entry.

use std::collections::BTreeSet;

use config::{ConfigError, Map, Source, Value};

use crate::providers::identity::Provider;
use crate::providers::{OWN_SECTIONS, RouteName};

/// What a source says.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    settings: Map<String, Value>,
    /// The sections that stand for entries of the list.
    listed: BTreeSet<String>,
}

impl Layer {
    pub(super) fn read(source: &dyn Source) -> Result<Self, ConfigError> {
        let mut settings = source.collect()?;
        let mut listed = BTreeSet::new();
        if let Some(providers) = settings.remove("providers") {
            let mut sections = providers.into_table()?;
            if let Some(list) = sections.remove("oidc") {
                let entries = list.into_array().map_err(|error| error.extend_with_key("providers.oidc"))?;
                for entry in entries {
                    list_entry(&mut sections, &mut listed, entry)?;
                }
            }
            settings.insert("providers".to_owned(), sections.into());
        }
        Ok(Self { settings, listed })
    }
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, ConfigError> {
        Ok(self.settings.clone())
    }
}

/// Moves an entry of the list into its section. The keys of a section that stands beside the list override those of the entry.
fn list_entry(sections: &mut Map<String, Value>, listed: &mut BTreeSet<String>, entry: Value) -> Result<(), ConfigError> {
    let refused = |reason: String| ConfigError::Message(format!("providers.oidc {reason}"));
    let mut entry = entry.into_table().map_err(|error| error.extend_with_key("providers.oidc"))?;
    let name = entry.get("name").cloned().ok_or_else(|| refused("has an entry without a name".to_owned()))?.into_string()?;
    let word = RouteName::try_from(name.clone())
        .map(|name| Provider::listed_as(&name))
        .map_err(|error| refused(format!("has \"{name}\": {error}")))?;
    let word = word.as_str().to_owned();
    if OWN_SECTIONS.contains(&word.as_str()) || word == "oidc" {
        return Err(refused(format!("cannot have an entry with the name \"{name}\", which is the name of another section")));
    }
    if !listed.insert(word.clone()) {
        return Err(refused(format!("has two entries with the name \"{name}\"")));
    }
    if let Some(beside) = sections.remove(&word) {
        entry.extend(beside.into_table()?);
    }
    sections.insert(word, entry.into());
    Ok(())
}

/// Refuses a section of a provider that no layer lists, such as a variable of the environment with a misspelt name.
pub(super) fn refuse_unlisted(layers: &[Layer], settings: &config::Config) -> Result<(), ConfigError> {
    let sections = settings.get_table("providers")?;
    let is_known = |word: &str| OWN_SECTIONS.contains(&word) || layers.iter().any(|layer| layer.listed.contains(word));
    // Sorted, so that the same mistake has the same message.
    match sections.keys().filter(|word| !is_known(word)).min() {
        Some(word) => Err(ConfigError::Message(format!("providers.{word} belongs to no entry of [[providers.oidc]]"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use secrecy::ExposeSecret;

    use crate::config::Config;

    #[test]
    fn a_file_adds_providers_and_completes_those_of_the_same_name() {
        let acme = "[[providers.oidc]]\nname = \"acme-id\"\nissuers = [\"https://acme.example\"]\n";
        let idp_b = "[[providers.oidc]]\nname = \"idp-b\"\ntimeout = \"9s\"\n[providers.acme_id]\ntoken_field = \"jwt\"";
        let config = Config::with_file(&format!("{acme}{idp_b}"), &[("providers.acme_id.client_secret", "s3cret")]).unwrap();
        let of = |word: &str| &config.providers.oidc[word];
        assert_eq!(config.providers.oidc.keys().collect::<Vec<_>>(), ["acme_id", "idp_a", "idp_b"]);
        assert_eq!((of("acme_id").client_secret.expose_secret(), of("acme_id").token_field.to_string().as_str()), ("s3cret", "jwt"));
        assert_eq!((of("idp_b").timeout, of("idp_b").client_ids.as_deref()), (Duration::from_secs(9), Some(&[][..])));
    }

    #[test]
    fn a_list_of_providers_with_a_mistake_is_refused_by_name() {
        let entry = |keys: &str| format!("[[providers.oidc]]\n{keys}\n");
        let refused = |text: &str| Config::with_file(text, &[]).unwrap_err().to_string();
        for (text, message) in [
            (entry("issuers = []"), "providers.oidc has an entry without a name"),
            (entry("name = \"Acme\""), "providers.oidc has \"Acme\": the name of a provider must have"),
            (entry("name = \"card\""), "which is the name of another section"),
            (entry("name = \"idp-c\""), "which is the name of another section"),
            (entry("name = \"acme\"").repeat(2), "providers.oidc has two entries with the name \"acme\""),
            (entry("name = \"acme\"\nissuer = \"x\""), "issuer"),
            (entry("name = \"acme\"\nfields = [\"nonce\"]"), "nonce: a further field is"),
            (entry("name = \"acme\"\ntoken_field = \"clientId\""), "token_field is the name of another field"),
            (entry("name = \"acme\"\njwks_url = \"keys\""), "providers.acme.jwks_url"),
            ("[providers.acme]\nname = \"acme\"".to_owned(), "providers.acme belongs to no entry of [[providers.oidc]]"),
            ("[providers.oidc]\nname = \"acme\"".to_owned(), "providers.oidc"),
        ] {
            let error = refused(&text);
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
