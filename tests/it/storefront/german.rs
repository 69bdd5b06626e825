//! Problems in the language of the customer: decisions, section 1.

use std::fs;
use std::path::Path;

use portico::kernel::problem::{Language, ProblemCode};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PHONE, token};
use crate::support::{Answer, World};

async fn ask(world: &World, languages: &str, path: &str, body: Value) -> Answer {
    world.storefront(path).header("accept-language", languages).json(&body).send().await
}

#[tokio::test]
async fn a_customer_reads_what_is_wrong_in_an_accepted_language() {
    let world = World::new().await;
    let wrong = || json!({ "identity": EMAIL, "password": "wrong" });
    for (languages, spoken, title, detail) in [
        ("de", "de", "Anmeldung fehlgeschlagen", "Die Telefonnummer, die E-Mail-Adresse oder das Passwort ist falsch."),
        (
            "fr, de-AT;q=0.8, en;q=0.5",
            "de",
            "Anmeldung fehlgeschlagen",
            "Die Telefonnummer, die E-Mail-Adresse oder das Passwort ist falsch.",
        ),
        ("en, de;q=0.5", "en", "Credentials invalid", "The identity or the password is wrong."),
        ("fr", "en", "Credentials invalid", "The identity or the password is wrong."),
        ("*", "en", "Credentials invalid", "The identity or the password is wrong."),
    ] {
        let answer = ask(&world, languages, "customers/login", wrong()).await;
        assert_eq!((answer.header("content-language"), answer.header("vary")), (Some(spoken), Some("accept-language")), "{languages}");
        let problem = answer.refused(401, "credentials_invalid");
        assert_eq!((&problem["title"], &problem["detail"]), (&json!(title), &json!(detail)), "{languages}");
    }
    let unasked = world.storefront("customers/login").json(&wrong()).send().await;
    assert_eq!(unasked.header("content-language"), Some("en"));
    assert_eq!(unasked.body["title"], "Credentials invalid");
}

#[tokio::test]
async fn errors_of_members_are_german_too_and_name_the_members() {
    let world = World::new().await;
    for (path, body, member, sentence) in [
        ("customers", json!({}), "code", "code fehlt."),
        ("customers", json!({ "password": "short" }), "password", "Das Passwort braucht mindestens 8 Zeichen."),
        ("customers", json!({ "name": 5 }), "name", "name muss Text sein."),
        ("customers", json!({ "email": "a", "code": "1" }), "email", "Das ist keine gültige E-Mail-Adresse."),
        (
            "customers/request-creation-code",
            json!({ "identity": EMAIL, "mode": "fax" }),
            "mode",
            "mode muss eines der Wörter sein, die diese Adresse annimmt.",
        ),
        (
            "customers/request-creation-code",
            json!({ "identity": PHONE }),
            "mode",
            "Das ist eine Telefonnummer. Fordern Sie den Code mit mode=sms an, damit er als SMS kommt.",
        ),
    ] {
        let problem = ask(&world, "de", path, body).await.refused(422, "body_invalid");
        assert_eq!(problem["fields"][member][0], sentence, "{problem}");
        assert!(problem["errors"].as_array().unwrap().contains(&json!(sentence)), "{problem}");
    }
    let whole = ask(&world, "de", "customers/login", json!([EMAIL, "secret"])).await.refused(422, "body_invalid");
    assert_eq!(whole["detail"], "Der Inhalt muss ein JSON-Objekt sein.");
    let ada = token(&world.register(EMAIL).await);
    let device = json!({ "platform": "ios", "token": "" });
    let refused = world.storefront("customers/register-device").token(&ada).header("accept-language", "de").json(&device).send().await;
    assert_eq!(refused.body["fields"]["token"][0], "Das Token muss 1 bis 4096 Zeichen haben.");
}

#[tokio::test]
async fn whoever_never_reaches_a_route_is_told_in_german_too() {
    let world = World::new().await;
    let ask = |path: &str| world.request(Method::GET, path).header("accept-language", "de").send();
    assert_eq!(ask("/storefront/v1/nothing").await.refused(404, "route_unknown")["detail"], "Unter dieser Adresse gibt es nichts.");
    let wrong_method = world.storefront_get("customers/login").header("accept-language", "de").send().await;
    assert_eq!(wrong_method.refused(405, "method_not_allowed")["title"], "Methode nicht erlaubt");
    let large = world.storefront("customers/login").header("accept-language", "de").body("x".repeat(300 * 1024)).send().await;
    assert_eq!(large.refused(413, "body_too_large")["title"], "Inhalt zu groß");
    // Programs read the problems of the other interfaces, in English.
    let other = ask("/fleet/int/v1/orders").await;
    assert_eq!(other.header("content-language"), None);
    assert_eq!(other.refused(401, "api_key_invalid")["title"], "API key invalid");
}

/// The codes that the storefront's routes answer: those of every route, and those that the documentation of one names.
async fn codes_of_the_storefront() -> Vec<ProblemCode> {
    let document = World::new().await.request(Method::GET, "/openapi.json").send().await.ok(200);
    let paths = document["paths"].as_object().unwrap().iter().filter(|(path, _)| path.starts_with("/storefront/v1/"));
    let documented = json!(paths.collect::<Vec<_>>()).to_string();
    let of_every_route = [
        ProblemCode::BadRequest,
        ProblemCode::RouteUnknown,
        ProblemCode::MethodNotAllowed,
        ProblemCode::RequestTimeout,
        ProblemCode::BodyTooLarge,
        ProblemCode::AddressTooLong,
        ProblemCode::Internal,
        ProblemCode::Overloaded,
        ProblemCode::DatabaseUnavailable,
    ];
    let is_answered = |code: &ProblemCode| of_every_route.contains(code) || documented.contains(&format!("`{}`:", code.as_str()));
    ProblemCode::ALL.iter().copied().filter(is_answered).collect()
}

fn is_german(english: &str) -> bool {
    Language::German.translate(english) != english
}

#[tokio::test]
async fn every_code_of_the_storefront_has_german_words() {
    let codes = codes_of_the_storefront().await;
    assert!(codes.len() > 40, "{codes:?}");
    let missing: Vec<_> = codes.iter().filter(|code| !is_german(code.title()) || !is_german(code.detail())).collect();
    assert!(missing.is_empty(), "src/kernel/problem/german.tsv lacks {missing:?}");
}

/// The sentences that the storefront's flows write into problems: literals where a sentence is added, and errors that are sentences.
fn sentences(path: &Path, found: &mut Vec<String>) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| sentences(&entry.unwrap().path(), found));
        return;
    }
    let source = fs::read_to_string(path).unwrap();
    let source = source.split("#[cfg(test)]").next().unwrap();
    let places = ["Sentence::new(", "FieldErrors::one(", "errors.add(", "#[error("];
    for (at, place) in places.iter().flat_map(|place| source.match_indices(place)) {
        let statement = source[at + place.len()..].split([';', ']']).next().unwrap();
        let literals = statement.split('"').skip(1).step_by(2);
        // Errors of the program begin with a small letter, or have no full stop.
        let is_sentence = |text: &&str| text.ends_with('.') && text.starts_with(|first: char| first.is_uppercase() || first == '{');
        found.extend(literals.filter(is_sentence).map(str::to_owned));
    }
}

#[test]
fn every_sentence_of_the_storefront_has_german_words() {
    let mut found = Vec::new();
    for folder in [
        "src/storefront/accounts",
        "src/storefront/codes",
        "src/storefront/customers",
        "src/storefront/passwords",
        "src/contact",
        "src/kernel/json",
    ] {
        sentences(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut found);
    }
    assert!(found.len() > 15, "{found:?}");
    let missing: Vec<_> = found.iter().filter(|sentence| !sentence.contains("{MAX_DIGITS}") && !is_german(sentence)).collect();
    assert!(missing.is_empty(), "src/kernel/problem/german.tsv lacks {missing:#?}");
}
