//! The wording of a company's texts and mails in the API for operators.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sqlx::types::Json;

use crate::audit_trail::ChangedRecord;
use crate::callers::{Area, Scope};
use crate::companies;
use crate::kernel::ids::{CompanyId, MessageWordingId};
use crate::kernel::languages::LanguageTag;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{FilterForm, PublishesEvents, Record, RecordTransaction, Resource, Unique, Validated};
use crate::storefront::company_wordings::{CompanyWordings, MAX_LEN_OF_COMPANY, MAX_OF_COMPANY, len_of, list_wordings};
use crate::storefront::messages::CompanyWording;

/// The longest wording of a language, as JSON in bytes: the built-in one has some five thousand.
const MAX_LEN: usize = 64 * 1024;

crate::fields! {
    /// What the stores of the company say in texts and mails in one language, in place of the words of the deployment.
    pub struct MessageWordingRecord, body MessageWordingBody {
        /// The tag of the language, such as `de` or `pt-br`. Cannot be changed.
        #[filtered]
        language: WordingLanguage,
        /// The entries that differ, by what the message is for: `{"sign_in": {"text": "{code} is your code"}}`. An entry that is missing or empty is that of the deployment.
        messages: Json<Map<String, Value>>,
    }
}

/// The tag of a language.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct WordingLanguage(LanguageTag);

impl TryFrom<String> for WordingLanguage {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        LanguageTag::parse(&text).map(Self).ok_or("This is not the tag of a language, such as de or pt-br.")
    }
}

impl From<WordingLanguage> for String {
    fn from(language: WordingLanguage) -> Self {
        language.0.as_str().to_owned()
    }
}

crate::field_type!(
    WordingLanguage => String,
    json!({ "type": "string", "maxLength": 35, "examples": ["de"] }),
    filtered by FilterForm::text::<WordingLanguage>("the tag of a language")
);

impl Resource for MessageWordingRecord {
    type Id = MessageWordingId;
    type State = CompanyWordings;

    const SINGULAR: &'static str = "message_wording";
    const PLURAL: &'static str = "message_wordings";
    const AREA: Area = Area::Integration;
    /// Whoever words the messages can have customers believe anything in the name of the shop.
    const WRITING: Scope = Scope::Admin;
    /// A message with a code can have them take it to somebody else's page.
    const WRITING_REACHES: &'static [(Area, Scope)] = &[(Area::Customers, Scope::Admin)];
}

/// Publishes no events.
impl PublishesEvents for MessageWordingRecord {
    const AUDITED_AS: Option<fn(MessageWordingId) -> ChangedRecord> = Some(ChangedRecord::MessageWording);
    const UNIQUE: &'static [Unique] = &[Unique {
        constraint: "message_wordings_language",
        member: "language",
        sentence: "The company has a wording in this language already.",
    }];

    fn evict(wordings: &CompanyWordings, company: CompanyId) {
        wordings.forget(company);
    }
}

impl Validated for MessageWordingRecord {
    async fn validate(
        transaction: &mut RecordTransaction<CompanyWordings>,
        before: Option<&Record<Self>>,
        wording: &mut Self,
    ) -> Result<(), Problem> {
        if before.is_some_and(|before| before.fields.language != wording.language) {
            return Err(FieldErrors::one("language", "The language of a wording cannot be changed. Create another wording instead."));
        }
        let len = len_of(&wording.messages);
        if len > MAX_LEN {
            return Err(FieldErrors::one("messages", format!("This may have {MAX_LEN} bytes at most.")));
        }
        let company = transaction.caller.company;
        companies::lock(transaction.conn(), company).await?;
        let mut others = list_wordings(transaction.conn(), company).await?;
        others.retain(|other| before.is_none_or(|before| before.id != other.id));
        if before.is_none() && others.len() >= MAX_OF_COMPANY {
            return Err(FieldErrors::one("language", format!("A company can have {MAX_OF_COMPANY} wordings at most.")));
        }
        if len + others.iter().map(|other| len_of(&other.messages)).sum::<usize>() > MAX_LEN_OF_COMPANY {
            let sentence = format!("The wordings of a company may have {MAX_LEN_OF_COMPANY} bytes at most together.");
            return Err(FieldErrors::one("messages", sentence));
        }
        let language =
            LanguageTag::parse(&wording.language).ok_or_else(|| FieldErrors::one("language", "This is not the tag of a language."))?;
        let mut said = CompanyWording::default();
        said.add(language, wording.messages.0.clone()).map_err(|problem| problem.within("messages"))?;
        transaction
            .state
            .deployment()
            .check(&said)
            .map_err(|(key, fault)| FieldErrors::one(&format!("messages.{key}"), sentence(&fault.to_string())))
    }
}

/// The fault of a file, as a sentence.
fn sentence(fault: &str) -> String {
    let mut letters = fault.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}
