//! How requests are sent: as many as are answered, or so many in a second whether or not the earlier ones were answered.

use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use tokio::time::interval;

use super::shop::Shop;

/// Callers that measure the capacity, each with one request after the other.
const CALLERS: usize = 32;

/// The most requests that are answered in a second.
pub fn capacity(shop: &Shop, time: Duration) -> f64 {
    let (begin, mut asked) = (Instant::now(), 0);
    runtime().block_on(async {
        let callers = (0..CALLERS).map(async |_| {
            let mut asked = 0;
            while begin.elapsed() < time {
                shop.ask(Instant::now()).await;
                asked += 1;
            }
            asked
        });
        asked = join_all(callers).await.into_iter().sum();
    });
    f64::from(asked) / begin.elapsed().as_secs_f64()
}

/// Sends so many requests in a second; returns when all of them are answered.
pub fn offer(shop: &Shop, per_second: f64, time: Duration) {
    runtime().block_on(async {
        let (mut tick, mut under_way, end) =
            (interval(Duration::from_secs_f64(per_second.recip())), FuturesUnordered::new(), Instant::now() + time);
        loop {
            tokio::select! {
                due = tick.tick(), if Instant::now() < end => under_way.push(shop.ask(due.into())),
                Some(()) = under_way.next() => {}
                else => break,
            }
        }
    });
}

/// How many of these tokens work.
pub fn count_signed_in(shop: &Shop, tokens: &[String]) -> usize {
    runtime().block_on(async {
        let asking = futures::stream::iter(tokens).map(|token| shop.is_signed_in(token)).buffer_unordered(CALLERS);
        asking.filter(|is_signed_in| std::future::ready(*is_signed_in)).count().await
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
