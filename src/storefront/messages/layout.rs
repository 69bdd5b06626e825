//! The HTML layout of mails: the plain text of the mail as paragraphs of an HTML page.
//!
//! Only the layout contains HTML. Wording, names and codes are plain text and are escaped, so they cannot change the markup.

use std::borrow::Cow;
use std::str::FromStr;

use crate::kernel::template::Template;
use crate::storefront::messages::wording::Fault;

/// An HTML page with placeholders.
#[derive(Debug)]
pub(super) struct Layout(Template<Placeholder>);

/// A placeholder of the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    Language,
    Store,
    Subject,
    Body,
}

impl FromStr for Placeholder {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "language" => Ok(Self::Language),
            "store" => Ok(Self::Store),
            "subject" => Ok(Self::Subject),
            "body" => Ok(Self::Body),
            _ => Err(()),
        }
    }
}

/// The values of the placeholders.
#[derive(Clone, Copy)]
pub(super) struct Content<'a> {
    pub(super) language: &'a str,
    pub(super) store: &'a str,
    pub(super) subject: &'a str,
    /// The plain text of the mail: paragraphs that are separated by empty lines.
    pub(super) mail: &'a str,
    /// The code. A paragraph that consists of the code only gets the class `code`.
    pub(super) code: &'a str,
}

impl Layout {
    pub(super) fn check(page: &str) -> Result<Self, Fault> {
        let template = Template::parse(page)?;
        if template.has(Placeholder::Body) { Ok(Self(template)) } else { Err(Fault::Lacks("body")) }
    }

    pub(super) fn page(&self, content: Content<'_>) -> String {
        self.0.fill(|placeholder| match placeholder {
            Placeholder::Language => escape(content.language),
            Placeholder::Store => escape(content.store),
            Placeholder::Subject => escape(content.subject),
            Placeholder::Body => paragraphs(content.mail, content.code).into(),
        })
    }
}

fn paragraphs(mail: &str, code: &str) -> String {
    let lines: Vec<&str> = mail.lines().map(str::trim).collect();
    let paragraphs = lines.split(|line| line.is_empty()).filter(|lines| !lines.is_empty());
    let written = paragraphs.map(|lines| {
        let class = if *lines == [code] { " class=\"code\"" } else { "" };
        let lines: Vec<_> = lines.iter().map(|line| escape(line)).collect();
        format!("<p{class}>{}</p>", lines.join("<br>\n"))
    });
    written.collect::<Vec<_>>().join("\n")
}

/// Escapes text for element content and quoted attributes.
fn escape(text: &str) -> Cow<'static, str> {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_paragraphs_and_never_markup() {
        let layout =
            Layout::check("<html lang=\"{language}\"><style>p { margin: 0 }</style><title>{subject}</title>{body}</html>").unwrap();
        let store = "<script>\"&'{body}";
        let content = Content { language: "en", store, subject: store, mail: &format!("Hello {store}\nthere\n\n012345\n"), code: "012345" };
        let escaped = "&lt;script&gt;&quot;&amp;&#39;{body}";
        let expected = format!(
            "<html lang=\"en\"><style>p {{ margin: 0 }}</style><title>{escaped}</title>\
             <p>Hello {escaped}<br>\nthere</p>\n<p class=\"code\">012345</p></html>"
        );
        assert_eq!(layout.page(content), expected);
    }

    #[test]
    fn a_layout_without_a_placeholder_for_the_body_is_refused() {
        assert!(matches!(Layout::check("<p>{subject}</p>"), Err(Fault::Lacks("body"))));
        assert!(matches!(Layout::check("<p>{body}{code}</p>"), Err(Fault::Placeholder(_))));
    }
}
