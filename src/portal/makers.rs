//! Who has made a link. It ends with them: what they may hand out is looked up whenever the link is opened or used, so that a key or an operator
//! may end in any way, by deletion, by time, or by being reduced.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::callers::{Caller, Grant, Who};
use crate::companies;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;
use crate::operators;

/// The caller who has said how long a link can be opened, as it is stored.
pub(super) struct Maker {
    /// The word for what they are. `None` for a link that is older than the column: it has nobody to end with.
    pub(super) kind: Option<String>,
    /// The API key or the operator.
    pub(super) id: Option<Uuid>,
}

impl Maker {
    /// Whether they may still hand out what the link gives. Until when it gives it does not matter, because they are asked at every use.
    pub(super) async fn still_gives(
        &self,
        conn: &mut Connection,
        company: CompanyId,
        access: Grant,
        now: DateTime<Utc>,
    ) -> Result<bool, sqlx::Error> {
        let Some(maker) = self.caller(conn, company, now).await? else { return Ok(false) };
        let access = Grant { until: maker.grant.until, ..access };
        Ok(maker.must_cover(&access, None).is_ok())
    }

    /// The maker with what they may do now; `None` if they are gone.
    async fn caller(&self, conn: &mut Connection, company: CompanyId, now: DateTime<Utc>) -> Result<Option<Caller>, sqlx::Error> {
        let Some(kind) = &self.kind else { return Ok(Some(Caller::service(company))) };
        let Some(who) = Who::read(kind, self.id) else { return Ok(None) };
        let grant = match who {
            Who::ApiKey(key) => companies::grant_of_key(conn, company, key, now).await?,
            Who::Operator(operator) => operators::grant_of(conn, company, operator).await?,
            Who::CommandLine | Who::Service => Some(Grant::everything()),
            Who::PortalLink(_) => None,
        };
        Ok(grant.map(|grant| Caller { company, grant, who, request: None }))
    }
}
