//! The wording of one language as the files contain it, and the merge of one file over another.

use serde::Deserialize;

use crate::storefront::codes::Purpose;
use crate::storefront::messages::wording::{Fault, Wording};

/// One value for each purpose, under the names that the files use.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ByPurpose<T> {
    create_account: T,
    sign_in: T,
    verify_phone: T,
    verify_email: T,
    close_account: T,
}

/// The wording of one purpose in a file. Missing entries come from the file that it overrides.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Draft {
    pub(super) text: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) mail: Option<String>,
}

impl<T> ByPurpose<T> {
    pub(super) fn of(&self, purpose: Purpose) -> &T {
        match purpose {
            Purpose::CreateAccount => &self.create_account,
            Purpose::SignIn => &self.sign_in,
            Purpose::VerifyPhone => &self.verify_phone,
            Purpose::VerifyEmail => &self.verify_email,
            Purpose::CloseAccount => &self.close_account,
        }
    }
}

impl ByPurpose<Draft> {
    /// Merges this wording over `base`: missing entries come from `base`.
    pub(super) fn over(self, base: Self) -> Self {
        Self {
            create_account: self.create_account.over(base.create_account),
            sign_in: self.sign_in.over(base.sign_in),
            verify_phone: self.verify_phone.over(base.verify_phone),
            verify_email: self.verify_email.over(base.verify_email),
            close_account: self.close_account.over(base.close_account),
        }
    }

    /// Checks the wording, or returns the key of the first invalid entry with the fault.
    pub(super) fn check(&self) -> Result<ByPurpose<Wording>, (String, Fault)> {
        let checked = |purpose, draft| Wording::new(draft).map_err(|(key, fault)| (format!("{purpose}.{key}"), fault));
        Ok(ByPurpose {
            create_account: checked("create_account", &self.create_account)?,
            sign_in: checked("sign_in", &self.sign_in)?,
            verify_phone: checked("verify_phone", &self.verify_phone)?,
            verify_email: checked("verify_email", &self.verify_email)?,
            close_account: checked("close_account", &self.close_account)?,
        })
    }
}

impl Draft {
    fn over(self, base: Self) -> Self {
        Self { text: self.text.or(base.text), subject: self.subject.or(base.subject), mail: self.mail.or(base.mail) }
    }
}
