//! What strangers send, changed in ways that nobody thought of: no parser may panic, and what it accepts has to hold what its type promises.
//!
//! Each target begins with the files of its folder in `corpus`, as they are and then with random changes. An input that has failed is kept there,
//! so that it is tried first from then on. `FUZZ_SECONDS=600 cargo test --release --test fuzz phone` looks longer at one target.

#![expect(clippy::unwrap_used, reason = "a test fails at an unexpected value")]

mod changes;

use std::fs;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use chrono::DateTime;
use portico::app;
use portico::contact::{EmailAddress, Identity, PhoneNumber};
use portico::declared::{self, BuiltIn};
use portico::dev::receive::{SERVICE_SIGNATURE, STANDARD_SIGNATURE, SigningSecret, Verdict, Verdicts};
use portico::dev::temporary::TemporaryDirectory;
use portico::gateways::GatewaySigningSecret;
use portico::gateways::drivers::{self, Account, Incoming};
use portico::kernel::json;
use portico::kernel::password_hashing::HashedPassword;
use portico::resources::Cursor;
use portico::storefront::PresentedToken;
use portico::webhooks::EndpointUrl;
use serde_json::{Map, Value};

use changes::{for_each_change, for_each_text};

#[test]
fn token() {
    for_each_text("token", |text| {
        let Some(token) = PresentedToken::parse(text) else { return };
        let (number, secret) = text.split_once('|').expect("a token has two parts");
        assert_eq!(number, token.id.to_string(), "a token has one spelling");
        assert!(secret.len() == 40 && secret.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    });
}

#[test]
fn phone() {
    for_each_text("phone", |text| {
        let Ok(number) = PhoneNumber::parse(text) else { return };
        let digits = number.as_str().strip_prefix('+').expect("a number is in E.164");
        assert!((7..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()), "{number:?}");
        assert_eq!(PhoneNumber::parse(number.as_str()).as_ref(), Ok(&number), "a number is read as itself");
        assert!(matches!(Identity::parse(text), Ok(Identity::Phone(_))));
    });
}

#[test]
fn mail() {
    for_each_text("mail", |text| {
        let Ok(address) = EmailAddress::parse(text) else { return };
        assert!(!address.as_str().contains(char::is_whitespace) && address.as_str().contains('@'), "{address:?}");
        assert_eq!(EmailAddress::parse(address.as_str()).as_ref(), Ok(&address), "an address is read as itself");
        assert!(matches!(Identity::parse(text), Ok(Identity::Email(_))));
    });
}

/// The hash of a password that another service made.
#[test]
fn password_hash() {
    for_each_text("password_hash", |text| {
        let Ok(hash) = HashedPassword::of_another_service(text.to_owned()) else { return };
        let stored = hash.expose().to_owned();
        assert_eq!(HashedPassword::of_another_service(stored.clone()).unwrap().expose(), stored, "what is stored is read as itself");
    });
}

#[test]
fn url() {
    for_each_text("url", |text| {
        let Ok(url) = text.parse::<EndpointUrl>() else { return };
        assert!(url.as_str().starts_with("https://") && url.as_str().len() <= 2048, "{url}");
        assert_eq!(url.as_str().parse().as_ref(), Ok(&url), "a URL is read as itself");
    });
}

#[test]
fn cursor() {
    for_each_text("cursor", |text| {
        let Some(cursor) = Cursor::decode(text) else { return };
        assert_eq!(cursor.encode(), text, "a cursor has one spelling");
    });
}

/// The body of a request, and of an event in its envelope.
#[test]
fn envelope() {
    for_each_change("envelope", |bytes| {
        let Ok(value) = json::parse::<Value>(bytes) else { return };
        let written = serde_json::to_vec(&value).unwrap();
        assert_eq!(json::parse::<Value>(&written).unwrap(), value, "what is written is read as itself");
    });
}

/// The signatures of a delivery: the first line of an input is the value of both headers, and the rest is the body.
#[test]
fn signature() {
    let secret: SigningSecret = "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=".parse().unwrap();
    for_each_change("signature", |bytes| {
        let (value, body) = bytes.split_at(bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0));
        let Ok(value) = HeaderValue::from_bytes(value) else { return };
        let headers = [SERVICE_SIGNATURE, STANDARD_SIGNATURE].map(|name| (HeaderName::try_from(name).unwrap(), value.clone()));
        let verdicts = Verdicts::on(&headers.into_iter().collect(), body, std::slice::from_ref(&secret));
        assert_eq!([verdicts.service, verdicts.standard], [Verdict::Wrong; 2], "nobody has signed this");
    });
}

fn accounts() -> Vec<Box<dyn Account>> {
    let secret = GatewaySigningSecret::parse(&"a-secret-that-nobody-signs-with".into()).unwrap();
    let any: Map<String, Value> = serde_json::from_str(include_str!("any_gateway.json")).unwrap();
    [("card", Map::new()), ("hmac", any)]
        .map(|(driver, settings)| drivers::named(driver).unwrap().account(&settings, Some(secret.clone())).unwrap())
        .into()
}

/// The callback of a gateway: the first line of an input is the signature, and the rest is the body.
#[test]
fn callback() {
    let (accounts, now) = (accounts(), DateTime::from_timestamp(1_779_358_500, 0).unwrap());
    for_each_change("callback", |bytes| {
        let (value, body) = bytes.split_at(bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0));
        let Ok(value) = HeaderValue::from_bytes(value) else { return };
        for account in &accounts {
            let headers = HeaderMap::from_iter([(account.signature_header().unwrap().clone(), value.clone())]);
            assert!(account.verify(&Incoming { headers: &headers, body, now }).is_err(), "nobody has signed this");
            if let Ok(body) = json::parse(body) {
                account.read(&body);
            }
        }
    });
}

/// The file of a declared extension, whose schema becomes part of the OpenAPI document. That document is written, and never parsed.
#[test]
fn extension() {
    let directory = TemporaryDirectory::make("portico-fuzz").unwrap();
    let catalogue = app::catalogue();
    let built_in = BuiltIn { kinds: &[], events: &catalogue };
    for_each_text("extension", |text| {
        fs::write(directory.path().join("extension.toml"), text).unwrap();
        let Ok(declarations) = declared::load(directory.path(), &built_in) else { return };
        assert!(declarations.iter().all(|declaration| declaration.kind.contains('/')), "a kind is a namespace and a word");
    });
}
