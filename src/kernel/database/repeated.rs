//! Transactions that are run again, because the database rolled them back for the sake of another one.
//!
//! One PostgreSQL does so to end a deadlock (40P01), which the order of locks prevents nearly everywhere, and with a row whose day gets a
//! partition while it is written (23514). A distributed one does so wherever two transactions meet (40001). Nothing of such a transaction
//! has happened, so it may be run again, if it is all that was done: no mail was sent, no other transaction committed. What is not run again
//! answers 503 `overloaded`, and the client repeats it.

use std::time::Duration;

use tokio::time::sleep;

use crate::kernel::crypto::random_bytes;
use crate::kernel::problem::Problem;

/// How often a transaction is run, the first time included.
const ATTEMPTS: u32 = 5;
/// The longest pause after the first attempt; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// An error that may say that the database rolled back all that was done, so that doing it again may succeed.
pub trait MayBeConflict {
    /// Whether it says so.
    fn is_conflict(&self) -> bool;
}

impl MayBeConflict for sqlx::Error {
    fn is_conflict(&self) -> bool {
        let Self::Database(error) = self else { return false };
        match error.code().as_deref() {
            // Not the rest of class 40: a transaction of which it is not known whether it has taken effect (40003) must not be run again.
            Some("40001" | "40P01") => true,
            // The row was on its way into the default partition. Checks of tables have names, that of a partition has none.
            Some("23514") => error.constraint().is_none(),
            _ => false,
        }
    }
}

impl MayBeConflict for Problem {
    fn is_conflict(&self) -> bool {
        self.is_conflict()
    }
}

/// Runs a transaction, and again after a conflict, with pauses that keep those who have met from meeting again. `attempt` does nothing but
/// this transaction.
///
/// # Errors
/// What the attempt returns; a conflict after the last one.
pub async fn repeated<T, E, F>(attempt: impl Fn() -> F) -> Result<T, E>
where
    E: MayBeConflict,
    F: Future<Output = Result<T, E>>,
{
    for number in 1..ATTEMPTS {
        match attempt().await {
            Err(error) if error.is_conflict() => sleep(pause_after(number)).await,
            ended => return ended,
        }
    }
    attempt().await
}

/// Between half and all of the longest pause.
fn pause_after(attempt: u32) -> Duration {
    let [chance] = random_bytes();
    FIRST_PAUSE * 2_u32.pow(attempt - 1) * (256 + u32::from(chance)) / 512
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[derive(Debug, PartialEq)]
    enum Failed {
        ByConflict,
        Otherwise,
    }

    impl MayBeConflict for Failed {
        fn is_conflict(&self) -> bool {
            *self == Self::ByConflict
        }
    }

    /// What becomes of a transaction whose first attempts end like this, and how often it is run.
    async fn run(ends: &[Failed]) -> (Result<(), Failed>, usize) {
        let runs = Cell::new(0);
        let attempt = || {
            let run = runs.replace(runs.get() + 1);
            let end = match ends.get(run) {
                Some(Failed::ByConflict) => Err(Failed::ByConflict),
                Some(Failed::Otherwise) => Err(Failed::Otherwise),
                None => Ok(()),
            };
            async { end }
        };
        let ended = repeated(attempt).await;
        (ended, runs.get())
    }

    #[tokio::test(start_paused = true)]
    async fn a_conflict_is_repeated_a_few_times_and_nothing_else() {
        use Failed::{ByConflict, Otherwise};
        assert_eq!(run(&[]).await, (Ok(()), 1));
        assert_eq!(run(&[ByConflict, ByConflict]).await, (Ok(()), 3));
        assert_eq!(run(&[ByConflict, Otherwise]).await, (Err(Otherwise), 2));
        let always = [ByConflict, ByConflict, ByConflict, ByConflict, ByConflict, ByConflict];
        assert_eq!(run(&always).await, (Err(ByConflict), 5));
    }

    #[test]
    fn pauses_grow_and_differ() {
        for _ in 0..100 {
            assert!((Duration::from_micros(2_500)..=FIRST_PAUSE).contains(&pause_after(1)));
            assert!((Duration::from_millis(20)..=Duration::from_millis(40)).contains(&pause_after(4)));
        }
    }
}
