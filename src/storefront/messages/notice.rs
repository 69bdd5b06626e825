//! The words of notices: mails that tell a customer what was changed. They carry no code, and ask for none.

use std::borrow::Cow;
use std::str::FromStr;

use serde::Deserialize;

use crate::kernel::template::Template;
use crate::storefront::messages::wording::{Fault, check_subject, given};

/// What a customer is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::storefront) enum Notice {
    /// Another number belongs to the account.
    PhoneChanged,
    /// Another address does, and the one that is told no longer.
    EmailChanged,
}

/// What a file says of a notice. What it leaves out comes from the file it overrides.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NoticeDraft {
    subject: Option<String>,
    mail: Option<String>,
}

/// What a notice says, checked.
#[derive(Debug)]
pub(super) struct NoticeWording {
    subject: Template<Placeholder>,
    mail: Template<Placeholder>,
}

/// What may stand in braces.
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
    /// Checks what files say, or names the key whose words cannot be used.
    pub(super) fn new(draft: &NoticeDraft) -> Result<Self, (&'static str, Fault)> {
        let subject = check_subject(draft.subject.as_deref()).map_err(|fault| ("subject", fault))?;
        let mail = check_mail(draft.mail.as_deref()).map_err(|fault| ("mail", fault))?;
        Ok(Self { subject, mail })
    }

    /// One line. `store` is a name for mails.
    pub(super) fn subject(&self, store: &str) -> String {
        self.subject.fill(|Placeholder::Store| Cow::Borrowed(store))
    }

    /// Paragraphs with an empty line between them. `store` is a name for mails.
    pub(super) fn mail(&self, store: &str) -> String {
        self.mail.fill(|Placeholder::Store| Cow::Borrowed(store))
    }
}

fn check_mail(words: Option<&str>) -> Result<Template<Placeholder>, Fault> {
    Ok(Template::parse(given(words)?)?)
}
