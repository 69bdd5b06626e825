//! Proofs that somebody else has signed, an identity provider or a passkey, and that were refused. They count against the client, over all
//! customers of the store. Whose proof is right is never refused for others in the same network: nobody guesses a signature.

use crate::kernel::ids::StoreId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::guessing::{self, Client, Kind};
use crate::storefront::state::Storefront;

/// Passes `result` on, and counts it before if it is this refusal. One too many is `guesses_exceeded` instead.
pub async fn counted<T>(
    storefront: &Storefront,
    (store, client): (StoreId, Client),
    refusal: ProblemCode,
    result: Result<T, Problem>,
) -> Result<T, Problem> {
    match result {
        Err(problem) if problem.code() == refusal => {
            let suspects = &storefront.challenges.suspects;
            let guess = storefront.guess(store, client, Kind::Proof);
            match guessing::note_failed_proof(&mut storefront.pool.acquire().await?, suspects, &guess).await? {
                Ok(()) => Err(problem),
                Err(exceeded) => {
                    storefront.metrics.refused_guess("proof", "exceeded");
                    Err(exceeded.into())
                }
            }
        }
        result => result,
    }
}
