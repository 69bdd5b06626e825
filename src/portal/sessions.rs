//! Sessions: browsers in which a link is open.

use chrono::{DateTime, TimeDelta, Utc};

use crate::callers::{AllowedNetworks, Caller, Owner, Who};
use crate::companies::must_be_open;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::ids::{CompanyId, PortalLinkId};
use crate::kernel::problem::Problem;
use crate::kernel::rate_limit::RateLimitStatus;
use crate::kernel::request_id::RequestId;
use crate::kernel::steps::{Steps, Unfinished};
use crate::portal::makers::Maker;
use crate::portal::secrets::{LinkKey, SessionToken};
use crate::portal::{Portal, Theme, access, queries};

/// How often the last use of a session is recorded.
const LAST_USED_INTERVAL: TimeDelta = TimeDelta::minutes(1);
/// How long a link is listed after it has ended.
const KEPT: TimeDelta = TimeDelta::days(30);

/// A session that is in use.
#[derive(Clone, Debug)]
pub struct LiveSession {
    /// The link that has begun it.
    pub link: PortalLinkId,
    /// The company of the link.
    pub company: CompanyId,
    /// Whose webhooks are shown.
    pub owner: Owner,
    /// What the portal looks like.
    pub theme: Theme,
    /// The networks that the link can be used from.
    pub networks: AllowedNetworks,
    /// When it ends at the latest.
    pub ends_at: DateTime<Utc>,
}

/// The reason why a link is not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenRefusal {
    /// No link has this key, it was revoked or has expired, or its maker gives it no longer.
    #[error("the link has ended")]
    Ended,
    /// The link cannot be opened from this address.
    #[error("the link is for other networks")]
    Elsewhere,
    /// The client has tried too many keys of no link.
    #[error("too many keys were tried")]
    TooMany(RateLimitStatus),
    /// A database error.
    #[error("the link could not be looked up")]
    Database(#[from] sqlx::Error),
}

impl Portal {
    /// Whether this is the digest of the key of a link.
    pub async fn knows_link(&self, digest: &[u8; 32]) -> Result<bool, sqlx::Error> {
        queries::has_link(&mut self.pool.acquire().await?, digest).await
    }

    /// Begins a session with the key of a link. A link can be opened again until it expires: a page that is reloaded opens its frame anew.
    pub async fn open(&self, key: &LinkKey, client: ClientAddress) -> Result<SessionToken, OpenRefusal> {
        let (now, token) = (self.clock.now(), SessionToken::generate());
        let finding = async { queries::find_openable(&mut self.pool.acquire().await?, &key.digest(), now).await };
        let (found, _) = self.unknown_keys.look_up(client.network(), &key.digest(), finding).await.map_err(OpenRefusal::TooMany)?;
        let queries::Openable { company, owner, networks, maker } = found?.ok_or(OpenRefusal::Ended)?;
        if !networks.admit(client.ip()) {
            return Err(OpenRefusal::Elsewhere);
        }
        let mut conn = self.pool.acquire().await?;
        if !maker.still_gives(&mut conn, company, access::grant(owner, networks, now), now).await? {
            return Err(OpenRefusal::Ended);
        }
        let opened = queries::open(&mut conn, &key.digest(), &token.digest(), now).await?;
        let _: PortalLinkId = opened.ok_or(OpenRefusal::Ended)?;
        self.unknown_sessions.remember(&token.digest());
        Ok(token)
    }

    /// Whether this browser has an open session of another owner than that of the link. A visitor who is led to a link of somebody
    /// else would otherwise go on working there without knowing it.
    pub async fn would_replace(&self, before: &SessionToken, key: &LinkKey) -> Result<bool, sqlx::Error> {
        let now = self.clock.now();
        let (idle_since, began) = (now - self.settings.idle_timeout, now - self.settings.session_lifetime);
        queries::is_of_another_owner(&mut self.pool.acquire().await?, &before.digest(), &key.digest(), (idle_since, began)).await
    }

    /// The session of this token, unless it has ended, its link was revoked, its maker gives the link no longer, or the link is for other networks
    /// than the client's. Nobody works for a company that is not served. A client that sends too many tokens of no live session is refused before
    /// they are looked up.
    pub async fn find_session(&self, token: &SessionToken, client: ClientAddress) -> Result<Option<LiveSession>, Problem> {
        let limited = self.unknown_sessions.look_up(client.network(), &token.digest(), Box::pin(self.find_live(token, client))).await;
        let (found, _) = limited.map_err(|status| status.problem())?;
        found
    }

    async fn find_live(&self, token: &SessionToken, client: ClientAddress) -> Result<Option<LiveSession>, Problem> {
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let Some(found) = queries::find_session(&mut conn, &token.digest()).await? else { return Ok(None) };
        let old_at = found.created_at + self.settings.session_lifetime;
        let ends_at = found.ends_at.map_or(old_at, |end| end.min(old_at));
        if found.last_used_at + self.settings.idle_timeout <= now || ends_at <= now {
            return Ok(None);
        }
        let networks = queries::read_networks(found.allowed_networks)?;
        if !networks.admit(client.ip()) {
            return Ok(None);
        }
        let maker = Maker { kind: found.maker, id: found.maker_id };
        let given = access::grant(found.owner.clone(), networks.clone(), ends_at);
        if !maker.still_gives(&mut conn, found.company, given, now).await? {
            return Ok(None);
        }
        must_be_open(&mut conn, found.company).await?;
        if found.last_used_at + LAST_USED_INTERVAL <= now {
            queries::touch_session(&mut conn, &token.digest(), now).await?;
        }
        let queries::Session { link, company, owner, name, accent, radius, color_scheme, .. } = found;
        let of_all = self.theme();
        let theme = Theme {
            name: name.and_then(|name| name.try_into().ok()).unwrap_or_else(|| of_all.name.clone()),
            accent: accent.unwrap_or_else(|| of_all.accent.clone()),
            radius: radius.and_then(|radius| i64::from(radius).try_into().ok()).unwrap_or(of_all.radius),
            color_scheme: color_scheme.unwrap_or(of_all.color_scheme),
        };
        Ok(Some(LiveSession { link, company, owner, theme, networks, ends_at }))
    }

    /// Ends the session of this token, if there is one.
    pub async fn end_session(&self, token: &SessionToken) -> Result<(), sqlx::Error> {
        queries::delete_session(&mut self.pool.acquire().await?, &token.digest()).await
    }

    /// Removes expired counters from the memory of this instance. Called about once a minute.
    pub fn sweep_memory(&self) {
        self.unknown_keys.sweep();
        self.unknown_sessions.sweep();
    }

    /// Deletes sessions that have ended, and links that ended long ago. A periodic task calls it about once a minute.
    pub async fn sweep(&self) -> Result<(), Unfinished> {
        let (now, mut steps) = (self.clock.now(), Steps::on(&self.pool));
        let (idle_since, began) = (now - self.settings.idle_timeout, now - self.settings.session_lifetime);
        let long_ago = (now - KEPT).min(began);
        steps.run("portal_sessions", async |conn| queries::delete_ended_sessions(conn, idle_since, began).await).await;
        steps.run("portal_links", async |conn| queries::delete_ended_links(conn, long_ago).await).await;
        steps.finish()
    }
}

impl LiveSession {
    /// The visitor as the caller of use cases.
    pub fn caller(&self, request: Option<RequestId>) -> Caller {
        let grant = access::grant(self.owner.clone(), self.networks.clone(), self.ends_at);
        Caller { company: self.company, grant, who: Who::PortalLink(self.link), request }
    }
}
