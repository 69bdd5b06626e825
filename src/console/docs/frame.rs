//! The navigation of the documentation: its parts, and the chapters of the one that is open.

use crate::console::docs::library::GUIDES;
use crate::handbook::Contents;

/// The navigation.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its entries.
    pub parts: Vec<Part>,
}

/// A part of the documentation.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub title: &'static str,
    /// Its address.
    pub address: String,
    /// Whether the reader is on its own page.
    pub current: bool,
    /// Its chapters, if the reader is in it.
    pub chapters: Vec<Link>,
}

/// A link of the navigation.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its text.
    pub title: String,
    /// Where it leads.
    pub address: String,
    /// Whether the reader is there.
    pub current: bool,
}

impl Frame {
    pub(super) fn of(contents: &Contents, here: &str) -> Self {
        let part = |title: &'static str, address: String, chapters: Vec<Link>| {
            let inside = here == address || here.strip_prefix(&address).is_some_and(|rest| rest.starts_with('/'));
            Part { title, current: here == address, address, chapters: if inside { chapters } else { Vec::new() } }
        };
        let link = |title: &str, address: String| Link { title: title.to_owned(), current: here == address, address };
        let guides = GUIDES.iter().map(|guide| link(&guide.title, guide.address())).collect();
        let mut parts = vec![part("Guides", "/docs/guides".to_owned(), guides)];
        for section in &contents.sections {
            let address = format!("/docs/{}", section.name);
            let chapters = section.chapters.iter().map(|chapter| link(&chapter.title, format!("{address}/{}", chapter.name))).collect();
            parts.push(part(section.title, address, chapters));
        }
        let events = contents.events.iter().map(|group| link(&format!("{}.*", group.name), format!("/docs/events/{}", group.name)));
        parts.push(part("Events", "/docs/events".to_owned(), events.collect()));
        parts.push(part("Problems", "/docs/problems".to_owned(), Vec::new()));
        Self { parts }
    }
}
