//! The wording of a company: entries that take the place of those in the files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::kernel::json;
use crate::kernel::languages::LanguageTag;
use crate::kernel::problem::Problem;
use crate::storefront::messages::draft::Drafts;
use crate::storefront::messages::files::{Files, Source};
use crate::storefront::messages::notice::Notice;
use crate::storefront::messages::wording::Fault;

/// The notices whose code takes the change back. A company may not keep it from its customers; files of the deployment may.
const WITH_CODE: [Notice; 2] = [Notice::PhoneChanged, Notice::EmailChanged];

/// What a company says in each language. Entries that are blank are those of the files.
#[derive(Clone, Debug, Default)]
pub struct CompanyWording(BTreeMap<LanguageTag, Drafts>);

impl CompanyWording {
    /// Adds a language. A problem names the member that is unknown or no text.
    pub fn add(&mut self, language: LanguageTag, messages: Map<String, Value>) -> Result<(), Problem> {
        let messages = messages.into_iter().map(|(purpose, entries)| (purpose, without_blanks(entries))).collect();
        self.0.insert(language, json::from_value(Value::Object(messages))?);
        Ok(())
    }

    /// Checks that notices of a changed contact keep their code, or returns the key of an entry that does not.
    pub(super) fn check_codes(&self) -> Result<(), (String, Fault)> {
        for drafts in self.0.values() {
            for notice in WITH_CODE {
                drafts.about(notice).check_code().map_err(|(key, fault)| (format!("{}.{key}", notice.as_str()), fault))?;
            }
        }
        Ok(())
    }

    /// The same as files, over those of a store.
    pub(super) fn over(&self, base: &Files) -> Files {
        let source = |(tag, drafts): (&LanguageTag, &Drafts)| {
            (tag.clone(), Source { path: PathBuf::from("the wording of the company"), content: drafts.clone() })
        };
        Files { languages: self.0.iter().map(source).collect(), layout: None }.over(base.clone())
    }
}

fn without_blanks(entries: Value) -> Value {
    let Value::Object(entries) = entries else { return entries };
    let is_blank = |entry: &Value| entry.as_str().is_some_and(|text| text.trim().is_empty());
    Value::Object(entries.into_iter().filter(|(_, entry)| !is_blank(entry)).collect())
}
