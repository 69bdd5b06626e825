//! Name look-ups that hang: a resolver that never returns does not use up the threads for blocking work.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::join_all;
use portico::webhooks::Resolver;
use reqwest::Method;
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::support::World;
use crate::support::subscribers::will_be_retried_after;
use crate::support::waiting::in_time;

const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(93, 184, 216, 34));

/// A resolver that blocks all look-ups until [`BlockedResolver::release`] is called.
struct BlockedResolver {
    is_released: Mutex<bool>,
    released: Condvar,
    calls: AtomicUsize,
}

impl BlockedResolver {
    const fn new() -> Self {
        Self { is_released: Mutex::new(false), released: Condvar::new(), calls: AtomicUsize::new(0) }
    }

    fn resolve(&self) -> io::Result<Vec<IpAddr>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let is_released = self.is_released.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.released.wait_while(is_released, |is_released| !*is_released).unwrap_or_else(PoisonError::into_inner));
        Ok(vec![ADDRESS])
    }

    /// Blocks look-ups again.
    fn block(&self) {
        *self.is_released.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }

    /// Lets all look-ups return, including those that are already blocked.
    fn release(&self) {
        *self.is_released.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.released.notify_all();
    }
}

#[tokio::test]
async fn hanging_look_ups_leave_threads_for_other_blocking_work() {
    static RESOLVER: BlockedResolver = BlockedResolver::new();
    let names = Resolver::blocking(|_| RESOLVER.resolve());
    // More look-ups than tokio has threads. Each caller gives up at once; the look-ups that have started continue.
    for number in 0..600 {
        assert!(names.look_up(&format!("shop-{number}.test")).now_or_never().is_none());
    }
    in_time("a thread for blocking work is available", spawn_blocking(|| ())).await.unwrap();
    RESOLVER.release();
    assert_eq!(names.look_up("shop.test").await.unwrap(), [ADDRESS]);
    assert!((1..600).contains(&RESOLVER.calls.load(Ordering::Relaxed)));
}

#[tokio::test]
async fn concurrent_look_ups_of_a_name_share_one_call_of_the_resolver() {
    static RESOLVER: BlockedResolver = BlockedResolver::new();
    let names = Resolver::blocking(|_| RESOLVER.resolve());
    let mut look_ups: Vec<_> = (0..50).map(|_| names.look_up("shop.test").boxed()).collect();
    for look_up in &mut look_ups {
        assert!(look_up.now_or_never().is_none());
    }
    RESOLVER.release();
    assert!(join_all(look_ups).await.into_iter().all(|answer| answer.unwrap() == [ADDRESS]));
    assert_eq!(RESOLVER.calls.load(Ordering::Relaxed), 1);
    // A result is not cached after the look-up: the address may have changed.
    names.look_up("shop.test").await.unwrap();
    assert_eq!(RESOLVER.calls.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn the_deadline_of_a_delivery_covers_a_look_up_that_hangs() {
    static RESOLVER: BlockedResolver = BlockedResolver::new();
    let world = World::resolving_by(Resolver::blocking(|_| RESOLVER.resolve())).await;
    // Registering a webhook looks its name up.
    RESOLVER.release();
    let webhook = json!({ "url": "https://shop.test/", "timeout": 1 });
    world.developers(Method::POST, "webhooks", webhook).await.ok(201);
    RESOLVER.block();
    world.publish("order.created").await;
    assert_eq!(world.deliver().await, 1);
    RESOLVER.release();
    will_be_retried_after(&world.last_delivery().await, "timeout");
}
