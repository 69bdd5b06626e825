//! Names whose look-up hangs: a resolver that never answers takes no thread that anybody else needs.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use portico::webhooks::Resolver;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(93, 184, 216, 34));

/// A resolver that answers nobody until it is told to.
struct Mute {
    answers: Mutex<bool>,
    told: Condvar,
    asked: AtomicUsize,
}

impl Mute {
    const fn new() -> Self {
        Self { answers: Mutex::new(false), told: Condvar::new(), asked: AtomicUsize::new(0) }
    }

    fn resolve(&self) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.told.wait_while(answers, |answers| !*answers).unwrap_or_else(PoisonError::into_inner));
        Ok(vec![ADDRESS])
    }

    /// From now on it answers everybody, those who have been waiting included.
    fn answer(&self) {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }
}

#[tokio::test]
async fn however_many_names_hang_there_are_threads_for_everybody_else() {
    static MUTE: Mute = Mute::new();
    let names = Resolver::blocking(|_| MUTE.resolve());
    // More than tokio has threads; whoever asks gives up at once, and the look-ups that have begun go on.
    for number in 0..600 {
        assert!(names.look_up(&format!("shop-{number}.test")).now_or_never().is_none());
    }
    timeout(Duration::from_secs(20), spawn_blocking(|| ())).await.expect("there is a thread left").unwrap();
    MUTE.answer();
    assert_eq!(names.look_up("shop.test").await.unwrap(), [ADDRESS]);
    assert!((1..600).contains(&MUTE.asked.load(Ordering::Relaxed)));
}

#[tokio::test]
async fn whoever_asks_for_a_name_that_hangs_waits_for_the_one_who_asked_before() {
    static MUTE: Mute = Mute::new();
    let names = Resolver::blocking(|_| MUTE.resolve());
    let mut asking: Vec<_> = (0..50).map(|_| names.look_up("shop.test").boxed()).collect();
    for look_up in &mut asking {
        assert!(look_up.now_or_never().is_none());
    }
    MUTE.answer();
    assert!(join_all(asking).await.into_iter().all(|answer| answer.unwrap() == [ADDRESS]));
    assert_eq!(MUTE.asked.load(Ordering::Relaxed), 1);
    // An answer is for those who waited for it: the name may have moved since.
    names.look_up("shop.test").await.unwrap();
    assert_eq!(MUTE.asked.load(Ordering::Relaxed), 2);
}
