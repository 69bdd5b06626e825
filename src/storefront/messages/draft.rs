//! The wording of one language as the files contain it, and the merge of one file over another.

use serde::Deserialize;

use crate::storefront::messages::notice::{Notice, NoticeDraft, NoticeWording};
use crate::storefront::messages::wording::{Fault, Wording};
use crate::storefront::purpose::Purpose;

/// One `C` for each purpose of a code and one `N` for each notice, under the names that the files use.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Words<C, N> {
    create_account: C,
    sign_in: C,
    verify_phone: C,
    verify_email: C,
    close_account: C,
    step_up: C,
    phone_changed: N,
    email_changed: N,
    contact_changed: N,
    change_taken_back: N,
    new_sign_in: N,
    password_changed: N,
    provider_linked: N,
    second_factor_on: N,
    second_factor_off: N,
    recovery_code_used: N,
    recovery_codes_replaced: N,
    passkey_added: N,
    passkey_removed: N,
    account_closed: N,
}

/// The wording of a file.
pub(super) type Drafts = Words<Draft, NoticeDraft>;
/// The checked wording of a file.
pub(super) type Wordings = Words<Wording, NoticeWording>;

/// The wording of one purpose in a file. Missing entries come from the file that it overrides.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Draft {
    pub(super) text: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) mail: Option<String>,
}

impl<C, N> Words<C, N> {
    pub(super) fn of(&self, purpose: Purpose) -> &C {
        match purpose {
            Purpose::CreateAccount => &self.create_account,
            Purpose::SignIn => &self.sign_in,
            Purpose::VerifyPhone => &self.verify_phone,
            Purpose::VerifyEmail => &self.verify_email,
            Purpose::CloseAccount => &self.close_account,
            Purpose::StepUp => &self.step_up,
        }
    }

    pub(super) fn about(&self, notice: Notice) -> &N {
        match notice {
            Notice::PhoneChanged => &self.phone_changed,
            Notice::EmailChanged => &self.email_changed,
            Notice::ContactChanged => &self.contact_changed,
            Notice::ChangeTakenBack => &self.change_taken_back,
            Notice::NewSignIn => &self.new_sign_in,
            Notice::PasswordChanged => &self.password_changed,
            Notice::ProviderLinked => &self.provider_linked,
            Notice::SecondFactorOn => &self.second_factor_on,
            Notice::SecondFactorOff => &self.second_factor_off,
            Notice::RecoveryCodeUsed => &self.recovery_code_used,
            Notice::RecoveryCodesReplaced => &self.recovery_codes_replaced,
            Notice::PasskeyAdded => &self.passkey_added,
            Notice::PasskeyRemoved => &self.passkey_removed,
            Notice::AccountClosed => &self.account_closed,
        }
    }
}

impl Drafts {
    /// Merges this wording over `base`: missing entries come from `base`.
    pub(super) fn over(self, base: Self) -> Self {
        Self {
            create_account: self.create_account.over(base.create_account),
            sign_in: self.sign_in.over(base.sign_in),
            verify_phone: self.verify_phone.over(base.verify_phone),
            verify_email: self.verify_email.over(base.verify_email),
            close_account: self.close_account.over(base.close_account),
            step_up: self.step_up.over(base.step_up),
            phone_changed: self.phone_changed.over(base.phone_changed),
            email_changed: self.email_changed.over(base.email_changed),
            contact_changed: self.contact_changed.over(base.contact_changed),
            change_taken_back: self.change_taken_back.over(base.change_taken_back),
            new_sign_in: self.new_sign_in.over(base.new_sign_in),
            password_changed: self.password_changed.over(base.password_changed),
            provider_linked: self.provider_linked.over(base.provider_linked),
            second_factor_on: self.second_factor_on.over(base.second_factor_on),
            second_factor_off: self.second_factor_off.over(base.second_factor_off),
            recovery_code_used: self.recovery_code_used.over(base.recovery_code_used),
            recovery_codes_replaced: self.recovery_codes_replaced.over(base.recovery_codes_replaced),
            passkey_added: self.passkey_added.over(base.passkey_added),
            passkey_removed: self.passkey_removed.over(base.passkey_removed),
            account_closed: self.account_closed.over(base.account_closed),
        }
    }

    /// Completes a language from before there were these messages with those of another one: an update must not keep a service from
    /// starting, and a notice in another language is better than none.
    pub(super) fn completed_by(self, english: &Self) -> Self {
        Self {
            step_up: self.step_up.over(english.step_up.clone()),
            phone_changed: self.phone_changed.over(english.phone_changed.clone()),
            email_changed: self.email_changed.over(english.email_changed.clone()),
            contact_changed: self.contact_changed.over(english.contact_changed.clone()),
            change_taken_back: self.change_taken_back.over(english.change_taken_back.clone()),
            new_sign_in: self.new_sign_in.over(english.new_sign_in.clone()),
            password_changed: self.password_changed.over(english.password_changed.clone()),
            provider_linked: self.provider_linked.over(english.provider_linked.clone()),
            second_factor_on: self.second_factor_on.over(english.second_factor_on.clone()),
            second_factor_off: self.second_factor_off.over(english.second_factor_off.clone()),
            recovery_code_used: self.recovery_code_used.over(english.recovery_code_used.clone()),
            recovery_codes_replaced: self.recovery_codes_replaced.over(english.recovery_codes_replaced.clone()),
            passkey_added: self.passkey_added.over(english.passkey_added.clone()),
            passkey_removed: self.passkey_removed.over(english.passkey_removed.clone()),
            account_closed: self.account_closed.over(english.account_closed.clone()),
            ..self
        }
    }

    /// Checks the wording, or returns the key of the first invalid entry with the fault.
    pub(super) fn check(&self) -> Result<Wordings, (String, Fault)> {
        let named = |table: &str, (key, fault): (&str, Fault)| (format!("{table}.{key}"), fault);
        let checked = |purpose, draft| Wording::new(draft).map_err(|fault| named(purpose, fault));
        let checked_notice = |notice, draft| NoticeWording::new(draft).map_err(|fault| named(notice, fault));
        Ok(Words {
            create_account: checked("create_account", &self.create_account)?,
            sign_in: checked("sign_in", &self.sign_in)?,
            verify_phone: checked("verify_phone", &self.verify_phone)?,
            verify_email: checked("verify_email", &self.verify_email)?,
            close_account: checked("close_account", &self.close_account)?,
            step_up: checked("step_up", &self.step_up)?,
            phone_changed: checked_notice("phone_changed", &self.phone_changed)?,
            email_changed: checked_notice("email_changed", &self.email_changed)?,
            contact_changed: checked_notice("contact_changed", &self.contact_changed)?,
            change_taken_back: checked_notice("change_taken_back", &self.change_taken_back)?,
            new_sign_in: checked_notice("new_sign_in", &self.new_sign_in)?,
            password_changed: checked_notice("password_changed", &self.password_changed)?,
            provider_linked: checked_notice("provider_linked", &self.provider_linked)?,
            second_factor_on: checked_notice("second_factor_on", &self.second_factor_on)?,
            second_factor_off: checked_notice("second_factor_off", &self.second_factor_off)?,
            recovery_code_used: checked_notice("recovery_code_used", &self.recovery_code_used)?,
            recovery_codes_replaced: checked_notice("recovery_codes_replaced", &self.recovery_codes_replaced)?,
            passkey_added: checked_notice("passkey_added", &self.passkey_added)?,
            passkey_removed: checked_notice("passkey_removed", &self.passkey_removed)?,
            account_closed: checked_notice("account_closed", &self.account_closed)?,
        })
    }
}

impl Draft {
    fn over(self, base: Self) -> Self {
        Self { text: self.text.or(base.text), subject: self.subject.or(base.subject), mail: self.mail.or(base.mail) }
    }
}
