//! The checked wording of a store in all languages.

use std::collections::BTreeMap;

use secrecy::ExposeSecret;

use crate::kernel::languages::{AcceptedLanguages, LanguageTag};
use crate::storefront::messages::draft::Wordings;
use crate::storefront::messages::files::{Files, MessagesError};
use crate::storefront::messages::layout::{Content, Layout};
use crate::storefront::messages::wording::Fault;
use crate::storefront::messages::{Notice, Occasion, Particulars, store_name};
use crate::storefront::stores::Store;

#[derive(Debug)]
pub(super) struct Phrasebook {
    languages: BTreeMap<LanguageTag, Wordings>,
    layout: Layout,
}

/// A text, and the tag of its language.
#[derive(Clone, Debug)]
pub struct TextMessage {
    pub language: String,
    pub body: String,
}

/// A mail, and the tag of its language.
#[derive(Clone, Debug)]
pub struct Mail {
    pub language: String,
    pub subject: String,
    pub text: String,
    pub html: String,
}

impl Phrasebook {
    pub(super) fn new(files: &Files) -> Result<Self, MessagesError> {
        let mut languages = BTreeMap::new();
        let english = &files.languages.get(&LanguageTag::english()).expect("there are built-in messages in English").content;
        for (tag, file) in &files.languages {
            let checked = file.content.clone().completed_by(english).check();
            let checked = checked.map_err(|(key, source)| MessagesError::Words { path: file.path.clone(), key, source })?;
            languages.insert(tag.clone(), checked);
        }
        let layout = files.layout.as_ref().expect("there is a built-in layout");
        let bad = |source: Fault| MessagesError::Words { path: layout.path.clone(), key: "the page".to_owned(), source };
        Ok(Self { languages, layout: Layout::check(&layout.content).map_err(bad)? })
    }

    pub(super) fn languages(&self) -> impl Iterator<Item = &str> {
        self.languages.keys().map(LanguageTag::as_str)
    }

    pub(super) fn text(&self, occasion: Occasion<'_>) -> TextMessage {
        let (language, words) = self.choose(occasion.languages);
        let (code, one_tap) = (occasion.code.expose_secret(), &occasion.store.one_tap);
        let ending = one_tap.ending(code);
        let body = words.of(occasion.purpose).text(code, &occasion.store.name, one_tap.room(&ending)) + &ending;
        TextMessage { language: language.as_str().to_owned(), body }
    }

    pub(super) fn mail(&self, occasion: Occasion<'_>) -> Mail {
        let (language, words) = self.choose(occasion.languages);
        let (words, code) = (words.of(occasion.purpose), occasion.code.expose_secret());
        let store = store_name::in_mail(&occasion.store.name);
        self.lay_out(language, &store, words.subject(code, &store), words.mail(code, &store), code)
    }

    pub(super) fn notice(&self, store: &Store, languages: &AcceptedLanguages, notice: Notice, particulars: Particulars<'_>) -> Mail {
        let (language, words) = self.choose(languages);
        let (words, store) = (words.about(notice), store_name::in_mail(&store.name));
        self.lay_out(language, &store, words.subject(&store, particulars), words.mail(&store, particulars), particulars.code)
    }

    pub(super) fn notice_text(
        &self,
        store: &Store,
        languages: &AcceptedLanguages,
        notice: Notice,
        particulars: Particulars<'_>,
    ) -> TextMessage {
        let (language, words) = self.choose(languages);
        TextMessage { language: language.as_str().to_owned(), body: words.about(notice).text(&store.name, particulars) }
    }

    fn lay_out(&self, language: &LanguageTag, store: &str, subject: String, text: String, code: &str) -> Mail {
        let content = Content { language: language.as_str(), store, subject: &subject, mail: &text, code };
        let html = self.layout.page(content);
        Mail { language: language.as_str().to_owned(), subject, text, html }
    }

    /// Selects the language that the client prefers, or English.
    fn choose(&self, accepted: &AcceptedLanguages) -> (&LanguageTag, &Wordings) {
        let find = |tag: &LanguageTag| self.languages.get_key_value(tag);
        accepted.best_of(find).or_else(|| find(&LanguageTag::english())).expect("there are built-in messages in English")
    }
}
