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
//! * [`store_name`]: the part of a store's name that fits into a message.

mod draft;
mod files;
mod layout;
mod notice;
mod phrasebook;
mod store_name;
mod wording;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use secrecy::SecretString;

use crate::kernel::ids::StoreId;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::settings;
use crate::storefront::purpose::Purpose;
use crate::storefront::stores::Store;
use files::Files;
use phrasebook::Phrasebook;

pub use files::MessagesError;
pub use notice::{Notice, Particulars};
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
pub struct Messages(Arc<Phrasebooks>);

#[derive(Debug)]
struct Phrasebooks {
    common: Phrasebook,
    /// The stores with overrides of their own.
    of_stores: HashMap<StoreId, Phrasebook>,
}

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
                of_stores.insert(store, Phrasebook::new(&Files::read(&folder)?.over(common.clone()))?);
            }
        }
        Ok(Self(Arc::new(Phrasebooks { common: Phrasebook::new(&common)?, of_stores })))
    }

    /// The languages that are available for every store.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.0.common.languages()
    }

    /// The body of the text. It fits into one segment, regardless of the store's name, and into two with what one-tap codes need.
    pub(super) fn text(&self, occasion: Occasion<'_>) -> TextMessage {
        self.phrasebook(occasion.store.id).text(occasion)
    }

    /// The subject and the body of the mail.
    pub(super) fn mail(&self, occasion: Occasion<'_>) -> Mail {
        self.phrasebook(occasion.store.id).mail(occasion)
    }

    /// The subject and the body of a notice.
    pub(super) fn notice(&self, store: &Store, languages: &AcceptedLanguages, notice: Notice, particulars: Particulars<'_>) -> Mail {
        self.phrasebook(store.id).notice(store, languages, notice, particulars)
    }

    /// The text of a notice. It fits into one segment.
    pub(super) fn notice_text(
        &self,
        store: &Store,
        languages: &AcceptedLanguages,
        notice: Notice,
        particulars: Particulars<'_>,
    ) -> TextMessage {
        self.phrasebook(store.id).notice_text(store, languages, notice, particulars)
    }

    fn phrasebook(&self, store: StoreId) -> &Phrasebook {
        self.0.of_stores.get(&store).unwrap_or(&self.0.common)
    }
}
