//! What a verification code is for. The wording of a message depends on it, and so does the action that the code authorizes.

use chrono::TimeDelta;

/// The time for which a code is valid, whatever its purpose.
pub const CODE_LIFETIME: TimeDelta = TimeDelta::minutes(10);

/// The purpose of a code. A code is accepted for its own purpose only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    CreateAccount,
    SignIn,
    VerifyPhone,
    VerifyEmail,
    CloseAccount,
    /// To prove, in a session, who the customer is.
    StepUp,
}

impl Purpose {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CreateAccount => "create_account",
            Self::SignIn => "sign_in",
            Self::VerifyPhone => "verify_phone",
            Self::VerifyEmail => "verify_email",
            Self::CloseAccount => "close_account",
            Self::StepUp => "step_up",
        }
    }

    /// Whether the code is sent to an identity that the caller entered freely, rather than to one that belongs to an account.
    pub fn is_for_whatever_is_named(self) -> bool {
        matches!(self, Self::CreateAccount | Self::VerifyEmail)
    }
}
