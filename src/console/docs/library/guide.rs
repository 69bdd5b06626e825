//! Guides as HTML. Markup within a guide is shown as text, and links between the files of the repository lead to their pages here.

use std::sync::LazyLock;

use pulldown_cmark::{CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html};

use crate::console::docs::library::files;

/// All guides, made when one is asked for first.
pub static GUIDES: LazyLock<Vec<Guide>> = LazyLock::new(|| files::TEXTS.iter().map(|(path, text)| Guide::read(path, text)).collect());

/// A guide.
#[derive(Clone, Debug)]
pub struct Guide {
    /// Its name in addresses: `webhooks`, `specification/decisions`.
    pub name: &'static str,
    /// Its title.
    pub title: String,
    /// What is below the title, as HTML.
    pub html: String,
    /// Its headings.
    pub headings: Vec<Heading>,
}

/// A heading below the title, with the text that follows it.
#[derive(Clone, Debug)]
pub struct Heading {
    /// Its text.
    pub title: String,
    /// Its anchor.
    pub anchor: String,
    /// Whether it divides the guide, and no part of it.
    pub is_main: bool,
    /// What follows, without markup.
    pub text: String,
}

impl Guide {
    /// Where it is shown.
    pub fn address(&self) -> String {
        format!("/docs/guides/{}", self.name)
    }

    fn read(path: &'static str, text: &str) -> Self {
        let events: Vec<_> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
        let mut guide = Self { name: name_of(path), title: String::new(), html: String::new(), headings: Vec::new() };
        let mut written = Vec::with_capacity(events.len());
        let mut events = events.into_iter();
        while let Some(event) = events.next() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    let inside: Vec<_> = events.by_ref().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_)))).collect();
                    let title = words(&inside);
                    if level == HeadingLevel::H1 && guide.title.is_empty() {
                        guide.title = title;
                        continue;
                    }
                    let anchor = guide.free_anchor(&title);
                    written.push(Event::Start(Tag::Heading {
                        level: level.max(HeadingLevel::H2),
                        id: Some(anchor.clone().into()),
                        classes: Vec::new(),
                        attrs: Vec::new(),
                    }));
                    written.extend(inside.into_iter().map(|event| rewritten(event, path)));
                    written.push(Event::End(TagEnd::Heading(level.max(HeadingLevel::H2))));
                    guide.headings.push(Heading { title, anchor, is_main: level <= HeadingLevel::H2, text: String::new() });
                }
                event => {
                    if let Some(heading) = guide.headings.last_mut() {
                        add_words(&mut heading.text, &event);
                    }
                    written.push(rewritten(event, path));
                }
            }
        }
        html::push_html(&mut guide.html, written.into_iter());
        guide.html = reachable_by_keys(&guide.html);
        guide
    }

    /// The anchor of a heading as code hosts make it: `The SMS guard` is `the-sms-guard`. A second one of the same text gets a number.
    fn free_anchor(&self, title: &str) -> String {
        let kept = title.to_lowercase().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).collect::<String>();
        let plain = kept.replace(' ', "-");
        let taken = |anchor: &str| self.headings.iter().any(|heading| heading.anchor == anchor);
        let numbered = (1..).map(|number| format!("{plain}-{number}"));
        [plain.clone()].into_iter().chain(numbered).find(|anchor| !taken(anchor)).expect("there is always a further number")
    }
}

/// `docs/specification/decisions.md` is `specification/decisions`.
fn name_of(path: &'static str) -> &'static str {
    let path = path.strip_prefix("docs/").unwrap_or(path);
    path.strip_suffix(".md").unwrap_or(path)
}

/// Code and tables can be wider than the page; with the focus on them, the arrow keys scroll them. No other text has these tags, because a
/// guide's own markup is shown as text.
fn reachable_by_keys(html: &str) -> String {
    html.replace("<pre>", "<pre tabindex=\"0\">").replace("<table>", "<table tabindex=\"0\">")
}

fn words(events: &[Event<'_>]) -> String {
    let mut text = String::new();
    events.iter().for_each(|event| add_words(&mut text, event));
    text.trim().to_owned()
}

fn add_words(text: &mut String, event: &Event<'_>) {
    match event {
        Event::Text(part) | Event::Code(part) => text.push_str(part),
        Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::Paragraph | TagEnd::TableCell | TagEnd::Item) => text.push(' '),
        _ => {}
    }
}

fn rewritten<'a>(event: Event<'a>, path: &str) -> Event<'a> {
    match event {
        Event::Html(markup) | Event::InlineHtml(markup) => Event::Text(markup),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if link_type == LinkType::Email { dest_url } else { lead(&dest_url, path) };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Image { link_type, dest_url: lead(&dest_url, path), title, id })
        }
        other => other,
    }
}

/// Where a link of the file at `path` leads. One to another host is kept if it is `https`; anything else leads nowhere.
fn lead(link: &str, path: &str) -> CowStr<'static> {
    if link.starts_with('#') || link.starts_with("https://") {
        return link.to_owned().into();
    }
    let (file, anchor) = link.split_once('#').map_or((link, String::new()), |(file, anchor)| (file, format!("#{anchor}")));
    let target = joined(path, file);
    if let Some((guide, _)) = files::TEXTS.iter().find(|(known, _)| *known == target) {
        return format!("/docs/guides/{}{anchor}", name_of(guide)).into();
    }
    if files::FILES.iter().any(|(known, _)| *known == target) {
        return format!("/docs/files/{target}").into();
    }
    match target.strip_prefix("docs/images/") {
        Some(image) if files::IMAGES.iter().any(|(known, _)| *known == image) => format!("/docs/images/{image}").into(),
        _ => "#".into(),
    }
}

/// The path that `link` has from the file at `path`, within the repository.
fn joined(path: &str, link: &str) -> String {
    let mut parts: Vec<_> = path.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text_and_links_stay_within() {
        let text = "# T\n\n<script>alert(1)</script>\n\n[a](javascript:alert(1)) [b](webhooks.md#retries) <b onclick=x>y</b> ![p](images/webhook.png)\n\n\
                    ## The SMS guard\n\nx\n\n## The SMS guard\n\n[c](../config/default.toml)\n";
        let guide = Guide::read("docs/storefront.md", text);
        assert_eq!((guide.name, guide.title.as_str()), ("storefront", "T"));
        for danger in ["<script", "javascript:", "<b "] {
            assert!(!guide.html.contains(danger), "{}", guide.html);
        }
        for link in ["/docs/guides/webhooks#retries", "/docs/images/webhook.png", "/docs/files/config/default.toml"] {
            assert!(guide.html.contains(link), "{}", guide.html);
        }
        assert_eq!(guide.headings.iter().map(|heading| heading.anchor.as_str()).collect::<Vec<_>>(), ["the-sms-guard", "the-sms-guard-1"]);
    }

    #[test]
    fn every_link_of_every_guide_leads_somewhere() {
        for guide in GUIDES.iter() {
            for link in guide.html.split("href=\"").skip(1).chain(guide.html.split("src=\"").skip(1)) {
                let link = link.split('"').next().unwrap();
                assert!(link != "#", "{} has a link to a file that is not in files.rs", guide.name);
                let Some((address, anchor)) = link.split_once('#') else { continue };
                let target = GUIDES.iter().find(|other| address.is_empty() && other.name == guide.name || other.address() == address);
                let Some(target) = target else { continue };
                assert!(target.headings.iter().any(|heading| heading.anchor == anchor), "{}: {link}", guide.name);
            }
        }
    }
}
