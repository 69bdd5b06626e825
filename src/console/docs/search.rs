//! Finds operations, events, problems and parts of guides by words.

use std::sync::{Arc, OnceLock};

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use serde::Deserialize;

use crate::console::Console;
use crate::console::docs::frame::Frame;
use crate::console::docs::library::GUIDES;
use crate::console::docs::reader::Reader;
use crate::console::shell::{Page, Ui};
use crate::handbook::{Contents, Field};
use crate::kernel::problem::ProblemCode;
use crate::kernel::routing::get;

/// How many places are shown.
const MOST: usize = 40;
/// How much of a text is shown around a word, in characters.
const AROUND: usize = 80;
/// The longest question.
const LONGEST: usize = 200;

#[derive(Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    q: String,
}

/// A place in the documentation.
#[derive(Debug)]
struct Entry {
    part: &'static str,
    title: String,
    address: String,
    text: String,
}

#[derive(Template)]
#[template(path = "docs/search.html")]
struct SearchPage {
    ui: Ui,
    frame: Frame,
    asked: String,
    found: Vec<Found>,
    more: bool,
}

struct Found {
    part: &'static str,
    title: String,
    address: String,
    excerpt: String,
}

/// `GET /docs/search`. The index is made when it is needed first.
pub(super) fn route() -> MethodRouter<Console> {
    let index = Arc::new(OnceLock::new());
    get(async move |State(console): State<Console>, reader: Reader, Query(Asked { q }): Query<Asked>| {
        show(index.get_or_init(|| entries(console.handbook.contents())), reader, &q)
    })
}

fn show(entries: &[Entry], reader: Reader, asked: &str) -> Response {
    let asked: String = asked.trim().chars().take(LONGEST).collect();
    let mut found = find(entries, &asked);
    let more = found.len() > MOST;
    found.truncate(MOST);
    Page(SearchPage { ui: reader.ui, frame: reader.frame, asked, found, more }).into_response()
}

fn entries(contents: &Contents) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (section, chapter, operation) in contents.operations() {
        let body = operation.body.iter().flat_map(|body| &body.fields);
        let fields = operation.parameters.iter().map(|parameter| &parameter.field).chain(body);
        let answers = operation.answers.iter().flat_map(|answer| &answer.fields);
        entries.push(Entry {
            part: section.title,
            title: format!("{} {} – {}", operation.method, operation.path, operation.heading()),
            address: format!("/docs/{}/{}#{}", section.name, chapter.name, operation.id),
            text: format!("{} {}", operation.description, told(fields.chain(answers))),
        });
    }
    for (group, event) in contents.events.iter().flat_map(|group| group.events.iter().map(move |event| (group, event))) {
        entries.push(Entry {
            part: "Events",
            title: event.name.clone(),
            address: format!("/docs/events/{}#{}", group.name, event.name),
            text: format!("{} {}", event.meaning, told(event.fields.iter())),
        });
    }
    entries.extend(ProblemCode::ALL.iter().map(|code| Entry {
        part: "Problems",
        title: format!("{} – {}", code.as_str(), code.title()),
        address: format!("/docs/problems/{}", code.as_str()),
        text: code.detail().to_owned(),
    }));
    for (guide, heading) in GUIDES.iter().flat_map(|guide| guide.headings.iter().map(move |heading| (guide, heading))) {
        entries.push(Entry {
            part: "Guides",
            title: format!("{}: {}", guide.title, heading.title),
            address: format!("{}#{}", guide.address(), heading.anchor),
            text: heading.text.clone(),
        });
    }
    entries
}

/// The fields as text.
fn told<'a>(fields: impl Iterator<Item = &'a Field>) -> String {
    fields.map(|field| format!("{}: {} {}", field.name, field.sentence, told(field.members.iter()))).collect::<Vec<_>>().join(" ")
}

/// The places that have every word, those that have them in their title first.
fn find(entries: &[Entry], asked: &str) -> Vec<Found> {
    let words: Vec<_> = asked.to_lowercase().split_whitespace().map(str::to_owned).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let ranked = entries.iter().filter_map(|entry| {
        let (title, text) = (entry.title.to_lowercase(), entry.text.to_lowercase());
        let in_title = words.iter().filter(|word| title.contains(word.as_str())).count();
        let has_all = words.iter().all(|word| title.contains(word.as_str()) || text.contains(word.as_str()));
        has_all.then_some((words.len() - in_title, entry))
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let found = ranked.into_iter().map(|(_, entry)| Found {
        part: entry.part,
        title: entry.title.clone(),
        address: entry.address.clone(),
        excerpt: excerpt(&entry.text, &words),
    });
    found.collect()
}

/// What stands around the first of the words.
fn excerpt(text: &str, words: &[String]) -> String {
    let characters: Vec<_> = text.chars().collect();
    // Per character, because a lower-case letter may be longer than its upper-case one.
    let lower: String = characters.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
    let place = words.iter().filter_map(|word| lower.find(word.as_str())).min().unwrap_or_default();
    let place = lower[..place].chars().count();
    let (from, to) = (place.saturating_sub(AROUND), (place + 2 * AROUND).min(characters.len()));
    let cut: String = characters[from.min(to)..to].iter().collect();
    format!("{}{}{}", if from > 0 { "…" } else { "" }, cut.trim(), if to < characters.len() { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(title: &str, text: &str) -> Entry {
        Entry { part: "Guides", title: title.to_owned(), address: String::new(), text: text.to_owned() }
    }

    #[test]
    fn every_word_must_be_there_and_titles_come_first() {
        let entries = [entry("Orders", "Rotate the wheel."), entry("Rotate the secret", "of a webhook"), entry("Else", "nothing")];
        let titles = |asked: &str| find(&entries, asked).into_iter().map(|found| found.title).collect::<Vec<_>>();
        assert_eq!(titles("rotate"), ["Rotate the secret", "Orders"]);
        assert_eq!(titles(" ROTATE  webhook "), ["Rotate the secret"]);
        assert!(titles("rotate banana").is_empty() && titles("  ").is_empty());
    }

    #[test]
    fn an_excerpt_has_the_word_in_the_middle_of_any_letters() {
        let text = format!("{}İ needle {}", "ä".repeat(200), "ß".repeat(300));
        let cut = excerpt(&text, &["needle".to_owned()]);
        assert!(cut.contains("needle") && cut.starts_with('…') && cut.ends_with('…') && cut.chars().count() < 300, "{cut}");
        assert_eq!(excerpt("short", &["none".to_owned()]), "short");
    }
}
