//! What notices say.

use chrono::{DateTime, Utc};

use crate::kernel::clock::timestamp;
use crate::operators::mail_language::MailLanguage;
use crate::operators::notices::Notice;

/// A mail.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) subject: String,
    pub(super) text: String,
}

/// What happened, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Happening<'a> {
    pub(super) detail: &'a str,
    pub(super) at: DateTime<Utc>,
}

/// Writes the mail about something that concerns the console of `company`. Several happenings stand in lines of their own.
pub(super) fn write(language: MailLanguage, name: Option<&str>, company: &str, about: Notice, happenings: &[Happening<'_>]) -> Written {
    let (hello, when) = match language {
        MailLanguage::En => ("Hello", "When"),
        MailLanguage::De => ("Guten Tag", "Wann"),
    };
    let greeting = name.map_or_else(|| format!("{hello},"), |name| format!("{hello} {name},"));
    let line = |happening: &Happening<'_>| format!("{}, {}", happening.detail, timestamp(happening.at));
    let (detail, at) = match happenings {
        [one] => (one.detail.to_owned(), timestamp(one.at)),
        many => {
            let lines: Vec<_> = many.iter().map(line).collect();
            let ends = [many.first(), many.last()].into_iter().flatten().map(|happening| timestamp(happening.at));
            (format!("\n{}", lines.join("\n")), ends.collect::<Vec<_>>().join(" – "))
        }
    };
    let (subject, sentence, advice) = match language {
        MailLanguage::En => english(about, &detail),
        MailLanguage::De => german(about, &detail),
    };
    let text = format!("{greeting}\n\n{sentence}\n\nPortico, {company}\n{when}: {at}\n\n{advice}\n");
    Written { subject: format!("{subject} – {company}"), text }
}

type Words = (&'static str, String, &'static str);

fn english(about: Notice, detail: &str) -> Words {
    let own = "If it was not you: ask for another password with \"Forgot your password?\" on the sign-in page, which ends all sessions, and tell an \
               owner of the company.";
    let of_others = "If none of the owners has done this: \"Changes\" in the console says whose access was used. That operator needs another password, \
                     and an owner takes back what was done.";
    let at_provider = "If it was not you: tell an owner of the company at once. Another password does not keep that account out. An owner does, who \
                       deletes you as an operator and invites you again.";
    match about {
        Notice::SignIn => (
            "A new sign-in to the console",
            format!("Somebody has signed in as you from {detail}, in a browser in which you had never signed in before."),
            own,
        ),
        Notice::Password => ("Your password was changed", "You have another password, and all sessions have ended.".to_owned(), own),
        Notice::SecondFactorAdded => (
            "A second factor was set up",
            "Your sign-ins ask for a code of an authenticator app from now on, and all other sessions have ended.".to_owned(),
            own,
        ),
        Notice::SecondFactorRemoved => (
            "Your second factor was removed",
            "Your sign-ins ask for no code any more, and all other sessions have ended.".to_owned(),
            own,
        ),
        Notice::RecoveryCodes => (
            "Your recovery codes were replaced",
            "You have other recovery codes, those before do not work any more, and all other sessions have ended.".to_owned(),
            own,
        ),
        Notice::Provider => (
            "You sign in with the identity provider",
            "Somebody has signed in as you with the company's identity provider for the first time. Only this account there signs you in with it \
             from now on."
                .to_owned(),
            at_provider,
        ),
        Notice::Role => (
            "An operator was let in, or has another role",
            format!("Somebody was let in to the console, or has another role there: {detail}."),
            of_others,
        ),
        Notice::AdminKey => (
            "An API key with the scope admin",
            format!("An API key, which may do everything, was made or changed: {detail}."),
            of_others,
        ),
        Notice::Destination => (
            "Something outlasts a session",
            format!(
                "In the console, an operator has made something that goes on when their session has ended, or has changed where it leads: {detail}."
            ),
            of_others,
        ),
    }
}

fn german(about: Notice, detail: &str) -> Words {
    let own = "Wenn Sie das nicht waren: Fordern Sie auf der Anmeldeseite mit „Passwort vergessen?“ ein neues Passwort an, das beendet alle \
               Sitzungen, und sagen Sie es einem Eigentümer der Firma.";
    let of_others = "Wenn das keiner der Eigentümer war: In der Konsole steht unter „Änderungen“, wessen Zugang benutzt wurde. Dieser Operator braucht \
                     ein neues Passwort, und ein Eigentümer macht rückgängig, was geschehen ist.";
    let at_provider = "Wenn Sie das nicht waren: Sagen Sie es sofort einem Eigentümer der Firma. Ein anderes Passwort hält dieses Konto nicht fern. Das \
                       kann nur ein Eigentümer, der Sie als Operator löscht und neu einlädt.";
    match about {
        Notice::SignIn => (
            "Neue Anmeldung an der Konsole",
            format!("Jemand hat sich als Sie angemeldet, von {detail} und in einem Browser, in dem Sie noch nie angemeldet waren."),
            own,
        ),
        Notice::Password => ("Ihr Passwort wurde geändert", "Sie haben ein anderes Passwort, und alle Sitzungen sind beendet.".to_owned(), own),
        Notice::SecondFactorAdded => (
            "Ein zweiter Faktor wurde eingerichtet",
            "Ihre Anmeldungen fragen ab jetzt nach einem Code einer Authenticator-App, und alle anderen Sitzungen sind beendet.".to_owned(),
            own,
        ),
        Notice::SecondFactorRemoved => (
            "Ihr zweiter Faktor wurde entfernt",
            "Ihre Anmeldungen fragen nach keinem Code mehr, und alle anderen Sitzungen sind beendet.".to_owned(),
            own,
        ),
        Notice::RecoveryCodes => (
            "Ihre Wiederherstellungscodes wurden ersetzt",
            "Sie haben andere Wiederherstellungscodes, die bisherigen gelten nicht mehr, und alle anderen Sitzungen sind beendet.".to_owned(),
            own,
        ),
        Notice::Provider => (
            "Sie melden sich mit dem Identitätsanbieter an",
            "Jemand hat sich zum ersten Mal mit dem Identitätsanbieter der Firma als Sie angemeldet. Nur dieses Konto dort meldet Sie ab jetzt \
             damit an."
                .to_owned(),
            at_provider,
        ),
        Notice::Role => (
            "Ein Operator wurde eingelassen oder hat eine andere Rolle",
            format!("Jemand wurde in die Konsole eingelassen oder hat dort eine andere Rolle: {detail}."),
            of_others,
        ),
        Notice::AdminKey => (
            "Ein API-Schlüssel mit dem Recht admin",
            format!("Ein API-Schlüssel, der alles darf, wurde erstellt oder geändert: {detail}."),
            of_others,
        ),
        Notice::Destination => (
            "Etwas überdauert eine Sitzung",
            format!(
                "Ein Operator hat in der Konsole etwas erstellt, das weiterwirkt, wenn seine Sitzung beendet ist, oder geändert, wohin es führt: {detail}."
            ),
            of_others,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Notice; 9] = [
        Notice::SignIn,
        Notice::Password,
        Notice::SecondFactorAdded,
        Notice::SecondFactorRemoved,
        Notice::RecoveryCodes,
        Notice::Provider,
        Notice::Role,
        Notice::AdminKey,
        Notice::Destination,
    ];

    #[test]
    fn every_notice_says_what_happened_when_and_what_to_do_and_has_no_link() {
        for language in [MailLanguage::En, MailLanguage::De] {
            for about in ALL {
                let happening = Happening { detail: "203.0.113.9", at: DateTime::UNIX_EPOCH };
                let written = write(language, Some("Ada"), "Acme", about, &[happening]);
                assert!(written.subject.ends_with("– Acme") && written.text.contains("Ada,\n"), "{written:?}");
                assert!(written.text.contains("1970-01-01T00:00:00") && !written.text.contains("http"), "{written:?}");
                let names_its_detail = matches!(about, Notice::SignIn | Notice::Role | Notice::AdminKey | Notice::Destination);
                assert_eq!(written.text.contains("203.0.113.9"), names_its_detail, "{written:?}");
            }
        }
    }

    #[test]
    fn what_was_gathered_stands_in_lines_of_its_own() {
        let happened = |detail, second| Happening { detail, at: DateTime::from_timestamp(second, 0).unwrap() };
        let written = write(MailLanguage::En, None, "Acme", Notice::Role, &[happened("eve, owner", 0), happened("sam, viewer", 60)]);
        for line in ["eve, owner, 1970-01-01T00:00:00", "sam, viewer, 1970-01-01T00:01:00"] {
            assert!(written.text.lines().any(|written| written.starts_with(line)), "{written:?}");
        }
    }
}
