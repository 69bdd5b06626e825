//! What texts and mails say, in the language of whoever reads them.
//!
//! Words are files: `<language>.toml` has, for each purpose of a code, a text, and a mail's subject and body, and for each notice a mail's alone;
//! `layout.html` is how a mail looks. English, German and a layout are built in. A directory of the deployment (`messages.directory`) adds languages and overrides
//! what is built in; a folder in it that is called by a store's id overrides both for that store. A file that overrides another names
//! only what differs. `docs/messages.md` tells all this to whoever writes such files.
//!
//! Everything is read and checked when the service starts: a message that lacks its code, has a placeholder nobody fills in, or could
//! make a text longer than one segment is found there, and not by the first customer who gets it.
//!
//! * [`language_tag`], [`accepted_languages`]: which languages there are, and which a client would like.
//! * [`files`]: what is read from where, and what overrides what.
//! * [`draft`], [`wording`], [`notice`]: the words of a language as files write them; those of one purpose and of one notice, checked.
//!   [`layout`]: how a mail looks.
//! * [`phrasebook`]: all the languages of a store, ready to be spoken.
//! * [`store_name`]: what of a store's name can stand in a message.

mod accepted_languages;
mod draft;
mod files;
mod language_tag;
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
use crate::kernel::settings;
use crate::storefront::codes::Purpose;
use crate::storefront::stores::Store;
use files::Files;
use phrasebook::Phrasebook;

pub(super) use accepted_languages::AcceptedLanguages;
pub use files::BadMessages;
pub(super) use notice::Notice;
pub(super) use phrasebook::Mail;
pub use wording::Fault;

/// `[messages]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where further languages and overrides lie.
    #[serde(deserialize_with = "settings::optional")]
    pub directory: Option<PathBuf>,
}

/// The words of every store in every language.
#[derive(Clone, Debug)]
pub struct Messages(Arc<Phrasebooks>);

#[derive(Debug)]
struct Phrasebooks {
    common: Phrasebook,
    /// Of the stores that override something.
    of_stores: HashMap<StoreId, Phrasebook>,
}

/// A code on its way to somebody.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occasion<'a> {
    pub(super) store: &'a Store,
    pub(super) purpose: Purpose,
    pub(super) languages: &'a AcceptedLanguages,
    pub(super) code: &'a SecretString,
}

impl Messages {
    /// Reads and checks every file.
    pub fn load(settings: &Settings) -> Result<Self, BadMessages> {
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

    /// The languages every store speaks.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.0.common.languages()
    }

    /// What the text says: one segment, whatever the store is called.
    pub(super) fn text(&self, occasion: Occasion<'_>) -> String {
        self.phrasebook(occasion.store.id).text(occasion)
    }

    /// What the mail says.
    pub(super) fn mail(&self, occasion: Occasion<'_>) -> Mail {
        self.phrasebook(occasion.store.id).mail(occasion)
    }

    /// What the mail says that tells of a change.
    pub(super) fn notice(&self, store: &Store, languages: &AcceptedLanguages, notice: Notice) -> Mail {
        self.phrasebook(store.id).notice(store, languages, notice)
    }

    fn phrasebook(&self, store: StoreId) -> &Phrasebook {
        self.0.of_stores.get(&store).unwrap_or(&self.0.common)
    }
}
