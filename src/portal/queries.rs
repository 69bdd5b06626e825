//! The SQL of sessions.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::callers::{AllowedNetworks, Owner};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, PortalLinkId};
use crate::portal::makers::Maker;
use crate::portal::{Accent, ColorScheme};

/// How many sessions of one link there are at most; the oldest end first.
const SESSIONS_PER_LINK: i64 = 100;

/// A session with its link.
pub(super) struct Session {
    pub(super) link: PortalLinkId,
    pub(super) company: CompanyId,
    pub(super) owner: Owner,
    pub(super) name: Option<String>,
    pub(super) accent: Option<Accent>,
    pub(super) radius: Option<i32>,
    pub(super) color_scheme: Option<ColorScheme>,
    pub(super) created_at: DateTime<Utc>,
    pub(super) last_used_at: DateTime<Utc>,
    pub(super) allowed_networks: Vec<String>,
    /// When it ends at the latest, whenever it began.
    pub(super) ends_at: Option<DateTime<Utc>>,
    pub(super) maker: Option<String>,
    pub(super) maker_id: Option<Uuid>,
}

/// A link that can be opened, if its maker still gives it.
pub(super) struct Openable {
    pub(super) company: CompanyId,
    pub(super) owner: Owner,
    pub(super) networks: AllowedNetworks,
    pub(super) maker: Maker,
}

/// The link with this digest; `None` if none with it can be opened.
pub(super) async fn find_openable(conn: &mut Connection, digest: &[u8; 32], now: DateTime<Utc>) -> Result<Option<Openable>, sqlx::Error> {
    let found = sqlx::query!(
        r#"select company_id as "company: CompanyId", owner as "owner: Owner", allowed_networks, maker, maker_id
           from portal_links where digest = $1 and deleted_at is null and expires_at > $2"#,
        digest,
        now,
    );
    let Some(found) = found.fetch_optional(conn).await? else { return Ok(None) };
    let (networks, maker) = (read_networks(found.allowed_networks)?, Maker { kind: found.maker, id: found.maker_id });
    Ok(Some(Openable { company: found.company, owner: found.owner, networks, maker }))
}

/// Nobody is let in by networks that cannot be read.
pub(super) fn read_networks(stored: Vec<String>) -> Result<AllowedNetworks, sqlx::Error> {
    AllowedNetworks::try_from(stored).map_err(|error| sqlx::Error::Decode(error.into()))
}

/// Begins a session with the link that has this digest, if it can be opened. That it was opened does not count as a change of the link.
pub(super) async fn open(
    conn: &mut Connection,
    digest: &[u8; 32],
    token_digest: &[u8; 32],
    now: DateTime<Utc>,
) -> Result<Option<PortalLinkId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"with opened as (
             update portal_links set last_opened_at = $3 where digest = $1 and deleted_at is null and expires_at > $3 returning id
         ), older as (
             delete from portal_sessions where token_digest in (
                 select token_digest from portal_sessions where link_id = (select id from opened)
                 order by created_at desc offset $4
             )
         )
         insert into portal_sessions (token_digest, link_id, created_at, last_used_at) select $2, id, $3, $3 from opened
         returning link_id as "link_id: PortalLinkId""#,
        digest,
        token_digest,
        now,
        SESSIONS_PER_LINK - 1,
    )
    .fetch_optional(conn)
    .await
}

/// Whether a link has this digest.
pub(super) async fn has_link(conn: &mut Connection, digest: &[u8; 32]) -> Result<bool, sqlx::Error> {
    let found = sqlx::query_scalar!(r#"select true as "found!" from portal_links where digest = $1 and deleted_at is null"#, digest);
    Ok(found.fetch_optional(conn).await?.is_some())
}

/// The session, unless its link was revoked.
pub(super) async fn find_session(conn: &mut Connection, token_digest: &[u8; 32]) -> Result<Option<Session>, sqlx::Error> {
    sqlx::query_as!(
        Session,
        r#"select link.id as "link: PortalLinkId", link.company_id as "company: CompanyId", link.owner as "owner: Owner", link.name,
                  link.accent as "accent: Accent", link.radius, link.color_scheme as "color_scheme: ColorScheme",
                  session.created_at, session.last_used_at, link.allowed_networks, link.sessions_end_at as ends_at,
                  link.maker, link.maker_id
           from portal_sessions as session join portal_links as link on link.id = session.link_id
           where session.token_digest = $1 and link.deleted_at is null"#,
        token_digest,
    )
    .fetch_optional(conn)
    .await
}

/// Whether the session, unless it was idle since `idle_since` or began before `began`, is of another owner than that of the link with this digest.
pub(super) async fn is_of_another_owner(
    conn: &mut Connection,
    token_digest: &[u8; 32],
    link_digest: &[u8; 32],
    (idle_since, began): (DateTime<Utc>, DateTime<Utc>),
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
             select from portal_sessions as session
             join portal_links as open on open.id = session.link_id and open.deleted_at is null
             join portal_links as asked on asked.digest = $2 and asked.deleted_at is null
             where session.token_digest = $1 and session.last_used_at > $3 and session.created_at > $4
               and (asked.company_id <> open.company_id or asked.owner <> open.owner)
           ) as "is_another!""#,
        token_digest,
        link_digest,
        idle_since,
        began,
    )
    .fetch_one(conn)
    .await
}

pub(super) async fn touch_session(conn: &mut Connection, token_digest: &[u8; 32], now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("update portal_sessions set last_used_at = $2 where token_digest = $1 and last_used_at < $2", token_digest, now)
        .execute(conn)
        .await?;
    Ok(())
}

pub(super) async fn delete_session(conn: &mut Connection, token_digest: &[u8; 32]) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from portal_sessions where token_digest = $1", token_digest).execute(conn).await?;
    Ok(())
}

/// Deletes the sessions that were not used since `idle_since` or began before `began`.
pub(super) async fn delete_ended_sessions(
    conn: &mut Connection,
    idle_since: DateTime<Utc>,
    began: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from portal_sessions where last_used_at <= $1 or created_at <= $2", idle_since, began).execute(conn).await?;
    Ok(())
}

/// Deletes the links that could be opened until `until` at most.
pub(super) async fn delete_ended_links(conn: &mut Connection, until: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from portal_links where expires_at <= $1", until).execute(conn).await?;
    Ok(())
}
