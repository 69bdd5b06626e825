//! Proofs that nobody guesses and that were refused nevertheless: they count against the client alone, so that a flood of them ends. One that
//! is right is never refused for others in the same network.

use crate::kernel::ids::StoreId;
use crate::kernel::problem::Problem;
use crate::storefront::guessing::{self, Client, Kind};
use crate::storefront::state::Storefront;

/// Counts a proof that was refused against the client, and returns the problem for it.
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
