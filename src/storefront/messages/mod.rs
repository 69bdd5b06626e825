//! The wording of texts and mails, in the language of the recipient.
//!
//! The wording is stored in files. `<language>.toml` has a text, a mail subject and a mail body for each purpose of a code and for each
//! notice. `layout.html` is the HTML layout of mails. English, German and a layout are built in. The directory
//! `messages.directory` of the deployment adds languages and overrides built-in files. A subdirectory with the id of a store overrides
//! both for that store. A file that overrides another one contains only the differences. `docs/messages.md` describes the files for
//! their authors.
//!
//! All files are read and checked at startup: a message without its code, with an unknown placeholder, or with a text that could
//! be longer than one segment prevents the start.
//!
//! Who is who:
//!
//! * [`files`]: the files, where they are read from, and which file overrides which.
//! * [`draft`]: the wording of a language as the files contain it.
//! * [`wording`], [`notice`]: the checked wording of one purpose, and of one notice.
//! * [`layout`]: the HTML layout of mails.
//! * [`phrasebook`]: the checked wording of a store in all languages.
//! * [`of_company`]: the entries of a company, which take the place of those in the files.
//! * [`store_name`]: the part of a store's name that fits into a message.
//! * [`unlinked`]: the names of devices and passkeys, of which no mail program makes a link.

mod draft;
mod files;
mod layout;
mod notice;
mod of_company;
mod phrasebook;
mod store_name;
mod unlinked;
mod wording;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use secrecy::SecretString;

use crate::kernel::error_chain::chain;
use crate::kernel::ids::StoreId;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::settings;
use crate::storefront::purpose::Purpose;
use crate::storefront::stores::Store;
use files::Files;
use phrasebook::Phrasebook;

pub use files::MessagesError;
pub use notice::{Notice, Particulars};
pub use of_company::CompanyWording;
pub use phrasebook::{Mail, TextMessage};
pub use wording::Fault;

/// `[messages]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The directory with additional languages and overrides.
    #[serde(deserialize_with = "settings::optional")]
    pub directory: Option<PathBuf>,
}

/// The wording of every store in every language.
#[derive(Clone, Debug)]
pub struct Messages(Arc<Editions>);

#[derive(Debug)]
struct Editions {
    common: Edition,
    /// The stores with overrides of their own.
    of_stores: HashMap<StoreId, Edition>,
}

/// Files, and what they say.
#[derive(Debug)]
struct Edition {
    files: Files,
    messages: StoreMessages,
}

impl Edition {
    fn new(files: Files) -> Result<Self, MessagesError> {
        Ok(Self { messages: StoreMessages(Arc::new(Phrasebook::new(&files)?)), files })
    }
}

/// The wording of one store in every language. Clones share it.
#[derive(Clone, Debug)]
pub struct StoreMessages(Arc<Phrasebook>);

/// A message with a code that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    pub store: &'a Store,
    pub purpose: Purpose,
    pub languages: &'a AcceptedLanguages,
    pub code: &'a SecretString,
}

impl Messages {
    /// Reads and checks all files.
    pub fn load(settings: &Settings) -> Result<Self, MessagesError> {
        let mut common = Files::built_in()?;
        let mut of_stores = HashMap::new();
        if let Some(directory) = &settings.directory {
            let (files, folders) = Files::read_with_stores(directory)?;
            common = files.over(common);
            for (store, folder) in folders {
                of_stores.insert(store, Edition::new(Files::read(&folder)?.over(common.clone()))?);
            }
        }
        Ok(Self(Arc::new(Editions { common: Edition::new(common)?, of_stores })))
    }

    /// The languages that are available for every store.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.0.common.messages.0.languages()
    }

    /// What a store says by the files.
    pub(super) fn of(&self, store: StoreId) -> StoreMessages {
        self.edition(store).messages.clone()
    }

    /// What a store says with the entries of its company in place of those in the files. They were checked with these files, or with earlier
    /// ones: if they do not fit any more, the files are right.
    pub(super) fn of_company(&self, store: StoreId, wording: &CompanyWording) -> StoreMessages {
        let edition = self.edition(store);
        match Phrasebook::new(&wording.over(&edition.files)) {
            Ok(book) => StoreMessages(Arc::new(book)),
            Err(error) => {
                tracing::warn!(store = %store, error = chain(&error), "the wording of a company cannot be used");
                edition.messages.clone()
            }
        }
    }

    /// Checks the entries of a company as the files are, and for the codes of notices, or returns the key of an invalid one.
    pub(super) fn check(&self, wording: &CompanyWording) -> Result<(), (String, Fault)> {
        match Phrasebook::new(&wording.over(&self.0.common.files)) {
            Ok(_) => wording.check_codes(),
            Err(MessagesError::Words { key, source, .. }) => Err((key, source)),
            Err(MessagesError::Unreadable { .. } | MessagesError::Form { .. } | MessagesError::Stranger(_)) => Ok(()),
        }
    }

    /// Whether a store has files of its own.
    pub(super) fn has_own_files(&self, store: StoreId) -> bool {
        self.0.of_stores.contains_key(&store)
    }

    fn edition(&self, store: StoreId) -> &Edition {
        self.0.of_stores.get(&store).unwrap_or(&self.0.common)
    }
}

impl StoreMessages {
    /// The body of the text. It fits into one segment, and into two with what one-tap codes need, or if the store's name is in a script of its own.
    pub(super) fn text(&self, occasion: Occasion<'_>) -> TextMessage {
        self.0.text(occasion)
    }

    /// The subject and the body of the mail.
    pub(super) fn mail(&self, occasion: Occasion<'_>) -> Mail {
        self.0.mail(occasion)
    }

    /// The subject and the body of a notice.
    pub(super) fn notice(&self, store: &Store, languages: &AcceptedLanguages, notice: Notice, particulars: Particulars<'_>) -> Mail {
        self.0.notice(store, languages, notice, particulars)
    }

    /// The text of a notice. It fits into one segment, or into two if a name is in a script of its own.
    pub(super) fn notice_text(
        &self,
        store: &Store,
        languages: &AcceptedLanguages,
        notice: Notice,
        particulars: Particulars<'_>,
    ) -> TextMessage {
        self.0.notice_text(store, languages, notice, particulars)
    }
}
