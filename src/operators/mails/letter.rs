//! What the mails say.

use askama::Template;

use crate::operators::mail_language::MailLanguage;

/// A mail, as text and as HTML.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) html: String,
}

/// Why an operator gets a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    Invitation,
    Reset,
}

#[derive(Template)]
#[template(path = "mails/letter.html")]
struct Html<'a> {
    language: &'static str,
    subject: &'a str,
    greeting: &'a str,
    paragraphs: [&'a str; 2],
    button: &'static str,
    link: &'a str,
    without_button: &'static str,
}

/// The company is named on every occasion, because its operator may be one of others too.
pub(super) fn write(language: MailLanguage, name: Option<&str>, company: &str, occasion: Occasion, link: &str) -> Written {
    let hello = |word: &str| name.map_or_else(|| format!("{word},"), |name| format!("{word} {name},"));
    let (subject, greeting, paragraphs, button, without_button) = match (language, occasion) {
        (MailLanguage::En, Occasion::Invitation) => (
            format!("Your access to the console of {company}"),
            hello("Hello"),
            [
                format!("You are invited to the Portico console of {company}. Choose a password to get in."),
                "The link works once, within three days. If you do not expect this invitation, you need not do anything.".to_owned(),
            ],
            "Choose a password",
            "If the button does not work, open this address:",
        ),
        (MailLanguage::En, Occasion::Reset) => (
            format!("A new password for the console of {company}"),
            hello("Hello"),
            [
                format!("Somebody has asked for a new password for your access to the Portico console of {company}."),
                "The link works once, within an hour, and ends all sessions there. If it was not you, you need not do anything: your password \
                 stays as it is."
                    .to_owned(),
            ],
            "Choose a new password",
            "If the button does not work, open this address:",
        ),
        (MailLanguage::De, Occasion::Invitation) => (
            format!("Ihr Zugang zur Konsole von {company}"),
            hello("Guten Tag"),
            [
                format!("Sie sind in die Portico-Konsole von {company} eingeladen. Wählen Sie ein Passwort, um hineinzukommen."),
                "Der Link gilt einmal, drei Tage lang. Wenn Sie diese Einladung nicht erwarten, müssen Sie nichts tun.".to_owned(),
            ],
            "Passwort wählen",
            "Wenn die Schaltfläche nicht geht, öffnen Sie diese Adresse:",
        ),
        (MailLanguage::De, Occasion::Reset) => (
            format!("Ein neues Passwort für die Konsole von {company}"),
            hello("Guten Tag"),
            [
                format!("Jemand hat ein neues Passwort für Ihren Zugang zur Portico-Konsole von {company} angefordert."),
                "Der Link gilt einmal, eine Stunde lang, und beendet dort alle Sitzungen. Wenn Sie das nicht waren, müssen Sie nichts tun: Ihr \
                 Passwort bleibt, wie es ist."
                    .to_owned(),
            ],
            "Neues Passwort wählen",
            "Wenn die Schaltfläche nicht geht, öffnen Sie diese Adresse:",
        ),
    };
    let [first, second] = &paragraphs;
    let text = format!("{greeting}\n\n{first}\n\n{link}\n\n{second}\n");
    let paragraphs = [first.as_str(), second.as_str()];
    let html = Html { language: language.as_str(), subject: &subject, greeting: &greeting, paragraphs, button, link, without_button };
    let html = html.render().expect("a text can always be written");
    Written { subject, text, html }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_has_its_link_in_both_forms_and_escapes_names() {
        for language in [MailLanguage::En, MailLanguage::De] {
            for occasion in [Occasion::Invitation, Occasion::Reset] {
                let written = write(language, Some("<i>Ada</i>"), "<b>Acme</b>", occasion, "https://hub.example/console/password#key");
                assert!(written.text.contains("\n\nhttps://hub.example/console/password#key\n\n"), "{}", written.text);
                assert!(written.html.contains(r#"href="https://hub.example/console/password#key""#), "{}", written.html);
                assert!(!written.html.contains("<i>") && !written.html.contains("<b>"), "{}", written.html);
                assert!(written.text.contains("<b>Acme</b>") && written.subject.contains("<b>Acme</b>"), "{}", written.subject);
                assert!(written.html.contains(&format!(r#"lang="{}""#, language.as_str())));
            }
        }
    }
}
