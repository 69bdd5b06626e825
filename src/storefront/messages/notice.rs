//! The wording of notices: mails and texts that tell a customer what happened to the account. They contain no link and no verification code,
//! but that of a changed contact has the code that takes the change back.

use std::borrow::Cow;
use std::str::FromStr;

use serde::Deserialize;

use crate::kernel::template::Template;
use crate::providers::sms::segment::{self, Alphabet};
use crate::storefront::messages::store_name::{self, Lettering};
use crate::storefront::messages::unlinked::unlinked;
use crate::storefront::messages::wording::{Fault, check_subject, given};

/// The longest name of a device or provider in a text, in characters. The wording is checked with a name of this length.
const LONGEST_NAME: usize = 30;
/// A code like those that take a change back.
const SAMPLE_CODE: &str = "0000-0000-0000-0000";

/// What a notice is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The phone number of the account was changed.
    PhoneChanged,
    /// The email address of the account was changed. The mail goes to the previous one.
    EmailChanged,
    /// One of both was changed, and the recipient is a contact that was itself changed lately. There is no code.
    ContactChanged,
    /// A change of a contact was taken back.
    ChangeTakenBack,
    /// Somebody signed in from a kind of device that the customer has not used before.
    NewSignIn,
    /// The account has another password.
    PasswordChanged,
    /// An identity provider opens the account.
    ProviderLinked,
    /// Sign-ins ask for a second factor from now on.
    SecondFactorOn,
    /// Sign-ins ask for no second factor any more.
    SecondFactorOff,
    /// A recovery code was used in place of the app.
    RecoveryCodeUsed,
    /// The account has other recovery codes.
    RecoveryCodesReplaced,
    /// A passkey opens the account.
    PasskeyAdded,
    /// A passkey opens the account no longer.
    PasskeyRemoved,
    /// The account was closed.
    AccountClosed,
}

impl Notice {
    pub const ALL: [Self; 14] = [
        Self::PhoneChanged,
        Self::EmailChanged,
        Self::ContactChanged,
        Self::ChangeTakenBack,
        Self::NewSignIn,
        Self::PasswordChanged,
        Self::ProviderLinked,
        Self::SecondFactorOn,
        Self::SecondFactorOff,
        Self::RecoveryCodeUsed,
        Self::RecoveryCodesReplaced,
        Self::PasskeyAdded,
        Self::PasskeyRemoved,
        Self::AccountClosed,
    ];

    /// The name of its table in the files, and of its entries in the log of notices.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PhoneChanged => "phone_changed",
            Self::EmailChanged => "email_changed",
            Self::ContactChanged => "contact_changed",
            Self::ChangeTakenBack => "change_taken_back",
            Self::NewSignIn => "new_sign_in",
            Self::PasswordChanged => "password_changed",
            Self::ProviderLinked => "provider_linked",
            Self::SecondFactorOn => "second_factor_on",
            Self::SecondFactorOff => "second_factor_off",
            Self::RecoveryCodeUsed => "recovery_code_used",
            Self::RecoveryCodesReplaced => "recovery_codes_replaced",
            Self::PasskeyAdded => "passkey_added",
            Self::PasskeyRemoved => "passkey_removed",
            Self::AccountClosed => "account_closed",
        }
    }
}

/// What a notice says beside its wording. Empty where the notice has no such placeholder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Particulars<'a> {
    /// The code that takes the change back.
    pub code: &'a str,
    /// The device that was signed in from, the provider that was linked, or the passkey.
    pub name: &'a str,
}

/// The wording of a notice in a file. Missing entries come from the file that it overrides.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NoticeDraft {
    text: Option<String>,
    subject: Option<String>,
    mail: Option<String>,
}

/// The checked wording of a notice.
#[derive(Debug)]
pub(super) struct NoticeWording {
    text: Template<Placeholder>,
    alphabet: Alphabet,
    subject: Template<Placeholder>,
    mail: Template<Placeholder>,
}

/// The placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    Store,
    Code,
    Name,
}

impl FromStr for Placeholder {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "store" => Ok(Self::Store),
            "code" => Ok(Self::Code),
            "name" => Ok(Self::Name),
            _ => Err(()),
        }
    }
}

impl NoticeDraft {
    pub(super) fn over(self, base: Self) -> Self {
        Self { text: self.text.or(base.text), subject: self.subject.or(base.subject), mail: self.mail.or(base.mail) }
    }

    /// Checks that what there is of text and mail contains the code, or returns the key of the first entry that does not, with the fault.
    pub(super) fn check_code(&self) -> Result<(), (&'static str, Fault)> {
        for (key, words) in [("text", &self.text), ("mail", &self.mail)] {
            let Some(words) = words else { continue };
            let template: Template<Placeholder> = Template::parse(words).map_err(|error| (key, Fault::from(error)))?;
            if !template.has(Placeholder::Code) {
                return Err((key, Fault::Lacks("code")));
            }
        }
        Ok(())
    }
}

impl NoticeWording {
    /// Checks the wording, or returns the key of the first invalid entry with the fault.
    pub(super) fn new(draft: &NoticeDraft) -> Result<Self, (&'static str, Fault)> {
        let (text, alphabet) = check_text(draft.text.as_deref()).map_err(|fault| ("text", fault))?;
        let subject = check_subject(draft.subject.as_deref()).map_err(|fault| ("subject", fault))?;
        let mail = check_mail(draft.mail.as_deref()).map_err(|fault| ("mail", fault))?;
        Ok(Self { text, alphabet, subject, mail })
    }

    /// The body of the text. It fits into one segment, or into two if a name is in a script of its own.
    pub(super) fn text(&self, store: &str, particulars: Particulars<'_>) -> String {
        let rest = fill(&self.text, "", Particulars { name: "", ..particulars });
        let names = [(Placeholder::Store, store), (Placeholder::Name, particulars.name)];
        let names: Vec<_> = names.into_iter().filter(|(placeholder, _)| self.text.has(*placeholder)).map(|(_, name)| name).collect();
        let lettering = Lettering::of(self.alphabet, &rest, &names);
        let name: String = unlinked(&lettering.write(particulars.name)).chars().take(LONGEST_NAME).collect();
        fill(&self.text, &lettering.write(store), Particulars { name: name.trim_end(), ..particulars })
    }

    /// The subject, one line. `store` is the name for mails.
    pub(super) fn subject(&self, store: &str, particulars: Particulars<'_>) -> String {
        fill(&self.subject, store, Particulars { name: &unlinked(particulars.name), ..particulars })
    }

    /// The body: paragraphs separated by empty lines. `store` is the name for mails.
    pub(super) fn mail(&self, store: &str, particulars: Particulars<'_>) -> String {
        fill(&self.mail, store, Particulars { name: &unlinked(particulars.name), ..particulars })
    }
}

fn fill(template: &Template<Placeholder>, store: &str, Particulars { code, name }: Particulars<'_>) -> String {
    template.fill(|placeholder| {
        Cow::Owned(match placeholder {
            Placeholder::Store => store.to_owned(),
            Placeholder::Code => code.to_owned(),
            Placeholder::Name => name.to_owned(),
        })
    })
}

fn check_text(words: Option<&str>) -> Result<(Template<Placeholder>, Alphabet), Fault> {
    let template = Template::parse(given(words)?)?;
    let alphabet = Alphabet::of(&fill(&template, "", Particulars::default()));
    let store = "x".repeat(store_name::longest_in_texts(alphabet));
    let particulars = Particulars { code: SAMPLE_CODE, name: &"x".repeat(LONGEST_NAME) };
    let (length, _) = segment::length(&fill(&template, &store, particulars));
    match alphabet.segment() {
        room if length > room => Err(Fault::TooLong { length, room }),
        _ => Ok((template, alphabet)),
    }
}

fn check_mail(words: Option<&str>) -> Result<Template<Placeholder>, Fault> {
    Ok(Template::parse(given(words)?)?)
}
