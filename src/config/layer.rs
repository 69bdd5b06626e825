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
