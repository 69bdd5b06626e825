//! Looking up tokens: those that are presented at the same moment share one statement, because a round trip to PostgreSQL costs several times
//! as much as another row of it (`docs/performance.md`).

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::kernel::database::{Pool, column, group_pool};
use crate::kernel::group_commit::GroupCommit;
use crate::kernel::lifecycle::Lifecycle;
use crate::storefront::tokens::queries::find_sessions;
use crate::storefront::tokens::{Session, TokenId};

/// Tokens per statement.
const MAX_GROUP: usize = 64;

/// A token that is looked up.
#[derive(Clone, Copy, Debug)]
pub struct LookUp {
    /// Its number.
    pub token: TokenId,
    /// When it is presented.
    pub at: DateTime<Utc>,
}

/// Returns the live session of a token: not revoked, not expired, of an open account that is not banned. A statement begins after the look-ups
/// that it answers, so none is answered with what was true before it.
pub type LookUps = GroupCommit<LookUp, Option<Arc<Session>>>;

/// Creates the look-ups, with a connection for each of two statements at a time.
pub fn look_ups(pool: &Pool, lifecycle: &Lifecycle) -> LookUps {
    let pool = group_pool(pool, "sessions", 2);
    let key = |asked: &LookUp| asked.token.number().cast_unsigned();
    GroupCommit::two_at_a_time(lifecycle.clone(), MAX_GROUP, key, move |asked| {
        let pool = pool.clone();
        async move {
            let found = find_sessions(&mut pool.acquire().await?, &column(&asked, |asked| asked.token.number())).await?;
            let live = |asked: &LookUp| found.get(&asked.token).filter(|session| session.expires_at > asked.at).cloned();
            Ok(column(&asked, live))
        }
    })
}
