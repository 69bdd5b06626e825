//! The SQL of a password guess: it is counted and its account is found in one round trip (`docs/performance.md`, A sign-in).

use crate::contact::Identity;
use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;
use crate::kernel::password_hashing::HashedPassword;
use crate::storefront::customers::queries::columns;
use crate::storefront::customers::{Customer, customer};
use crate::storefront::guessing::lockouts::{self, Lockout};
use crate::storefront::guessing::{Guess, Standing, standing};
use crate::storefront::passwords::{self, Counted, Refusal};

/// Whose password is guessed.
#[derive(Clone, Debug)]
pub enum PasswordOf {
    /// Whoever has this identity; if nobody has it, or it is none, wrong passwords count under the text.
    Named(Option<Identity>, String),
    /// A customer who is signed in.
    SignedIn(CustomerId),
}

/// Counts a guess as in flight, if the client may make it and the account is not locked out, and returns the account that it is compared
/// with, selected like [`find_by_identity`](crate::storefront::customers::find_by_identity). It is counted under that account, whichever of
/// its identities was typed.
///
/// The count is visible to other transactions before the guess is compared, but the commit does not wait for the disk
/// (`synchronous_commit = off`). Only a crash of PostgreSQL can lose counts: those of its last second.
pub async fn count_password_guess(
    conn: &mut Connection,
    guess: &Guess,
    subject: &PasswordOf,
) -> Result<Result<(Counted, Option<Customer>), Refusal>, sqlx::Error> {
    let (own, identity, otherwise) = match subject {
        PasswordOf::Named(identity, otherwise) => (None, identity.as_ref(), otherwise.as_str()),
        PasswordOf::SignedIn(customer) => (Some(*customer), None, ""),
    };
    let (email, phone) = identity.map_or((None, None), columns);
    let row = standing!(
        "listing as (
             select id, case when $11::text is null then phone_verified_at else email_verified_at end is not null as is_proven
             from customers where store_id = $1 and closed_at is null and (email_key = $11 or phone = $12 or id = $18)
             order by 2 desc limit 3
         ), subject as (
             select coalesce(meant.id::text, $13) as subject, meant.id as customer_id
             from (values (1)) as one left join
                  (select id from listing where is_proven or (select count(*) from listing) = 1 limit 1) as meant on true
         )",
        r#"counted as (
             insert into wrong_passwords as kept (store_id, subject, of_account, in_flight, last_at)
             select $1, subject, customer_id is not null, array[$2::timestamptz], $2 from standing where refused_until is null
             on conflict on constraint wrong_passwords_pkey do update set
                 (in_flight, refused) = (
                     select case when is_admitted then fresh || $2::timestamptz else fresh end, not is_admitted
                     from (select coalesce(array_agg(at), '{}') as fresh from unnest(kept.in_flight) as at where at > $14) as in_flight,
                          (select count(*) as wrong from unnest(kept.wrong_at) as at where at > $15) as recent,
                          lateral (
                              select (select is_favoured from standing)
                                     or coalesce(kept.locked_out_until <= $2, true) and kept.in_a_row < $16 and cardinality(fresh) + wrong < $17
                                     as is_admitted
                          ) as admission
                 ),
                 last_at = $2
             returning refused, locked_out_until, in_a_row, lockouts
         )
         select standing.subject as "subject!", is_favoured as "is_favoured!", has_failed as "has_failed!", refused_until,
                counted.refused as "refused?", counted.locked_out_until as "locked_out_until?", counted.in_a_row as "in_a_row?",
                counted.lockouts as "lockouts?", c.id as "id?", c.name as "name?", c.email,
                c.email_verified_at, c.phone, c.phone_verified_at, c.title, c.photo_url, c.meta as "meta?",
                c.password_hash as "password_hash: HashedPassword", c.created_at as "created_at?", c.updated_at as "updated_at?",
                c.banned_at,
                set_config('synchronous_commit', 'off', true) as commit_waits
         from standing left join counted on true left join customers c on c.id = standing.customer_id"#,
        guess,
        email,
        phone,
        otherwise,
        guess.now - passwords::IN_FLIGHT,
        guess.now - passwords::WINDOW,
        lockouts::WRONG_IN_A_ROW,
        i64::from(lockouts::WRONG_GUESSES),
        own.map(CustomerId::uuid)
    )
    .fetch_one(conn)
    .await?;
    let standing = Standing { is_favoured: row.is_favoured, has_failed: row.has_failed, refused_until: row.refused_until };
    if let Err(exceeded) = standing.admit(guess.now) {
        return Ok(Err(exceeded.into()));
    }
    if row.refused.unwrap_or_default() {
        let lockout = Lockout::at(guess.now, row.locked_out_until, row.in_a_row.unwrap_or_default(), row.lockouts.unwrap_or_default());
        return Ok(Err(Refusal::of(lockout, guess.now)));
    }
    let counted = Counted { subject: row.subject.clone(), has_failed: standing.has_failed };
    Ok(Ok((counted, Some(row).and_then(|row| Some(customer!(row, ?))))))
}
