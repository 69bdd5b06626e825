//! The request of the settings, filled in with a text. Each value is escaped for its place.

use std::borrow::Cow;
use std::str::FromStr;

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::{Url, form_urlencoded};

use crate::kernel::settings;
use crate::kernel::template::Template;
use crate::providers::sms::SettingsError;
use crate::providers::sms::settings::address;

/// A placeholder of the URL or the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placeholder {
    /// The number of the recipient with its plus sign.
    To,
    /// The number of the recipient without its plus sign.
    ToDigits,
    From,
    Text,
    /// The secret of a company at the service.
    Secret,
}

impl FromStr for Placeholder {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "to" => Ok(Self::To),
            "to_digits" => Ok(Self::ToDigits),
            "from" => Ok(Self::From),
            "text" => Ok(Self::Text),
            "secret" => Ok(Self::Secret),
            _ => Err(()),
        }
    }
}

/// The format of the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A JSON document. Placeholders are inside JSON strings.
    #[default]
    Json,
    /// A URL-encoded form, `name={placeholder}&…`.
    Form,
}

impl Format {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Form => "application/x-www-form-urlencoded",
        }
    }

    fn escape(self, value: &str) -> Cow<'static, str> {
        match self {
            Self::Json => {
                let quoted = serde_json::to_string(value).expect("any text can be serialized as JSON");
                quoted[1..quoted.len() - 1].to_owned().into()
            }
            Self::Form => percent_encode(value),
        }
    }
}

/// The parts of the request that depend on the text.
pub(super) struct Shape {
    url: Template<Placeholder>,
    body: Template<Placeholder>,
    format: Format,
}

/// The output omits the URL and the body, because they may contain credentials.
impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shape(…)")
    }
}

/// The values of the placeholders.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) to: &'a str,
    pub(super) from: &'a str,
    pub(super) text: &'a str,
    pub(super) secret: &'a str,
}

/// Values with every character that needs escaping, to test the templates with.
const AWKWARD: Values<'static> =
    Values { to: "+12015550123", from: "Acme \"Shop\" & Co", text: "\"\\\r\n</a>&=%{to}€", secret: "\"\\&=%{to}" };
/// Other values, to see which parts of the URL depend on them.
const PLAIN: Values<'static> = Values { to: "+442071838750", from: "Shop", text: "Hello", secret: "s3cret" };

impl Shape {
    /// The URL for a sample text.
    pub(super) fn sample_url(&self) -> Option<Url> {
        self.url(AWKWARD).ok()
    }

    /// The same, if host and port are those of every text.
    pub(super) fn url_of_one_host(&self) -> Option<Url> {
        let [url, another] = [self.sample_url()?, self.url(PLAIN).ok()?];
        (url.origin() == another.origin()).then_some(url)
    }

    /// Parses the templates and fills them in once, so that an invalid request is found at startup.
    pub(super) fn new(url: &SecretString, body: &SecretString, format: Format, has_secret: bool) -> Result<Self, SettingsError> {
        let bad = |setting, reason: String| SettingsError { setting, reason };
        let read = |text: &SecretString, setting| {
            Template::parse(text.expose_secret()).map_err(|error| bad(setting, format!("is not a template: {error}")))
        };
        let shape = Self { url: read(url, "sms.http.url")?, body: read(body, "sms.http.body")?, format };
        if !has_secret && shape.has(Placeholder::Secret) {
            return Err(bad("sms.http.body", "contains {secret}, or the URL does, and there is none".to_owned()));
        }
        let url = shape.url(AWKWARD).map_err(|error| bad("sms.http.url", format!("is not a URL: {error}")))?;
        address(&url, "sms.http.url")?;
        if let (Format::Json, Some(body)) = (format, shape.body(AWKWARD)) {
            let read = serde_json::from_str::<serde::de::IgnoredAny>(&body);
            read.map_err(|error| bad("sms.http.body", format!("is not valid JSON when it is filled in: {error}")))?;
        }
        if !shape.has(Placeholder::Text) {
            return Err(bad("sms.http.body", "does not contain {text}, and the URL does not either".to_owned()));
        }
        if !shape.has(Placeholder::To) && !shape.has(Placeholder::ToDigits) {
            return Err(bad("sms.http.body", "does not contain {to}, and the URL does not either".to_owned()));
        }
        Ok(shape)
    }

    pub(super) fn has(&self, placeholder: Placeholder) -> bool {
        self.url.has(placeholder) || self.body.has(placeholder)
    }

    pub(super) fn url(&self, values: Values<'_>) -> Result<Url, url::ParseError> {
        self.url.fill(|placeholder| percent_encode(values.of(placeholder))).parse()
    }

    /// The body, or `None` if the settings have none.
    pub(super) fn body(&self, values: Values<'_>) -> Option<String> {
        let body = self.body.fill(|placeholder| self.format.escape(values.of(placeholder)));
        (!body.is_empty()).then_some(body)
    }
}

impl<'a> Values<'a> {
    fn of(self, placeholder: Placeholder) -> &'a str {
        match placeholder {
            Placeholder::To => self.to,
            Placeholder::ToDigits => self.to.trim_start_matches('+'),
            Placeholder::From => self.from,
            Placeholder::Text => self.text,
            Placeholder::Secret => self.secret,
        }
    }
}

/// Percent-encodes a value for any part of a URL and for a form. A plus sign means a space only in a form, so a space becomes
/// `%20`.
fn percent_encode(value: &str) -> Cow<'static, str> {
    form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20").into()
}

/// Parses `Name: value` lines. The error omits the value, because it may be a secret.
pub(super) fn headers(lines: &SecretString) -> Result<HeaderMap, SettingsError> {
    let bad = |number: usize| SettingsError { setting: "sms.http.headers", reason: format!("is not \"Name: value\" in line {number}") };
    settings::headers(lines).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(url: &str, body: &str, format: Format) -> Result<Shape, String> {
        Shape::new(&url.into(), &body.into(), format, false).map_err(|error| error.to_string())
    }

    const URL: &str = "https://sms.example.com/send";

    #[test]
    fn values_are_escaped_for_where_they_stand() {
        let json = shape(URL, r#"{"to":"{to}","text":"{text}"}"#, Format::Json).unwrap();
        let body: serde_json::Value = serde_json::from_str(&json.body(AWKWARD).unwrap()).unwrap();
        assert_eq!((&body["to"], &body["text"]), (&"+12015550123".into(), &AWKWARD.text.into()));

        let form = shape(URL, "to={to_digits}&from={from}&text={text}", Format::Form).unwrap();
        let body = form.body(AWKWARD).unwrap();
        let read: Vec<(String, String)> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
        assert_eq!(read[0].1, "12015550123");
        assert_eq!((read[1].1.as_str(), read[2].1.as_str(), read.len()), (AWKWARD.from, AWKWARD.text, 3));

        let query = shape("https://sms.example.com/to/{to}?text={text}", "", Format::Form).unwrap();
        let url = query.url(AWKWARD).unwrap();
        assert_eq!(url.query_pairs().next().unwrap().1, AWKWARD.text);
        assert_eq!((url.path(), query.body(AWKWARD)), ("/to/%2B12015550123", None));
    }

    #[test]
    fn invalid_request_templates_are_refused_at_startup() {
        let refused = |url: &str, body: &str| shape(url, body, Format::Json).err().unwrap();
        assert!(refused(URL, r#"{"to":"{to}","text":{text}}"#).contains("is not valid JSON"));
        assert!(refused(URL, r#"{"to":"{to}"}"#).contains("{text}"));
        assert!(refused(URL, r#"{"text":"{text}"}"#).contains("{to}"));
        assert!(refused(URL, r#"{"to":"{too}"}"#).contains("{too}"));
        assert!(refused("", r#"{"to":"{to}","text":"{text}"}"#).contains("sms.http.url"));
        for insecure in ["ftp://sms.example.com", "http://sms.example.com"] {
            assert!(refused(insecure, r#"{"to":"{to}","text":"{text}"}"#).contains("sms.http.url is not an https:// URL"));
        }
    }

    #[test]
    fn a_bad_header_is_named_by_its_line_only() {
        let read = headers(&"Authorization: Bearer s3cret: x, y\n\nX-Account: 42\n".into()).unwrap();
        assert_eq!((read["authorization"].as_bytes(), read["x-account"].as_bytes()), (&b"Bearer s3cret: x, y"[..], &b"42"[..]));
        let refused = headers(&"X-Account: 42\nBearer s3cret".into()).unwrap_err().to_string();
        assert!(refused.contains("line 2") && !refused.contains("s3cret"), "{refused}");
    }
}
