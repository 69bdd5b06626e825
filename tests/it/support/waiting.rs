//! Waits with an end: a story whose wait takes too long fails, and says what it waited for.

use std::time::Duration;

use tokio::time::{sleep, timeout};

/// Longer than any step of a story takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause after the first check of a condition. Each further one is twice as long, up to the longest: a long wait costs the machine little.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Waits for `awaited`. `what` completes the sentence "waited in vain until …".
pub async fn in_time<T>(what: &str, awaited: impl Future<Output = T>) -> T {
    // Boxed: a large future would otherwise have its size twice here.
    timeout(PATIENCE, Box::pin(awaited)).await.unwrap_or_else(|_| panic!("waited {PATIENCE:?} in vain until {what}"))
}

/// Waits until the condition holds. `what` states it.
pub async fn until(what: &str, holds: impl AsyncFnMut() -> bool) {
    in_time(what, holding(holds)).await;
}

/// Waits until the condition holds, or says what there was instead.
pub async fn until_or_say(what: &str, holds: impl AsyncFnMut() -> bool, saw: impl AsyncFnOnce() -> String) {
    if timeout(PATIENCE, Box::pin(holding(holds))).await.is_err() {
        panic!("waited {PATIENCE:?} in vain until {what}; there was {}", saw().await);
    }
}

async fn holding(mut holds: impl AsyncFnMut() -> bool) {
    let mut pause = FIRST_PAUSE;
    while !holds().await {
        sleep(pause).await;
        pause = LONGEST_PAUSE.min(2 * pause);
    }
}
