//! The statement that counts a guess at a code.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::crypto::SecretDigest;
use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;
use crate::storefront::codes::{Target, rules};
use crate::storefront::guessing::lockouts::{self, Lockout};
use crate::storefront::guessing::{Exceeded, Guess, Standing, standing};
use crate::storefront::purpose::Purpose;

/// The state after a guess was counted.
pub(in crate::storefront::codes) struct CountedGuess {
    /// The identity that the code was requested for.
    pub(in crate::storefront::codes) identity: String,
    /// What wrong codes are counted under: the account that has proven the identity, or else the identity.
    pub(in crate::storefront::codes) subject: String,
    pub(in crate::storefront::codes) wrong: i32,
    pub(in crate::storefront::codes) lockout: Option<Lockout>,
    /// The lock-out that begins with this guess if it is wrong.
    pub(in crate::storefront::codes) begins: Option<Lockout>,
    /// Whether a lock-out does not refuse the client.
    pub(in crate::storefront::codes) is_favoured: bool,
    /// Whether the client has guessed wrong before, in a way that a right code takes back.
    pub(in crate::storefront::codes) has_failed: bool,
    pub(in crate::storefront::codes) code: Option<CountedCode>,
}

/// The code that the guess was counted on.
pub(in crate::storefront::codes) struct CountedCode {
    pub(in crate::storefront::codes) id: Uuid,
    pub(in crate::storefront::codes) sent_to: String,
    pub(in crate::storefront::codes) digest: SecretDigest,
    pub(in crate::storefront::codes) guesses: i32,
    pub(in crate::storefront::codes) expires_at: DateTime<Utc>,
    pub(in crate::storefront::codes) is_used: bool,
    pub(in crate::storefront::codes) customer: Option<CustomerId>,
    /// Whether a right guess proves the identity: the code was sent to the identity itself, or the account had already proven the
    /// phone number.
    pub(in crate::storefront::codes) proves_identity: bool,
    /// The client that asked for it. `None` if a version before asked for it.
    pub(in crate::storefront::codes) asked_by: Option<SecretDigest>,
}

/// Counts a guess at the latest code of the target, if the client may make it: on the code, and on the subject as a wrong one. The
/// caller commits before it tells the verdict to anybody, so that the count stays, whatever happens to the request.
pub(in crate::storefront::codes) async fn count_guess(
    conn: &mut Connection,
    guess: &Guess,
    purpose: Purpose,
    target: Target,
) -> Result<Result<CountedGuess, Exceeded>, sqlx::Error> {
    let (identities, requested_by) = match target {
        Target::Identities(identities) => (identities, None),
        Target::RequestedBy(customer) => (vec![customer.uuid().to_string()], Some(customer)),
    };
    // `tally` reads `guessed`, so the row of the code is always locked before the row of the subject, here and where a code is
    // consumed. Different orders could deadlock.
    let row = standing!(
        "latest as (
             select id, identity from (
                 -- each by its own index: a store has as many codes as it sent within a day
                 select id, identity, issued_at from verification_codes
                 where $13::uuid is null and store_id = $1 and purpose = $11 and requested_by is null and identity = any($12)
                 union all
                 select id, identity, issued_at from verification_codes
                 where $13::uuid is null and store_id = $1 and purpose = $11 and requested_by is null and sent_to = any($12)
                 union all
                 select id, identity, issued_at from verification_codes where store_id = $1 and purpose = $11 and requested_by = $13 and not superseded
             ) as candidates
             order by issued_at desc limit 1
         ), named as (
             select coalesce((select identity from latest), ($12::text[])[1]) as identity
         ), subject as (
             select coalesce(owner.id::text, named.identity) as subject, owner.id as customer_id
             from named left join customer_identities as owner
                  on owner.store_id = $1 and owner.closed_at is null
                     and (owner.email_key = named.identity and owner.email_verified_at is not null
                          or owner.phone = named.identity and owner.phone_verified_at is not null
                          or owner.id = $13 and named.identity = $13::text)
         )",
        r#"guessed as (
             update verification_codes set guesses = guesses + 1
             where id = (select id from latest) and (select refused_until is null from standing)
             returning id, identity, sent_to, digest, guesses, expires_at, used_at is not null as is_used, customer_id, asked_by,
                       sent_to = identity or exists (
                           select from customer_identities as account
                           where account.id = customer_id and account.phone = identity and account.phone_verified_at is not null
                       ) as proves_identity
         ), tally as (
             insert into wrong_codes as kept (store_id, identity, of_account, wrong, in_a_row, last_wrong_at)
             select $1, subject, customer_id is not null, 1, 1, $2 from standing
             where refused_until is null and (select count(*) from guessed) >= 0
             on conflict on constraint wrong_codes_pkey do update set
                 (wrong, in_a_row, lockouts, locked_out_until) = (
                     select case when starts_over then 1 else kept.wrong + 1 end, kept.in_a_row + case when is_locked then 0 else 1 end,
                            kept.lockouts + case when is_tenth then 1 else 0 end,
                            case when is_locked then kept.locked_out_until
                                 when is_tenth then ($16::timestamptz[])[least(kept.lockouts + 1, cardinality($16::timestamptz[]))] end
                     from (select coalesce(kept.locked_out_until > $2, false) as is_locked,
                                  coalesce(kept.locked_out_until <= $2, kept.last_wrong_at <= $14) as starts_over) as now_of_it,
                          lateral (select not is_locked and not starts_over and kept.wrong + 1 >= $15 as is_tenth) as tenth
                 ),
                 last_wrong_at = $2
             returning wrong, locked_out_until, in_a_row, lockouts
         )
         select standing.subject as "subject!", named.identity as "identity!", is_favoured as "is_favoured!",
                exists (
                    select from unnest($17::text[]) as prefix join rate_limits
                    on bucket = prefix || encode(sha256(convert_to(standing.subject, 'UTF8')), 'hex')
                ) as "has_failed!",
                refused_until, tally.wrong as "wrong?", tally.locked_out_until as "locked_out_until?", tally.in_a_row as "in_a_row?",
                tally.lockouts as "lockouts?",
                guessed.id as "id?", guessed.sent_to as "sent_to?", guessed.digest as "digest?", guessed.guesses as "guesses?", guessed.expires_at as "expires_at?",
                guessed.is_used as "is_used?", guessed.customer_id as "customer_id?", guessed.proves_identity as "proves_identity?", guessed.asked_by as "asked_by?"
         from standing cross join named left join tally on true left join guessed on true"#,
        guess,
        purpose.as_str(),
        &identities,
        requested_by.map(CustomerId::uuid),
        guess.now - rules::LOCKOUT_RESET_AFTER,
        lockouts::WRONG_GUESSES,
        &lockouts::ends(guess.now),
        &guess.taken_back_prefixes()
    )
    .fetch_one(conn)
    .await?;
    let standing = Standing { is_favoured: row.is_favoured, has_failed: row.has_failed, refused_until: row.refused_until };
    if let Err(exceeded) = standing.admit(guess.now) {
        return Ok(Err(exceeded));
    }
    let code = match (row.id, row.sent_to, row.digest.map(SecretDigest::from), row.guesses, row.expires_at, row.is_used) {
        (Some(id), Some(sent_to), Some(digest), Some(guesses), Some(expires_at), Some(is_used)) => {
            let (proves_identity, asked_by) = (row.proves_identity.unwrap_or_default(), row.asked_by.map(Into::into));
            let customer = row.customer_id.map(Into::into);
            Some(CountedCode { id, sent_to, digest, guesses, expires_at, is_used, customer, proves_identity, asked_by })
        }
        _ => None,
    };
    let (wrong, in_a_row, step) = (row.wrong.unwrap_or_default(), row.in_a_row.unwrap_or_default(), row.lockouts.unwrap_or_default());
    // Guesses during a lock-out are counted beyond the tenth, and are not in the row.
    // Those after the hundredth in a row begin none, because that one does not end by itself.
    let is_tenth = wrong == lockouts::WRONG_GUESSES && in_a_row <= lockouts::WRONG_IN_A_ROW;
    let begins = is_tenth || wrong < lockouts::WRONG_GUESSES && in_a_row == lockouts::WRONG_IN_A_ROW;
    Ok(Ok(CountedGuess {
        identity: row.identity,
        subject: row.subject,
        wrong,
        // Without this one, which is counted already.
        lockout: Lockout::at(guess.now, row.locked_out_until, in_a_row - 1, step),
        begins: Lockout::at(guess.now, row.locked_out_until, in_a_row, step).filter(|_| begins),
        is_favoured: standing.is_favoured,
        has_failed: standing.has_failed,
        code,
    }))
}
