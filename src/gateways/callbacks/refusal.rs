//! Callbacks that are not believed: kept in part, so many an hour, so that an operator sees them and nobody fills the disk.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::gateways::Gateways;
use crate::gateways::callbacks::{Status, queries};
use crate::gateways::driver::NotGenuine;
use crate::gateways::ledger;
use crate::kernel::ids::{CallbackId, CompanyId, GatewayId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
use crate::kernel::secrets::sha256;

/// Refused callbacks of one gateway that are kept; the others are answered and forgotten.
const KEPT: Rule = Rule { limit: 60, window: TimeDelta::hours(1) };
/// How much of each is kept, in bytes.
const BEGINNING: usize = 4096;
/// How long.
const KEPT_FOR: TimeDelta = TimeDelta::days(14);

/// Why a callback is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It says that it is for another company.
    CompanyMismatch,
    /// It names no gateway of the company's, or there is none.
    GatewayNotConfigured,
    /// Several could have sent it.
    GatewayAmbiguous,
    /// Its gateway has not signed it.
    NotGenuine(NotGenuine),
}

impl Refusal {
    fn reason(self) -> &'static str {
        match self {
            Self::CompanyMismatch | Self::GatewayNotConfigured | Self::GatewayAmbiguous => self.code().as_str(),
            Self::NotGenuine(why) => why.reason(),
        }
    }

    fn detail(self) -> String {
        match self {
            Self::CompanyMismatch | Self::GatewayNotConfigured | Self::GatewayAmbiguous => self.code().detail().to_owned(),
            Self::NotGenuine(why) => why.to_string(),
        }
    }

    fn code(self) -> ProblemCode {
        match self {
            Self::CompanyMismatch => ProblemCode::CompanyMismatch,
            Self::GatewayNotConfigured => ProblemCode::GatewayNotConfigured,
            Self::GatewayAmbiguous => ProblemCode::GatewayAmbiguous,
            Self::NotGenuine(_) => ProblemCode::CallbackNotGenuine,
        }
    }
}

/// The sender is not told what was wrong with a signature; the ledger is.
impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        refusal.code().into()
    }
}

impl Gateways {
    /// Keeps a refused callback, if there is room for it, and gives its answer.
    pub(super) async fn refuse(&self, company: CompanyId, gateway: Option<GatewayId>, refusal: Refusal, body: &[u8]) -> Problem {
        // Boxed: what the statements need would else be copied about with every callback.
        match Box::pin(self.keep_refused(company, gateway, refusal, body)).await {
            Ok(()) => refusal.into(),
            Err(error) => error.into(),
        }
    }

    async fn keep_refused(&self, company: CompanyId, gateway: Option<GatewayId>, refusal: Refusal, body: &[u8]) -> Result<(), sqlx::Error> {
        let now = self.clock.now();
        let mut conn = self.pool.acquire().await?;
        let of = gateway.map_or_else(|| company.to_string(), |gateway| gateway.to_string());
        if !rate_limit::hit(&mut conn, &format!("refused callbacks of {of}"), KEPT, now).await?.allowed {
            return Ok(());
        }
        let refused = ledger::NewCallback {
            id: CallbackId::new(now),
            at: now,
            company,
            gateway,
            key: &key_of(body),
            kind: None,
            status: Status::Refused,
            reason: Some(refusal.reason()),
            detail: Some(refusal.detail()),
            body: &body[..body.len().min(BEGINNING)],
            body_size: body.len(),
            due_at: None,
        };
        ledger::write(&mut conn, &[refused], &[], now).await
    }
}

/// What a callback without an id of its own is told apart by.
pub(super) fn key_of(body: &[u8]) -> String {
    format!("sha256:{}", hex::encode(sha256(body)))
}

/// Drops what has been kept long enough.
pub(super) async fn sweep(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    queries::forget_refused(conn, now - KEPT_FOR).await
}
