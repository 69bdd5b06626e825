//! A password that is being compared. It counts as wrong unless it turns out to be right: also if the client disconnects meanwhile, who would
//! otherwise get the comparison for nothing.

use crate::kernel::database::repeated;
use crate::kernel::error_chain::chain;
use crate::kernel::problem::Problem;
use crate::storefront::customers::{self, Customer, PasswordOf};
use crate::storefront::guessing::{self, Guess};
use crate::storefront::passwords::{self, Counted};
use crate::storefront::state::Storefront;

/// A guess that is counted as in flight, until its verdict is counted.
#[derive(Debug)]
pub struct InFlight {
    storefront: Storefront,
    guess: Guess,
    /// Taken when the verdict is known.
    counted: Option<Counted>,
}

impl InFlight {
    /// Counts a guess as in flight, and returns the account that it is compared with. Refuses it if the client may not make it or the account is
    /// locked out. What the client leaves between the two is in flight too, and counts as wrong.
    pub async fn begin(storefront: &Storefront, guess: Guess, subject: PasswordOf) -> Result<(Self, Option<Customer>), Problem> {
        let this = storefront.clone();
        let beginning = async move {
            let count = async || customers::count_password_guess(&mut this.password_pool.acquire().await?, &guess, &subject).await;
            let counted = repeated(count).await?;
            let (counted, customer) = counted.inspect_err(|refusal| this.metrics.refused_guess("password", refusal.as_str()))?;
            Ok((Self { storefront: this, guess, counted: Some(counted) }, customer))
        };
        storefront.lifecycle.finish(beginning).await
    }

    /// It was right, and the customer is signed in: the wrong ones are forgotten already.
    pub async fn signed_in(mut self) -> Result<(), sqlx::Error> {
        let Some(counted) = self.counted.take().filter(|counted| counted.has_failed) else { return Ok(()) };
        let pool = &self.storefront.password_pool;
        repeated(async || guessing::take_back(&mut pool.acquire().await?, &self.guess, &counted.subject).await).await
    }

    /// It was right, but the customer may not sign in, or not yet.
    pub async fn right_in_vain(mut self) -> Result<(), sqlx::Error> {
        let Some(counted) = self.counted.take() else { return Ok(()) };
        let (pool, Guess { store, now, .. }) = (&self.storefront.password_pool, self.guess);
        repeated(async || passwords::settle_right(&mut pool.acquire().await?, store, &counted.subject, now).await).await
    }

    /// It was wrong. The count does not depend on the client's patience.
    pub async fn wrong(mut self) -> Result<(), sqlx::Error> {
        match self.counted.take() {
            Some(counted) => self.storefront.lifecycle.finish(count(self.storefront.clone(), self.guess, counted)).await,
            None => Ok(()),
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let Some(counted) = self.counted.take() else { return };
        let counting = count(self.storefront.clone(), self.guess, counted);
        self.storefront.lifecycle.spawn(async move {
            if let Err(error) = counting.await {
                tracing::warn!(error = chain(&error), "a password whose client had gone could not be counted as wrong");
            }
        });
    }
}

async fn count(storefront: Storefront, guess: Guess, counted: Counted) -> Result<(), sqlx::Error> {
    let settle = async || passwords::settle_wrong(&mut storefront.pool.acquire().await?, guess.store, &counted.subject, guess.now).await;
    let begun = repeated(settle).await?;
    let mut conn = storefront.pool.acquire().await?;
    if let Some((customer, lockout)) = guessing::account_of(&counted.subject).zip(begun) {
        customers::publish_lockout(&mut conn, (guess.store, customer), ("passwords", lockout), guess.now).await;
    }
    guessing::note_wrong(&mut conn, &storefront.challenges.suspects, &guess, &counted.subject).await
}
