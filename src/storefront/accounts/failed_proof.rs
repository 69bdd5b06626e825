//! Proofs that nobody guesses and that were refused: signatures of identity providers and passkeys, recovery codes, handles of sign-ins. They
//! count against the client, over all customers of the store. Whose proof is right is never refused for others in the same network.

use crate::kernel::ids::StoreId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::guessing::{self, Client, Kind};
use crate::storefront::state::Storefront;

/// Passes `result` on, and counts it before if it is this refusal.
pub async fn counted<T>(
    storefront: &Storefront,
    who: (StoreId, Client),
    refusal: ProblemCode,
    result: Result<T, Problem>,
) -> Result<T, Problem> {
    match result {
        Err(problem) if problem.code() == refusal => Err(count(storefront, who, problem).await),
        result => result,
    }
}

/// Counts a proof that was refused, and returns the problem for it: of one too many `guesses_exceeded` instead.
pub async fn count(storefront: &Storefront, (store, client): (StoreId, Client), refused: Problem) -> Problem {
    let guess = storefront.guess(store, client, Kind::Proof);
    let suspects = &storefront.challenges.suspects;
    let counted = async { guessing::note_failed_proof(&mut storefront.pool.acquire().await?, suspects, &guess).await };
    match counted.await {
        Ok(Ok(())) => refused,
        Ok(Err(exceeded)) => {
            storefront.metrics.refused_guess("proof", "exceeded");
            exceeded.into()
        }
        Err(error) => error.into(),
    }
}
