//! The statement that counts a guess at a code of an authenticator app.

use chrono::TimeDelta;

use crate::kernel::clock::seconds_until;
use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::guessing::lockouts::{self, Lockout};
use crate::storefront::guessing::{Exceeded, Guess, Standing, standing};

/// The tally of wrong codes starts over if there was none for this time.
const STARTS_OVER_AFTER: TimeDelta = TimeDelta::hours(1);

/// Why a code is not compared.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub enum GuessRefusal {
    /// The client has guessed wrong too often.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    /// There were too many wrong ones.
    #[error("the second factor is locked out")]
    LockedOut {
        /// Seconds until another one is compared.
        seconds: u64,
    },
}

impl GuessRefusal {
    /// Every word of [`Self::as_str`].
    pub const WORDS: [&str; 2] = ["exceeded", "locked_out"];

    /// The word for it in the metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Exceeded(_) => "exceeded",
            Self::LockedOut { .. } => "locked_out",
        }
    }
}

impl From<GuessRefusal> for Problem {
    fn from(refusal: GuessRefusal) -> Self {
        match refusal {
            GuessRefusal::Exceeded(exceeded) => exceeded.into(),
            GuessRefusal::LockedOut { seconds } => Self::new(ProblemCode::IdentityLockedOut).retry_after(seconds),
        }
    }
}

/// A guess that is counted as a wrong one, and what it is compared with.
#[derive(Debug)]
pub struct Counted {
    pub sealed_secret: Vec<u8>,
    /// The step of the code that was accepted last. No code of it, or of an earlier one, is right.
    pub last_step: i64,
    /// The lock-out that begins with the guess, unless it is right.
    pub begins: Option<Lockout>,
}

/// Counts a guess as a wrong one, if the client may make it and the customer is not locked out; `None` if the customer has no second factor. The
/// tenth wrong one locks out, each time for longer. A right one clears the count ([`use_step`](crate::storefront::second_factors::use_step)).
///
/// The statement must run outside of a transaction, so that it commits on its own: parallel guesses cannot get past the limit.
pub async fn count_guess(
    conn: &mut Connection,
    guess: &Guess,
    customer: CustomerId,
) -> Result<Option<Result<Counted, GuessRefusal>>, sqlx::Error> {
    let row = standing!(
        "subject as (
             select id::text as subject, id as customer_id from authenticators
             where id = $11 and store_id = $1 and enabled_at is not null
         )",
        r#"counted as (
             update authenticators as kept set (wrong, in_a_row, lockouts, locked_out_until, last_wrong_at) = (
                 select case when is_tenth then 0 else nth end, kept.in_a_row + 1, kept.lockouts + case when is_tenth then 1 else 0 end,
                        case when is_tenth then ($15::timestamptz[])[least(kept.lockouts + 1, cardinality($15::timestamptz[]))]
                             else kept.locked_out_until end,
                        $2
                 from (select case when kept.last_wrong_at > $12 then kept.wrong else 0 end + 1 as nth) as now_of_it,
                      lateral (select nth >= $13 as is_tenth) as tenth
             )
             from standing
             where kept.id = standing.customer_id and kept.enabled_at is not null and refused_until is null
                   and (is_favoured or coalesce(kept.locked_out_until <= $2, true) and kept.in_a_row < $14)
             returning kept.sealed_secret, kept.last_step, kept.locked_out_until, kept.in_a_row, kept.lockouts,
                       kept.in_a_row <= $14 and (kept.wrong = 0 or kept.in_a_row = $14) as begins
         )
         select is_favoured as "is_favoured!", has_failed as "has_failed!", refused_until, own.locked_out_until, own.in_a_row, own.lockouts,
                counted.sealed_secret as "sealed_secret?", counted.last_step as "last_step?", counted.begins as "begins?",
                counted.locked_out_until as "begun_until?", counted.in_a_row as "counted_in_a_row?", counted.lockouts as "counted_lockouts?"
         from standing join authenticators as own on own.id = standing.customer_id left join counted on true"#,
        guess,
        customer.uuid(),
        guess.now - STARTS_OVER_AFTER,
        lockouts::WRONG_GUESSES,
        lockouts::WRONG_IN_A_ROW,
        &lockouts::ends(guess.now)
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let standing = Standing { is_favoured: row.is_favoured, has_failed: row.has_failed, refused_until: row.refused_until };
    if let Err(exceeded) = standing.admit(guess.now) {
        return Ok(Some(Err(exceeded.into())));
    }
    let (Some(sealed_secret), Some(in_a_row), Some(lockouts)) = (row.sealed_secret, row.counted_in_a_row, row.counted_lockouts) else {
        // A lock-out that a parallel guess has just begun is not in the row yet.
        let lockout = Lockout::at(guess.now, row.locked_out_until, row.in_a_row, row.lockouts);
        let seconds = lockout.map_or(1, |lockout| seconds_until(lockout.until, guess.now));
        return Ok(Some(Err(GuessRefusal::LockedOut { seconds })));
    };
    let begins = Lockout::at(guess.now, row.begun_until, in_a_row, lockouts).filter(|_| row.begins == Some(true));
    Ok(Some(Ok(Counted { sealed_secret, last_step: row.last_step.unwrap_or_default(), begins })))
}
