//! The wording of notices: mails that tell a customer about a change. They contain no code and ask for none.

use std::borrow::Cow;
use std::str::FromStr;

use serde::Deserialize;

use crate::kernel::template::Template;
use crate::storefront::messages::wording::{Fault, check_subject, given};

/// The changes that a notice is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The phone number of the account was changed.
    PhoneChanged,
    /// The email address of the account was changed. The notice goes to the previous one.
    EmailChanged,
}

/// The wording of a notice in a file. Missing entries come from the file that it overrides.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NoticeDraft {
    subject: Option<String>,
    mail: Option<String>,
}

/// The checked wording of a notice.
#[derive(Debug)]
pub(super) struct NoticeWording {
    subject: Template<Placeholder>,
    mail: Template<Placeholder>,
}

/// The placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    Store,
}

impl FromStr for Placeholder {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        if name == "store" { Ok(Self::Store) } else { Err(()) }
    }
}

impl NoticeDraft {
    pub(super) fn over(self, base: Self) -> Self {
        Self { subject: self.subject.or(base.subject), mail: self.mail.or(base.mail) }
    }
}

impl NoticeWording {
    /// Checks the wording, or returns the key of the first invalid entry with the fault.
    pub(super) fn new(draft: &NoticeDraft) -> Result<Self, (&'static str, Fault)> {
        let subject = check_subject(draft.subject.as_deref()).map_err(|fault| ("subject", fault))?;
        let mail = check_mail(draft.mail.as_deref()).map_err(|fault| ("mail", fault))?;
        Ok(Self { subject, mail })
    }

    /// The subject, one line. `store` is the name for mails.
    pub(super) fn subject(&self, store: &str) -> String {
        self.subject.fill(|Placeholder::Store| Cow::Borrowed(store))
    }

    /// The body: paragraphs separated by empty lines. `store` is the name for mails.
    pub(super) fn mail(&self, store: &str) -> String {
        self.mail.fill(|Placeholder::Store| Cow::Borrowed(store))
    }
}

fn check_mail(words: Option<&str>) -> Result<Template<Placeholder>, Fault> {
    Ok(Template::parse(given(words)?)?)
}
