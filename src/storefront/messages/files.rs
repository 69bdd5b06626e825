//! The files with the wording: the built-in ones, those of the deployment, and their precedence.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::kernel::ids::StoreId;
use crate::kernel::languages::LanguageTag;
use crate::storefront::messages::draft::Drafts;
use crate::storefront::messages::wording::Fault;

const BUILT_IN: [(&str, &str); 2] =
    [("en", include_str!("../../../config/messages/en.toml")), ("de", include_str!("../../../config/messages/de.toml"))];
const BUILT_IN_LAYOUT: &str = include_str!("../../../config/messages/layout.html");
const LAYOUT: &str = "layout.html";

/// A file with wording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MessagesError {
    /// The file or directory cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not valid TOML or has an unknown key.
    #[error("{} is not a valid file of messages", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The position and the cause.
        source: Box<toml::de::Error>,
    },
    /// An entry is invalid.
    #[error("{}: {key} is invalid", path.display())]
    Words {
        /// The file.
        path: PathBuf,
        /// The key of the entry, such as `sign_in.text`.
        key: String,
        /// The cause.
        source: Fault,
    },
    /// The directory contains an unexpected entry, which would otherwise be ignored silently.
    #[error("{} is neither a language (de.toml), nor layout.html, nor the directory of a store (store_…)", .0.display())]
    Stranger(PathBuf),
}

/// The content of one file, and its path.
#[derive(Clone, Debug)]
pub(super) struct Source<T> {
    pub(super) path: PathBuf,
    pub(super) content: T,
}

/// The files of one directory, or of several directories merged.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub(super) languages: BTreeMap<LanguageTag, Source<Drafts>>,
    pub(super) layout: Option<Source<String>>,
}

impl Files {
    pub(super) fn built_in() -> Result<Self, MessagesError> {
        let mut languages = BTreeMap::new();
        for (tag, text) in BUILT_IN {
            let path = PathBuf::from(format!("the built-in {tag}.toml"));
            let tag = LanguageTag::parse(tag).expect("the names of the built-in files are language tags");
            languages.insert(tag, Source { content: read_words(&path, text)?, path });
        }
        let layout = Source { path: format!("the built-in {LAYOUT}").into(), content: BUILT_IN_LAYOUT.to_owned() };
        Ok(Self { languages, layout: Some(layout) })
    }

    /// Reads the directory of a store.
    pub(super) fn read(folder: &Path) -> Result<Self, MessagesError> {
        match Self::read_with_others(folder)? {
            (files, others) if others.is_empty() => Ok(files),
            (_, mut others) => Err(MessagesError::Stranger(others.swap_remove(0))),
        }
    }

    /// Reads a directory and finds the directories of stores in it.
    pub(super) fn read_with_stores(directory: &Path) -> Result<(Self, Vec<(StoreId, PathBuf)>), MessagesError> {
        let (files, others) = Self::read_with_others(directory)?;
        let store = |path: PathBuf| match file_name(&path).parse() {
            Ok(store) if path.is_dir() => Ok((store, path)),
            _ => Err(MessagesError::Stranger(path)),
        };
        Ok((files, others.into_iter().map(store).collect::<Result<_, _>>()?))
    }

    fn read_with_others(folder: &Path) -> Result<(Self, Vec<PathBuf>), MessagesError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |source| MessagesError::Unreadable { path, source }
        };
        let (mut files, mut others) = (Self { languages: BTreeMap::new(), layout: None }, Vec::new());
        for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
            let path = entry.map_err(unreadable(folder))?.path();
            let name = file_name(&path);
            let language = name.strip_suffix(".toml").and_then(LanguageTag::parse).filter(|_| path.is_file());
            if name.starts_with('.') {
                // A mounted volume may keep its versions in hidden entries.
            } else if let Some(tag) = language {
                let text = fs::read_to_string(&path).map_err(unreadable(&path))?;
                files.languages.insert(tag, Source { content: read_words(&path, &text)?, path });
            } else if name == LAYOUT {
                files.layout = Some(Source { content: fs::read_to_string(&path).map_err(unreadable(&path))?, path });
            } else {
                others.push(path);
            }
        }
        Ok((files, others))
    }

    /// Merges these files over `base`: missing entries come from `base`.
    pub(super) fn over(self, mut base: Self) -> Self {
        for (tag, Source { path, content }) in self.languages {
            let content = match base.languages.remove(&tag) {
                Some(below) => content.over(below.content),
                None => content,
            };
            base.languages.insert(tag, Source { path, content });
        }
        Self { languages: base.languages, layout: self.layout.or(base.layout) }
    }
}

fn read_words(path: &Path, text: &str) -> Result<Drafts, MessagesError> {
    toml::from_str(text).map_err(|source| MessagesError::Form { path: path.to_owned(), source: Box::new(source) })
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
