//! The service of a company: the same settings, but with a secret of its own, at a public address and with a time limit that is not its own.

use std::str::FromStr;

use reqwest::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use reqwest::{Client, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::template::Template;
use crate::providers::sms::SettingsError;
use crate::providers::sms::providers::http::request::{self, Format, Shape};
use crate::providers::sms::providers::http::{Http, Method, Settings, Sign};

/// The headers of the connection and the body, which are not the company's to choose.
const OURS: [HeaderName; 8] = [HOST, CONNECTION, CONTENT_LENGTH, EXPECT, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// What a company says about its service. The keys are those of `[sms.http]`; `{secret}` in `url`, `headers` and `body` is the secret, which
/// is stored apart from them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnSettings {
    url: String,
    #[serde(default)]
    method: Method,
    #[serde(default)]
    headers: String,
    #[serde(default)]
    format: Format,
    #[serde(default)]
    body: String,
    from: Option<String>,
    #[serde(default = "taken")]
    taken: Sign,
    #[serde(default)]
    unreachable: Sign,
}

/// As in the settings of the deployment.
fn taken() -> Sign {
    let statuses = vec![StatusCode::OK, StatusCode::CREATED, StatusCode::ACCEPTED, StatusCode::NO_CONTENT];
    Sign { statuses, ..Sign::default() }
}

/// The placeholder in the headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Secret;

impl FromStr for Secret {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        if name == "secret" { Ok(Self) } else { Err(()) }
    }
}

impl OwnSettings {
    /// The URL of a sample text. Its host and port are those of every text, whatever the text says.
    pub fn sample_url(&self) -> Result<Url, SettingsError> {
        let shape = Shape::new(&self.url.as_str().into(), &self.body.as_str().into(), self.format, true)?;
        let elsewhere = || SettingsError { setting: "sms.http.url", reason: "has a placeholder in its host".to_owned() };
        shape.url_of_one_host().ok_or_else(elsewhere)
    }
}

impl Http {
    /// The service of a company, which is asked through this client.
    pub(in crate::providers::sms) fn own(own: OwnSettings, secret: Option<SecretString>, client: Client) -> Result<Self, SettingsError> {
        own.sample_url()?;
        let bad = |reason: String| SettingsError { setting: "sms.http.headers", reason };
        let headers = Template::<Secret>::parse(&own.headers).map_err(|error| bad(format!("is not a template: {error}")))?;
        if secret.is_none() && headers.has(Secret) {
            return Err(bad("contains {secret}, and there is none".to_owned()));
        }
        let value = secret.as_ref().map_or("", |secret| secret.expose_secret());
        let headers = SecretString::from(headers.fill(|Secret| value.into()));
        if let Some(name) = request::headers(&headers)?.keys().find(|name| OURS.contains(name)) {
            return Err(bad(format!("contains {name}, which is set by the service itself")));
        }
        let settings = Settings {
            url: own.url.into(),
            method: own.method,
            headers,
            format: own.format,
            body: own.body.into(),
            from: own.from,
            taken: own.taken,
            unreachable: own.unreachable,
            timeout: std::time::Duration::ZERO,
        };
        Self::asking(&settings, secret, client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(settings: serde_json::Value, secret: Option<&str>) -> Result<Http, String> {
        let own: OwnSettings = serde_json::from_value(settings).map_err(|error| error.to_string())?;
        Http::own(own, secret.map(Into::into), Client::builder().build().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_secret_stands_where_it_is_named_and_nowhere_else() {
        let settings = serde_json::json!({
            "url": "https://sms.example.com/{secret}/send",
            "headers": "Authorization: Bearer {secret}",
            "body": r#"{"key":"{secret}","to":"{to}","text":"{text}"}"#,
        });
        let http = built(settings.clone(), Some("a/b\"c")).unwrap();
        assert_eq!(http.headers["authorization"], "Bearer a/b\"c");
        assert!(http.headers["authorization"].is_sensitive());
        assert!(built(settings, None).unwrap_err().contains("{secret}"));
    }

    #[test]
    fn a_text_does_not_choose_where_it_is_sent() {
        let body = r#"{"to":"{to}","text":"{text}"}"#;
        for url in
            ["https://{to_digits}.example.com/", "https://sms.example.com:4{to_digits}/", "http://sms.example.com/", "https://{secret}/"]
        {
            assert!(built(serde_json::json!({ "url": url, "body": body }), Some("sms.example")).is_err(), "{url}");
        }
        for headers in ["Host: inside", "content-length: 0", "Transfer-Encoding: chunked", "no header"] {
            let settings = serde_json::json!({ "url": "https://sms.example.com/", "body": body, "headers": headers });
            assert!(built(settings, None).is_err(), "{headers}");
        }
    }
}
