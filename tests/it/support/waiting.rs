//! Waits with an end: a story whose wait takes too long fails, and says what it waited for.

use std::time::Duration;

use tokio::time::{sleep, timeout};

/// Longer than any step of a story takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two checks of a condition.
const PAUSE: Duration = Duration::from_millis(2);

/// Waits for `awaited`. `what` completes the sentence "waited in vain until …".
pub async fn in_time<T>(what: &str, awaited: impl Future<Output = T>) -> T {
    // Boxed: a large future would otherwise have its size twice here.
    timeout(PATIENCE, Box::pin(awaited)).await.unwrap_or_else(|_| panic!("waited {PATIENCE:?} in vain until {what}"))
}

/// Waits until the condition holds. `what` states it.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let holding = async {
        while !holds().await {
            sleep(PAUSE).await;
        }
    };
    in_time(what, holding).await;
}
