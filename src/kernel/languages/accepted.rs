//! `Accept-Language`: the languages that a client accepts, in order of preference (RFC 9110, section 12.5.4).

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};

use crate::kernel::languages::LanguageTag;

/// The maximum number of entries that are read. Browsers send a handful.
const MAX_LANGUAGES: usize = 32;
/// The maximum number of languages that are kept of a client.
const MAX_KEPT: usize = 8;

/// The languages of one request. Invalid entries are ignored, because an answer in another language is better than none.
#[derive(Clone, Debug, Default)]
pub struct AcceptedLanguages(Vec<Accepted>);

#[derive(Clone, Debug)]
enum Accepted {
    One(LanguageTag),
    /// `*`
    Any,
}

impl<S: Send + Sync> FromRequestParts<S> for AcceptedLanguages {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

impl AcceptedLanguages {
    /// Those of the headers of a request.
    pub fn of(headers: &HeaderMap) -> Self {
        Self::of_lines(headers.get_all(header::ACCEPT_LANGUAGE).iter())
    }

    /// Those of the values of the header.
    pub fn of_lines<'a>(lines: impl IntoIterator<Item = &'a HeaderValue>) -> Self {
        let lines = lines.into_iter().filter_map(|line| line.to_str().ok());
        let mut weighted: Vec<_> = lines.flat_map(|line| line.split(',')).take(MAX_LANGUAGES).filter_map(weighted).collect();
        // The sort is stable: entries of equal weight keep their order.
        weighted.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        Self(weighted.into_iter().map(|(_, accepted)| accepted).collect())
    }

    /// The first languages as a text to keep: `de-at,de,en`. `None` if the client asks for none.
    pub fn to_keep(&self) -> Option<String> {
        let tags = self.0.iter().map_while(|accepted| match accepted {
            Accepted::One(tag) => Some(tag.as_str()),
            Accepted::Any => None,
        });
        let tags: Vec<_> = tags.take(MAX_KEPT).collect();
        (!tags.is_empty()).then(|| tags.join(","))
    }

    /// The languages that were kept as this text.
    pub fn of_kept(text: &str) -> Self {
        Self(text.split(',').filter_map(LanguageTag::parse).map(Accepted::One).collect())
    }

    /// Returns the result of `find` for the first accepted language that it knows, in its own form or a broader one (`de` for
    /// `de-CH`). Returns `None` if the client accepts any language, or no known one.
    pub fn best_of<T>(&self, find: impl Fn(&LanguageTag) -> Option<T>) -> Option<T> {
        for accepted in &self.0 {
            let Accepted::One(tag) = accepted else { return None };
            let mut candidate = Some(tag.clone());
            while let Some(tag) = candidate {
                if let Some(found) = find(&tag) {
                    return Some(found);
                }
                candidate = tag.broader();
            }
        }
        None
    }
}

/// Parses one entry and its weight. Returns `None` if it is invalid or has the weight zero.
fn weighted(entry: &str) -> Option<(f32, Accepted)> {
    let mut parts = entry.split(';').map(str::trim);
    let accepted = match parts.next()? {
        "*" => Accepted::Any,
        tag => Accepted::One(LanguageTag::parse(tag)?),
    };
    let weight = match parts.next() {
        None => 1.0,
        Some(weight) => weight.strip_prefix(['q', 'Q'])?.trim_start().strip_prefix('=')?.trim_start().parse().ok()?,
    };
    (weight > 0.0 && weight <= 1.0).then_some((weight, accepted))
}

#[cfg(test)]
mod tests {
    use super::*;

    const THERE_ARE: [&str; 4] = ["de", "en", "pt-br", "zh-hant"];

    fn best_of(lines: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::ACCEPT_LANGUAGE, line.parse().unwrap());
        }
        let there_are: Vec<_> = THERE_ARE.iter().map(|tag| LanguageTag::parse(tag).unwrap()).collect();
        let best = AcceptedLanguages::of(&headers).best_of(|wanted| there_are.iter().find(|tag| *tag == wanted));
        best.map(|tag| tag.as_str().to_owned())
    }

    #[test]
    fn the_heaviest_language_there_is_wins() {
        for (header, expected) in [
            ("de", Some("de")),
            ("DE-ch", Some("de")),
            ("fr, de;q=0.5, en;q=0.8", Some("en")),
            ("en;q=0.8,de;q=0.9", Some("de")),
            ("en;q=0.5,de;q=0.5", Some("en")),
            ("zh-Hant-TW, en", Some("zh-hant")),
            ("pt-PT, en;q=0.1", Some("en")),
            ("de ; q = 0.7 , en ; q=0.9", Some("en")),
            ("fr", None),
            ("*", None),
            ("fr, *;q=0.5, de;q=0.1", None),
            ("de;q=0", None),
        ] {
            assert_eq!(best_of(&[header]).as_deref(), expected, "{header}");
        }
        assert_eq!(best_of(&["fr", "de"]).as_deref(), Some("de"), "several headers are one list");
        assert_eq!(best_of(&[]), None);
    }

    #[test]
    fn what_a_client_asks_for_can_be_kept() {
        let kept = |text: &str| {
            let headers = HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, text.parse().unwrap())]);
            AcceptedLanguages::of(&headers).to_keep()
        };
        assert_eq!(kept("fr;q=0.5, de-AT, en;q=0.1, *;q=0.01").as_deref(), Some("de-at,fr,en"));
        assert_eq!(kept("de, *;q=0.9, en;q=0.1").as_deref(), Some("de"));
        assert_eq!((kept("*"), kept("")), (None, None));
        assert_eq!(
            kept(&(b'a'..=b'z').map(|letter| format!("{0}{0}", char::from(letter))).collect::<Vec<_>>().join(",")).unwrap().len(),
            8 * 3 - 1
        );
        let first = AcceptedLanguages::of_kept("de-at,fr").best_of(|tag| Some(tag.as_str().to_owned()));
        assert_eq!(first.as_deref(), Some("de-at"));
        assert_eq!(AcceptedLanguages::of_kept("").best_of(|_| Some(())), None);
    }

    #[test]
    fn garbage_is_left_out() {
        for header in ["", ",,;;", "q=1", "de;q=", "de;q=NaN", "de;q=-1", "de;q=2", "de;level=1", "d\u{e9}", "../de", "*;*", ";q=1"] {
            assert_eq!(best_of(&[header]), None, "{header}");
        }
        assert_eq!(best_of(&["{{}}, de--, en;q=0.1"]).as_deref(), Some("en"));
        assert_eq!(best_of(&[&format!("{}de", "fr,".repeat(MAX_LANGUAGES))]), None, "the list ends somewhere");
    }
}
