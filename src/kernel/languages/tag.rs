//! Language tags: `de`, `pt-br`, `zh-hant` (RFC 5646), in lower case.

/// The name of a language.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LanguageTag(String);

impl LanguageTag {
    /// The default language, which is always available.
    pub fn english() -> Self {
        Self("en".to_owned())
    }

    /// Checks the format only, not whether the language exists.
    pub fn parse(text: &str) -> Option<Self> {
        let mut subtags = text.split('-');
        let is_language = |subtag: &str| (2..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_subtag = |subtag: &str| (1..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_tag = text.len() <= 35 && subtags.next().is_some_and(is_language) && subtags.all(is_subtag);
        is_tag.then(|| Self(text.to_ascii_lowercase()))
    }

    /// The tag, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tag without its last subtag: `zh-hant` for `zh-hant-tw`, `zh` for `zh-hant`, `None` for `zh`.
    pub fn broader(&self) -> Option<Self> {
        self.0.rsplit_once('-').map(|(broader, _)| Self(broader.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_words_joined_by_hyphens() {
        for (text, expected) in [
            ("de", Some("de")),
            ("pt-BR", Some("pt-br")),
            ("zh-Hant-TW", Some("zh-hant-tw")),
            ("es-419", Some("es-419")),
            ("", None),
            ("d", None),
            ("de-", None),
            ("de_DE", None),
            ("419", None),
            ("../en", None),
            ("überlang", None),
            ("layouthtml", None),
        ] {
            assert_eq!(LanguageTag::parse(text).as_ref().map(LanguageTag::as_str), expected, "{text}");
        }
    }
}
