//! The exit codes: what a script learns from a command without reading its words.

use std::error::Error;
use std::fmt;
use std::iter::successors;
use std::process::ExitCode;

use reqwest::StatusCode;
use serde_json::Value;

use crate::app::SetupError;
use crate::bootstrap::BootstrapError;
use crate::kernel::database::is_unavailable;
use crate::kernel::problem::Problem;
use crate::operators::CreateOperatorError;
use crate::serve::ServeError;

/// The codes, as `--help` and the manual show them; docs/commands.md says the same.
pub(super) const CODES: &str = "\
Exit codes:
  0  done
  1  failed
  2  the command line or a setting was not understood
  3  there is no such record
  4  refused: the key may not do it, or the values are not accepted
  5  unavailable: no service, no database, or too many requests; try again later";

/// How a command ended. What clap does not understand ends with [`Exit::Usage`] too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Refused = 4,
    Unavailable = 5,
}

/// There is no such record.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotFound(pub(super) String);

/// A value is not accepted.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotAccepted(String);

impl NotAccepted {
    /// For what a parser says of the value.
    pub(super) fn of(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A running service did not do what it was asked to.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The status of the answer.
    pub(super) status: StatusCode,
    /// The problem document; null if the answer is none.
    pub(super) problem: Value,
}

/// The sentence and the code, then what is wrong with each field, then what the log of the service knows the request by.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |member: &str| self.problem[member].as_str();
        match (told("detail"), told("code")) {
            (Some(detail), Some(code)) => write!(f, "{detail} ({code})")?,
            _ => write!(f, "the service responded with {}", self.status)?,
        }
        for (field, messages) in self.problem["fields"].as_object().into_iter().flatten() {
            let messages: Vec<_> = messages.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            write!(f, "\n  {field}: {}", messages.join(" "))?;
        }
        match told("request_id") {
            Some(id) => write!(f, "\n  request {id}"),
            None => Ok(()),
        }
    }
}

impl Error for Refusal {}

impl Exit {
    /// What the first cause tells of which the kind is known.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Self {
        successors(Some(error), |error| (*error).source()).find_map(Self::told_by).unwrap_or(Self::Failed)
    }

    fn told_by(error: &(dyn Error + 'static)) -> Option<Self> {
        if error.is::<NotFound>() || matches!(error.downcast_ref(), Some(CreateOperatorError::CompanyUnknown(_))) {
            Some(Self::NotFound)
        } else if error.is::<NotAccepted>() || matches!(error.downcast_ref(), Some(CreateOperatorError::EmailTaken)) {
            Some(Self::Refused)
        } else if error.is::<::config::ConfigError>() || is_of_settings(error) {
            Some(Self::Usage)
        } else if error.is::<reqwest::Error>() || error.downcast_ref().is_some_and(is_unavailable) {
            Some(Self::Unavailable)
        } else if let Some(problem) = error.downcast_ref::<Problem>() {
            Some(Self::of_status(problem.code().status()))
        } else {
            error.downcast_ref::<Refusal>().map(|refusal| Self::of_status(refusal.status))
        }
    }

    fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Self::Unavailable,
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => Self::Unavailable,
            status if status.is_client_error() => Self::Refused,
            _ => Self::Failed,
        }
    }
}

/// Whether a setting is at fault that is not looked at before it is used. Files of declared extensions are no settings.
fn is_of_settings(error: &(dyn Error + 'static)) -> bool {
    let is_of_setup = |error: &SetupError| !matches!(error, SetupError::Declared(_) | SetupError::DeclaredName(_));
    match error.downcast_ref::<ServeError>() {
        // Both are transparent: they are followed by the causes of what they contain.
        Some(ServeError::Bootstrap(error)) => is_of_bootstrap(error),
        Some(ServeError::Setup(error)) => is_of_setup(error),
        Some(ServeError::NotLoopback(_)) => true,
        _ => {
            error.downcast_ref::<BootstrapError>().is_some_and(is_of_bootstrap)
                || error.downcast_ref::<SetupError>().is_some_and(is_of_setup)
        }
    }
}

fn is_of_bootstrap(error: &BootstrapError) -> bool {
    match error {
        BootstrapError::NoDatabase | BootstrapError::FurtherUrlAlone(_) | BootstrapError::NoApplicationKey => true,
        BootstrapError::UnknownCell(_) | BootstrapError::WhichCell(_) => true,
        BootstrapError::InvalidApplicationKey(_) | BootstrapError::InvalidPreviousKey => true,
        BootstrapError::PrivatePostgres(_) | BootstrapError::Workspace(_) | BootstrapError::NotMigrated(_) => false,
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::problem::ProblemCode;
    use crate::kernel::traces;

    #[test]
    fn the_code_follows_from_the_cause() {
        let of = |problem: ProblemCode| Exit::of(&Problem::new(problem));
        assert_eq!(of(ProblemCode::RecordNotFound), Exit::NotFound);
        assert_eq!([of(ProblemCode::ScopeMissing), of(ProblemCode::BodyInvalid)], [Exit::Refused; 2]);
        assert_eq!([of(ProblemCode::RateLimited), of(ProblemCode::DatabaseUnavailable)], [Exit::Unavailable; 2]);
        assert_eq!(of(ProblemCode::Internal), Exit::Failed);
        assert_eq!(Exit::of(&sqlx::Error::PoolTimedOut), Exit::Unavailable);
        assert_eq!(Exit::of(&sqlx::Error::RowNotFound), Exit::Failed);
        assert_eq!(Exit::of(&NotFound("there is no store".to_owned())), Exit::NotFound);
        assert_eq!(Exit::of(&NotAccepted::of("an operator's password must have 12 to 256 characters")), Exit::Refused);
        assert_eq!(Exit::of(&CreateOperatorError::EmailTaken), Exit::Refused);
        assert_eq!(Exit::of(&::config::ConfigError::Message("unknown key".to_owned())), Exit::Usage);
    }

    #[test]
    fn a_setting_that_is_found_wrong_when_it_is_used_has_the_code_of_settings() {
        let traces = || SetupError::Traces(traces::SettingsError::Scheme);
        assert_eq!([Exit::of(&traces()), Exit::of(&ServeError::Setup(traces()))], [Exit::Usage; 2]);
        let key = || BootstrapError::InvalidPreviousKey;
        assert_eq!([Exit::of(&key()), Exit::of(&ServeError::Bootstrap(key()))], [Exit::Usage; 2]);
    }

    #[test]
    fn every_code_is_told() {
        for exit in [Exit::Failed, Exit::Usage, Exit::NotFound, Exit::Refused, Exit::Unavailable] {
            assert!(CODES.contains(&format!("\n  {}  ", exit as u8)), "{exit:?}");
        }
    }
}
