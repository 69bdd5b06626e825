//! Looking up tokens: at once while there is a connection that nobody uses. Those that find all in use share statements, because a round trip to
//! PostgreSQL costs several times as much as another row of it (`docs/performance.md`).

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::kernel::database::{Connection, Pool, column, group_pool};
use crate::kernel::group_commit::GroupCommit;
use crate::kernel::group_metrics::GroupMetrics;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::Problem;
use crate::storefront::tokens::queries::find_sessions;
use crate::storefront::tokens::{Session, TokenId};

/// Statements at the same time.
const AT_ONCE: u32 = 4;
/// Tokens per statement.
const MAX_GROUP: usize = 64;

/// Looks up the sessions of tokens. A statement begins after the look-ups that it answers, so none is answered with what was true before it.
#[derive(Clone, Debug)]
pub struct LookUps {
    pool: Pool,
    lifecycle: Lifecycle,
    /// For those that find no connection.
    shared: GroupCommit<LookUp, Option<Arc<Session>>>,
}

/// A token that is looked up.
#[derive(Clone, Copy, Debug)]
struct LookUp {
    token: TokenId,
    /// When it is presented.
    at: DateTime<Utc>,
}

impl LookUps {
    /// With connections of their own.
    pub fn new(pool: &Pool, lifecycle: &Lifecycle) -> Self {
        let pool = group_pool(pool, "sessions", AT_ONCE);
        let (own, key) = (pool.clone(), |asked: &LookUp| asked.token.number().cast_unsigned());
        let shared = GroupCommit::two_at_a_time(lifecycle.clone(), MAX_GROUP, key, move |asked: Vec<LookUp>| {
            let pool = own.clone();
            async move { find_live(&mut pool.acquire().await?, &asked).await }
        });
        Self { pool, lifecycle: lifecycle.clone(), shared }
    }

    /// Returns the live session of a token that is presented at this instant: not revoked, not expired, of an open account that is not banned.
    pub async fn find(&self, token: TokenId, at: DateTime<Utc>) -> Result<Option<Arc<Session>>, Problem> {
        let asked = LookUp { token, at };
        match self.pool.acquire_free().await? {
            // To its end, whoever still waits for it: a connection whose statement is given up is lost.
            Some(mut conn) => Ok(self.lifecycle.finish(async move { find_live(&mut conn, &[asked]).await }).await?.pop().flatten()),
            None => self.shared.write(asked, size_of::<LookUp>()).await,
        }
    }

    /// What is measured of the queue of those that share a statement.
    pub fn group_metrics(&self) -> &GroupMetrics {
        self.shared.metrics()
    }
}

/// The live session of each.
async fn find_live(conn: &mut Connection, asked: &[LookUp]) -> Result<Vec<Option<Arc<Session>>>, sqlx::Error> {
    let found = find_sessions(conn, &column(asked, |asked| asked.token.number())).await?;
    Ok(column(asked, |asked| found.get(&asked.token).filter(|session| session.expires_at > asked.at).cloned()))
}
