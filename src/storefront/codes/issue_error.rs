//! Why a code was not sent, and what the client is told.

use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::sending::mail_limit;
use crate::storefront::sms_guard::TextRefusal;

#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error("the SMS guard or the providers refused the text")]
    Refused(#[source] TextRefusal),
    #[error("a challenge is asked for and was not solved")]
    NotSolved(Problem),
    #[error("the mail was refused")]
    CoolingDown(#[source] mail_limit::CoolingDown),
    #[error("no mail server accepted the mail, or there is no recipient")]
    NotSent,
    #[error("no mail can be delivered to the address")]
    Unreachable,
    #[error("a customer asks for a number or address that is for tests")]
    ForTests { is_phone: bool },
    #[error("the test identity has expired")]
    TestExpired,
    #[error("the account of the caller is closed")]
    Closed,
    #[error("the SMS guard could not judge the text")]
    NotJudged(Problem),
    #[error("the code could not be stored")]
    Database(#[from] sqlx::Error),
}

/// The refusals of a mail to a freely entered address, for the descriptions of the routes that send one.
pub const MAIL_REFUSALS: &[ProblemCode] =
    &[ProblemCode::EmailCooldown, ProblemCode::EmailUnreachable, ProblemCode::TestIdentityExpired, ProblemCode::MessageNotSent];

/// The refusals of a text.
pub const TEXT_REFUSALS: &[ProblemCode] = &[
    ProblemCode::TextsPaused,
    ProblemCode::NumberInvalid,
    ProblemCode::NumberUnreachable,
    ProblemCode::NumberUnproven,
    ProblemCode::NumberCooldown,
    ProblemCode::RangeCooldown,
    ProblemCode::TextBudgetUsed,
    ProblemCode::TextsUnavailable,
    // The code falls back to a mail on some routes.
    ProblemCode::EmailUnreachable,
    ProblemCode::TestIdentityExpired,
    ProblemCode::MessageNotSent,
];

impl From<IssueError> for Problem {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::Refused(refusal) => refusal.into(),
            IssueError::CoolingDown(refusal) => refusal.into(),
            IssueError::NotSent => ProblemCode::MessageNotSent.into(),
            IssueError::Unreachable => ProblemCode::EmailUnreachable.into(),
            IssueError::ForTests { is_phone: true } => ProblemCode::PhoneTaken.into(),
            IssueError::ForTests { is_phone: false } => ProblemCode::EmailTaken.into(),
            IssueError::TestExpired => ProblemCode::TestIdentityExpired.into(),
            IssueError::Closed => ProblemCode::CustomerTokenInvalid.into(),
            IssueError::NotJudged(problem) | IssueError::NotSolved(problem) => problem,
            IssueError::Database(error) => error.into(),
        }
    }
}
