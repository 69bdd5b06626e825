//! The SQL of a password guess: it is counted and its account is found in one round trip (`docs/performance.md`, A sign-in).

use chrono::{DateTime, Utc};

use crate::contact::Identity;
use crate::kernel::database::Connection;
use crate::kernel::ids::StoreId;
use crate::kernel::password_hashing::HashedPassword;
use crate::kernel::rate_limit::{RateLimitStatus, Rule, count_hit};
use crate::storefront::customers::queries::{columns, meant_by};
use crate::storefront::customers::{Customer, customer};

/// Counts a guess in `bucket` and returns the account that it is compared with, selected like
/// [`find_by_identity`](crate::storefront::customers::find_by_identity).
///
/// The count is visible to other transactions before the guess is compared, but the commit does not wait for the disk
/// (`synchronous_commit = off`). Only a crash of PostgreSQL can lose counts: those of its last second.
pub async fn count_password_guess(
    conn: &mut Connection,
    store: StoreId,
    (bucket, rule): (&str, Rule),
    identity: Option<&Identity>,
    now: DateTime<Utc>,
) -> Result<(RateLimitStatus, Option<Customer>), sqlx::Error> {
    let (email, phone) = identity.map_or((None, None), columns);
    let rows = count_hit!(
        r#"select counted.hits as "hits!", counted.oldest as "oldest!", counted.refused as "refused!", c.id as "id?", c.name as "name?", c.email,
                c.email_verified_at, c.phone, c.phone_verified_at, c.title, c.photo_url, c.meta as "meta?",
                c.password_hash as "password_hash: HashedPassword", c.created_at as "created_at?", c.updated_at as "updated_at?",
                c.banned_at,
                set_config('synchronous_commit', 'off', true) as commit_waits
         from counted left join customers c on c.store_id = $5 and c.closed_at is null and (c.email_key = $6 or c.phone = $7)
         order by coalesce(case when $6::text is null then c.phone_verified_at else c.email_verified_at end, 'infinity')
         limit 3"#,
        bucket,
        rule,
        now,
        store.uuid(),
        email,
        phone
    )
    .fetch_all(conn)
    .await?;
    let counted = rows.first().expect("the count returns one row");
    let status = RateLimitStatus::of(rule, counted.hits, counted.oldest, counted.refused, now);
    let listing = rows.into_iter().filter_map(|row| Some(customer!(row, ?)));
    Ok((status, identity.and_then(|identity| meant_by(identity, listing.collect()))))
}
