//! The contents of texts and mails: language, wording, and resistance to injection by names and headers.

use std::fs;
use std::path::Path;

use chrono::TimeDelta;
use portico::dev::temporary::TemporaryDirectory;
use portico::kernel::error_chain::chain;
use portico::providers::mailbox::CapturedMessage;
use portico::providers::sms::segment;
use portico::storefront::{Messages, MessagesSettings};
use serde_json::json;

use crate::support::customers::{EMAIL, PHONE, token};
use crate::support::smtp::SmtpSink;
use crate::support::{World, database};

/// Requests a creation code with this `Accept-Language` and returns the message.
async fn message(world: &World, identity: &str, languages: &str) -> CapturedMessage {
    let mode = if identity.contains('@') { "email" } else { "sms" };
    let body = json!({ "mode": mode, "identity": identity });
    world.storefront("customers/request-creation-code").json(&body).header("accept-language", languages).send().await.ok(200);
    world.messages().swap_remove(0)
}

/// The text to a customer who has not been texted recently.
async fn text(world: &World, languages: &str) -> String {
    world.pass(TimeDelta::minutes(30));
    message(world, PHONE, languages).await.text
}

#[tokio::test]
async fn a_text_is_in_the_preferred_language_of_the_client() {
    let world = World::new().await;
    for (languages, expected) in [
        ("de", "ist Ihr Code"),
        ("fr, de-CH;q=0.9, en;q=0.8", "ist Ihr Code"),
        ("de;q=0.4, en-GB;q=0.5", "is your"),
        ("fr", "is your"),
        ("*", "is your"),
        ("de;q=0", "is your"),
        (";;q=,\t%00{}../de", "is your"),
    ] {
        let text = text(&world, languages).await;
        assert!(text.contains(expected) && text.starts_with(&world.last_code()), "{languages}: {text}");
    }
    world.creation_code(EMAIL).await;
    assert!(world.messages()[0].text.contains("Your code"), "without the header it is English");
}

#[tokio::test]
async fn each_purpose_has_its_words_on_each_route_that_sends() {
    let world = World::new().await;
    let token = token(&world.register(PHONE).await);
    let german = |path: &str, body: serde_json::Value| world.storefront(path).json(&body).header("accept-language", "de").token(&token);
    for (path, body, expected) in [
        ("customers/login-with-sms", json!({ "phone": PHONE }), "Anmeldecode"),
        ("customers/request-phone-verification", json!({ "phone": "+12015550199" }), "Nummer"),
        ("customers/request-email-verification", json!({ "email": EMAIL }), "E-Mail-Adresse"),
        ("customers/account-closure", json!({}), "Konto"),
        ("customers/request-step-up", json!({}), "dass Sie es sind"),
    ] {
        world.pass(TimeDelta::minutes(2));
        german(path, body).send().await.ok(200);
        let text = &world.messages()[0].text;
        assert!(text.contains(expected) && text.contains("10 Minuten"), "{path}: {text}");
    }
}

#[tokio::test]
async fn a_mail_has_the_same_words_as_plain_text_and_as_html() {
    let sink = SmtpSink::start(false).await;
    let world = World::with(&[("mail.smtp_url", &sink.url())]).await;
    let kept = message(&world, EMAIL, "en").await;
    // Quoted-printable breaks long lines with a `=` and encodes `=` as `=3D`.
    let mail = sink.mails().swap_remove(0).replace("=\n", "").replace("=3D", "=");
    let code = world.last_code();
    assert!(mail.contains("Content-Type: multipart/alternative"), "{mail}");
    let (plain, html) = (mail.find("Content-Type: text/plain").unwrap(), mail.find("Content-Type: text/html").unwrap());
    assert!(plain < html, "programs show the last part they can");
    assert!(
        mail[plain..html].contains(&format!("\n{code}\n")) && mail[html..].contains(&format!("<p class=\"code\">{code}</p>")),
        "{mail}"
    );
    assert!(mail[plain..html].contains("open an account at Acme Shop") && mail[html..].contains("open an account at Acme Shop"));
    let html = kept.html.unwrap();
    assert!(html.contains("<html lang=\"en\">") && html.contains("<h1>Acme Shop</h1>"), "the mailbox keeps both");
    assert!(html.contains("prefers-color-scheme: dark"), "it is dark where the mail program is");
    assert!(["http", "//", "src=", "href=", "url(", "@import"].iter().all(|remote| !html.contains(remote)), "it loads nothing: {html}");
}

#[tokio::test]
async fn a_store_name_changes_neither_headers_nor_markup_nor_the_length_of_a_text() {
    let sink = SmtpSink::start(false).await;
    let world = World::with(&[("mail.smtp_url", &sink.url())]).await;
    let name = format!("<b>\"A&B\"</b>\r\nBcc: x@example.com\r\n\r\n\u{202e}{{code}} {}", "Łódź ".repeat(50));
    sqlx::query("update stores set name = $1").bind(&name).execute(&world.pool).await.unwrap();

    let kept = message(&world, EMAIL, "en").await;
    assert!(!kept.subject.unwrap().contains(['\r', '\n', '\u{202e}']));
    let html = kept.html.unwrap();
    assert!(html.contains("<h1>&lt;b&gt;&quot;A&amp;B&quot;&lt;/b&gt; Bcc:") && !html.contains("<b>"), "{html}");
    let mail = sink.mails().swap_remove(0);
    let headers = mail.split("\n\n").next().unwrap();
    assert!(headers.lines().all(|line| !line.to_ascii_lowercase().starts_with("bcc")), "{headers}");

    for language in ["en", "de"] {
        let text = text(&world, language).await;
        let (length, alphabet) = segment::length(&text);
        assert!(length <= alphabet.segment() && alphabet == segment::Alphabet::Gsm, "{length} {text}");
    }
}

#[tokio::test]
async fn a_store_is_texted_about_under_its_own_name() {
    let world = World::new().await;
    for (name, written, segments) in [
        ("Łódź Shop", "your Lodz Shop code", 1),
        ("🍕 Napoli", "your Napoli code", 1),
        ("東京デパート", "your 東京デパート code", 2),
        ("Магазин", "your Магазин code", 2),
    ] {
        sqlx::query("update stores set name = $1").bind(name).execute(&world.pool).await.unwrap();
        let text = text(&world, "en").await;
        assert!(text.contains(written), "{name}: {text}");
        assert_eq!(segment::segments(&text), segments, "{name}: {text}");
    }
}

const FRENCH: &str = r#"
[create_account]
text = "{code} : votre code {store}, valable {minutes} minutes."
subject = "{code} : votre code {store}"
mail = "Votre code\n\n{code}"
[sign_in]
text = "{code} : votre code {store}"
subject = "{code} : votre code {store}"
mail = "Votre code\n\n{code}"
[verify_phone]
text = "{code} : votre code {store}"
subject = "{code} : votre code {store}"
mail = "Votre code\n\n{code}"
[verify_email]
text = "{code} : votre code {store}"
subject = "{code} : votre code {store}"
mail = "Votre code\n\n{code}"
[close_account]
text = "{code} : votre code {store}"
subject = "{code} : votre code {store}"
mail = "Votre code\n\n{code}"
[phone_changed]
subject = "Votre compte {store}"
mail = "Un nouveau numéro a été enregistré."
[email_changed]
subject = "Votre compte {store}"
mail = "Une nouvelle adresse a été enregistrée."
"#;

fn write(directory: &Path, file: &str, words: &str) {
    let path = directory.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, words).unwrap();
}

#[tokio::test]
async fn a_directory_adds_languages_and_changes_words_for_all_stores_or_for_one() {
    let (database, directory) = (database::fresh().await, TemporaryDirectory::make("portico-messages").unwrap());
    // Another service on the same database: its store must exist before the folder can be named after its id.
    let other = World::on(&database, &[]).await;
    let folder = other.store.to_string();
    write(directory.path(), "fr.toml", FRENCH);
    write(directory.path(), "en.toml", "[create_account]\ntext = \"{code} for all\"");
    write(directory.path(), "..data/ignored", "a mounted volume's own");
    write(directory.path(), &format!("{folder}/en.toml"), "[create_account]\ntext = \"{code} for one\"");
    write(directory.path(), &format!("{folder}/layout.html"), "<html lang=\"{language}\"><h2>{store}</h2>{body}</html>");
    let world = World::on(&database, &[("messages.directory", directory.path().to_str().unwrap())]).await;

    assert_eq!(text(&world, "fr-CA").await, format!("{} : votre code Acme Shop, valable 10 minutes.", world.last_code()));
    assert_eq!(text(&world, "en").await, format!("{} for all", world.last_code()));
    assert!(text(&world, "de").await.contains("ist Ihr Code"), "entries that are not overridden stay");

    let of_the_other_store = async |identity: &str, languages: &str| {
        let body = json!({ "identity": identity, "mode": if identity.contains('@') { "email" } else { "sms" } });
        let request = world.storefront("customers/request-creation-code").key(&other.store_key);
        request.json(&body).header("accept-language", languages).send().await.ok(200);
        world.messages().swap_remove(0)
    };
    assert_eq!(of_the_other_store(PHONE, "en").await.text, format!("{} for one", world.last_code()));
    let mail = of_the_other_store(EMAIL, "fr").await;
    assert!(mail.html.unwrap().starts_with("<html lang=\"fr\"><h2>Acme Shop</h2><p>Votre code</p>"));
}

#[tokio::test]
async fn a_language_from_before_there_were_notices_tells_them_in_english() {
    let directory = TemporaryDirectory::make("portico-messages").unwrap();
    write(directory.path(), "fr.toml", FRENCH);
    let world = World::with(&[("messages.directory", directory.path().to_str().unwrap())]).await;
    let ada = token(&world.register(EMAIL).await);
    let in_french = |path: &str| world.storefront(path).token(&ada).header("accept-language", "fr").send();
    in_french("customers/request-step-up").await.ok(200);
    assert!(world.messages()[0].text.contains("that it is you"), "{}", world.messages()[0].text);
}

#[test]
fn files_that_cannot_be_used_are_named_at_the_start() {
    let without_a_line = |line: &str| FRENCH.lines().filter(|this| !this.contains(line)).collect::<Vec<_>>().join("\n");
    for (file, words, expected) in [
        ("fr.toml", without_a_line("valable"), vec!["fr.toml", "create_account.text", "missing"]),
        ("en.toml", "[sign_in]\ntext = \"{code} {shop}\"".to_owned(), vec!["en.toml", "sign_in.text", "{shop}"]),
        ("en.toml", "[sign_in]\nmail = \"Hello {store}\"".to_owned(), vec!["en.toml", "sign_in.mail", "{code}"]),
        ("en.toml", "[sign_in]\nsubject = \"a\\nb\"".to_owned(), vec!["en.toml", "sign_in.subject", "line"]),
        (
            "de.toml",
            format!("[verify_phone]\ntext = \"{{code}} {}\"", "ж".repeat(64)),
            vec!["de.toml", "verify_phone.text", "71 units; one text holds at most 70"],
        ),
        ("en.toml", "[sign_in]\ntxt = \"{code}\"".to_owned(), vec!["en.toml", "txt", "line 2"]),
        ("fr.toml", without_a_line("Votre code"), vec!["fr.toml", "create_account.mail", "missing"]),
        ("en.toml", "[phone_changed]\nmail = \"{minutes}\"".to_owned(), vec!["en.toml", "phone_changed.mail", "{minutes}"]),
        ("en.toml", "[phone_changed]\ntxt = \"no\"".to_owned(), vec!["en.toml", "txt", "line 2"]),
        ("en.toml", format!("[new_sign_in]\ntext = \"{}\"", "x".repeat(161)), vec!["en.toml", "new_sign_in.text", "161 units"]),
        ("en.toml", "not TOML".to_owned(), vec!["en.toml"]),
        ("layout.html", "<p>{subject}</p>".to_owned(), vec!["layout.html", "{body}"]),
        ("english.tml", String::new(), vec!["english.tml", "neither"]),
        ("store_x/en.toml", String::new(), vec!["store_x", "neither"]),
        ("store_01h455vb4pex5vsknk084sn02q/en.toml", "[sign_in]\ntext = \"no\"".to_owned(), vec!["sn02q/en.toml", "sign_in.text"]),
        ("store_01h455vb4pex5vsknk084sn02q/more/en.toml", String::new(), vec!["more", "neither"]),
    ] {
        let directory = TemporaryDirectory::make("portico-messages").unwrap();
        write(directory.path(), file, &words);
        let refused = Messages::load(&MessagesSettings { directory: Some(directory.path().to_owned()) }).unwrap_err();
        let refused = chain(&refused);
        assert!(expected.iter().all(|part| refused.contains(part)), "{file}: {refused}");
    }
    let nowhere = MessagesSettings { directory: Some("/nowhere/messages".into()) };
    assert!(chain(&Messages::load(&nowhere).unwrap_err()).contains("/nowhere/messages"));
}
