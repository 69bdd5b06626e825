//! Refused callbacks: kept in part and rate limited, so operators can see them but they cannot fill the disk.

use chrono::{DateTime, TimeDelta, Utc};

use crate::gateways::drivers::SignatureError;
use crate::gateways::genuine::key_of;
use crate::gateways::ledger::{self, Status};
use crate::gateways::state::{Gateways, KEPT_REFUSALS};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CallbackId, CompanyId, GatewayId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit;

/// The length of the beginning of a refused body that is kept, in bytes.
pub const MAX_KEPT_BODY_LEN: usize = 4096;
const REFUSAL_RETENTION: TimeDelta = TimeDelta::days(14);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackRefusal {
    /// The callback names another company.
    CompanyMismatch,
    /// The callback names none of the company's gateways, or the company has none.
    GatewayNotConfigured,
    /// Several gateways match the callback.
    GatewayAmbiguous,
    /// The callback is not signed by its gateway.
    NotGenuine(SignatureError),
}

impl CallbackRefusal {
    /// Those of callbacks whose gateway is not known.
    pub(super) const UNRESOLVED: [Self; 3] = [Self::CompanyMismatch, Self::GatewayNotConfigured, Self::GatewayAmbiguous];

    pub(super) fn reason(self) -> &'static str {
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

/// The response does not say what is wrong with a signature; the ledger does.
impl From<CallbackRefusal> for Problem {
    fn from(refusal: CallbackRefusal) -> Self {
        refusal.code().into()
    }
}

impl Gateways {
    /// Records a refused callback, if the rate limit allows it, and returns the response. A gateway comes with the name of its driver.
    pub(super) async fn refuse(
        &self,
        company: CompanyId,
        gateway: Option<(GatewayId, &'static str)>,
        refusal: CallbackRefusal,
        body: &[u8],
    ) -> Problem {
        self.metrics.count(gateway.map(|(_, driver)| driver), refusal.reason());
        let gateway = gateway.map(|(id, _)| id);
        // Boxed: otherwise the state of the statements would be copied with the future of every callback.
        match Box::pin(self.keep_refused(company, gateway, refusal, body)).await {
            Ok(()) => refusal.into(),
            Err(error) => error.into(),
        }
    }

    async fn keep_refused(
        &self,
        company: CompanyId,
        gateway: Option<GatewayId>,
        refusal: CallbackRefusal,
        body: &[u8],
    ) -> Result<(), sqlx::Error> {
        let now = self.clock.now();
        if !self.kept_refusals.hit(gateway.map_or_else(|| company.uuid(), |gateway| gateway.uuid()), now) {
            return Ok(());
        }
        let mut conn = self.pool.acquire().await?;
        let of = gateway.map_or_else(|| company.to_string(), |gateway| gateway.to_string());
        if !rate_limit::hit(&mut conn, &format!("refused callbacks of {of}"), KEPT_REFUSALS, now).await?.allowed {
            return Ok(());
        }
        let refused = ledger::NewCallback {
            id: CallbackId::new(now),
            at: now,
            company,
            gateway,
            key: &key_of(body),
            variant: "",
            kind: None,
            status: Status::Refused,
            reason: Some(refusal.reason()),
            detail: Some(refusal.detail()),
            body: &body[..body.len().min(MAX_KEPT_BODY_LEN)],
            body_size: body.len(),
            due_at: None,
        };
        ledger::write(&mut conn, &[refused], &[], now).await
    }
}

/// Deletes refused callbacks that have been kept long enough.
pub async fn sweep(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    ledger::forget_refused(conn, now - REFUSAL_RETENTION).await
}
