//! The settings of the external services that have no section of their own.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::providers::{card, identity};

/// `[providers]`
#[derive(Clone, Debug)]
pub struct Settings {
    /// `[[providers.oidc]]`: each entry under the word for it, `idp_a` for the name `idp-a`.
    pub oidc: BTreeMap<String, identity::OidcSettings>,
    /// `[providers.idp_c]`
    pub idp_c: identity::IdpCSettings,
    /// `[providers.card]`
    pub card: card::Settings,
}

/// The sections of `[providers]` that are no entries of the list.
pub const OWN_SECTIONS: [&str; 2] = ["idp_c", "card"];

impl Settings {
    /// The providers of customers, and the entry of the list with this name, under its word: what operators sign in with is none of the
    /// ways in which customers do.
    pub fn divided(&self, operators: Option<&str>) -> Result<(Self, Option<(String, identity::OidcSettings)>), identity::SettingsError> {
        let (mut customers, Some(name)) = (self.clone(), operators) else { return Ok((self.clone(), None)) };
        let word = customers.oidc.iter().find(|(_, entry)| entry.name.to_string() == name).map(|(word, _)| word.clone());
        let unknown = || identity::SettingsError::new("operators.oidc", "names no entry of [[providers.oidc]]");
        let entry = word.and_then(|word| customers.oidc.remove_entry(&word)).ok_or_else(unknown)?;
        Ok((customers, Some(entry)))
    }
}

/// Every section but [`OWN_SECTIONS`] is an entry of the list, under the word for it. The configuration brings the list into this
/// form, so that each key has the name by which the environment overrides it.
impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sections;

        impl<'de> Visitor<'de> for Sections {
            type Value = Settings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the sections of the providers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut sections: A) -> Result<Settings, A::Error> {
                let (mut oidc, mut idp_c, mut card) = (BTreeMap::new(), None, None);
                while let Some(word) = sections.next_key::<String>()? {
                    match word.as_str() {
                        "idp_c" => idp_c = Some(sections.next_value()?),
                        "card" => card = Some(sections.next_value()?),
                        _ => {
                            oidc.insert(word, sections.next_value()?);
                        }
                    }
                }
                let missing = A::Error::missing_field;
                Ok(Settings { oidc, idp_c: idp_c.ok_or_else(|| missing("idp_c"))?, card: card.ok_or_else(|| missing("card"))? })
            }
        }
        deserializer.deserialize_map(Sections)
    }
}
