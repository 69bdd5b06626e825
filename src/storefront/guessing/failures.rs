//! The wrong guesses of clients, counted in the shared limits ([`rate_limit`]).

use crate::kernel::database::Connection;
use crate::kernel::ids::StoreId;
use crate::kernel::rate_limit;
use crate::storefront::guessing::guess::{HERE, digest, of_store};
use crate::storefront::guessing::{Exceeded, Guess, Suspects};

/// Counts a wrong guess against the client.
pub async fn note_wrong(conn: &mut Connection, suspects: &Suspects, guess: &Guess, subject: &str) -> Result<(), sqlx::Error> {
    for (network, rule) in guess.networks() {
        let status = rate_limit::hit(conn, &guess.bucket_of(network), rule, guess.now).await?;
        suspects.look_at((guess.store, network), &status, guess.now);
    }
    rate_limit::hit(conn, &guess.here_bucket(subject), HERE, guess.now).await?;
    Ok(())
}

/// Counts a proof that a provider does not vouch for. A right one is never refused: nobody guesses a signature.
pub async fn note_failed_proof(conn: &mut Connection, suspects: &Suspects, guess: &Guess) -> Result<Result<(), Exceeded>, sqlx::Error> {
    for (network, rule) in guess.networks() {
        let status = rate_limit::hit(conn, &guess.bucket_of(network), rule, guess.now).await?;
        suspects.look_at((guess.store, network), &status, guess.now);
        if !status.allowed {
            return Ok(Err(Exceeded { seconds: status.retry_after() }));
        }
    }
    Ok(Ok(()))
}

/// Takes back what the client has guessed wrong at a subject that has now signed in: it was the customer who had forgotten something.
pub async fn take_back(conn: &mut Connection, guess: &Guess, subject: &str) -> Result<(), sqlx::Error> {
    rate_limit::take_back(conn, &guess.network_buckets(), &guess.taken_back_buckets(subject)).await
}

/// Forgets the wrong guesses of all clients at these subjects, for an operator who unlocks a customer. Those over all subjects stay counted.
pub async fn forget_failures(conn: &mut Connection, store: StoreId, subjects: &[String]) -> Result<(), sqlx::Error> {
    let digests: Vec<_> = subjects.iter().map(|subject| digest(subject)).collect();
    rate_limit::clear(conn, &of_store(store), &digests).await
}
