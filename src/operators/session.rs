//! A session: a browser in which an operator is signed in.

use chrono::{DateTime, Utc};

use crate::callers::{Caller, Grant, Who};
use crate::kernel::crypto::secret_token;
use crate::kernel::ids::{OperatorId, OperatorSessionId};
use crate::kernel::problem::Problem;
use crate::kernel::request_id::RequestId;
use crate::operators::operator::Operator;

secret_token! {
    /// The token of a session in plain text, as the cookie contains it.
    SessionToken, 43
}

/// The proof by which a session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Method {
    /// A password.
    Password,
    /// A link that signs in once.
    Link,
    /// The company's identity provider.
    Oidc,
}

impl Method {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Link => "link",
            Self::Oidc => "oidc",
        }
    }
}

/// A session that begins.
pub(super) struct NewSession {
    pub(super) id: OperatorSessionId,
    pub(super) operator: OperatorId,
    pub(super) address: String,
    pub(super) user_agent: String,
    pub(super) method: Method,
}

/// A session, as lists show it.
#[derive(Clone, Debug)]
pub struct OperatorSession {
    /// The id.
    pub id: OperatorSessionId,
    /// The client's address at the sign-in.
    pub address: String,
    /// What the browser said it is.
    pub user_agent: String,
    /// The proof by which it began.
    pub method: Method,
    /// When the operator signed in.
    pub created_at: DateTime<Utc>,
    /// When it was last used, accurate to a minute.
    pub last_used_at: DateTime<Utc>,
}

/// A session that is in use, and its operator.
#[derive(Clone, Debug)]
pub struct LiveSession {
    /// The id of the session.
    pub id: OperatorSessionId,
    /// Who is signed in.
    pub operator: Operator,
    pub(super) method: Method,
    pub(super) created_at: DateTime<Utc>,
    pub(super) last_used_at: DateTime<Utc>,
    /// Whether the operator proved who they are longer ago than `operators.fresh_for`.
    pub(super) needs_proof: bool,
}

impl LiveSession {
    /// The operator as the caller of use cases.
    pub fn caller(&self, request: Option<RequestId>) -> Caller {
        let Operator { id, company, role, .. } = self.operator;
        let grant = Grant { needs_proof: self.needs_proof, ..role.grant() };
        Caller { company, grant, who: Who::Operator(id), request }
    }

    /// Whether the operator has to prove again who they are before they administer anything.
    pub fn needs_proof(&self) -> bool {
        self.needs_proof
    }

    /// Returns the error `fresh_sign_in_required` if so.
    pub(super) fn require_proof(&self) -> Result<(), Problem> {
        self.caller(None).require_proof()
    }
}
