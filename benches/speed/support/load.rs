//! Many callers at once.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::calls::Caller;

/// What a number of callers saw.
pub struct Load {
    pub per_second: f64,
    /// Every answer's time, shortest first.
    times: Vec<Duration>,
}

impl Load {
    /// The time within which this share of the answers came.
    pub fn percentile(&self, share: f64) -> Duration {
        let index = ((self.times.len() - 1) as f64 * share).round() as usize;
        self.times[index]
    }
}

/// Lets `callers` call one after another for `time`, each on a thread of its own; `next` gives the request of a caller's turn.
pub fn load(address: SocketAddr, callers: usize, time: Duration, expected: &[u16], next: impl Fn(usize, usize) -> Vec<u8> + Sync) -> Load {
    let stop = AtomicBool::new(false);
    let begin = Instant::now();
    let times: Vec<Vec<Duration>> = thread::scope(|scope| {
        let callers: Vec<_> = (0..callers)
            .map(|number| {
                let (stop, next) = (&stop, &next);
                scope.spawn(move || {
                    let mut caller = Caller::connect(address);
                    let mut times = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let request = next(number, times.len());
                        let sent = Instant::now();
                        let (status, body) = caller.call(&request);
                        assert!(expected.contains(&status), "{status} {}", String::from_utf8_lossy(body));
                        times.push(sent.elapsed());
                    }
                    times
                })
            })
            .collect();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    let elapsed = begin.elapsed();
    let mut times: Vec<_> = times.into_iter().flatten().collect();
    times.sort_unstable();
    Load { per_second: times.len() as f64 / elapsed.as_secs_f64(), times }
}

/// Answers a second when `callers` take turns on one thread, each with a request under way: the cheapest way to ask much at once. For
/// requests that are answered at once; a slow answer holds up the turn. `next` gives the request of a turn.
pub fn rate<R: AsRef<[u8]>>(address: SocketAddr, callers: usize, time: Duration, expected: u16, mut next: impl FnMut() -> R) -> f64 {
    let mut callers: Vec<_> = (0..callers).map(|_| Caller::connect(address)).collect();
    let (begin, mut answered) = (Instant::now(), 0_u32);
    for caller in &mut callers {
        caller.send(next().as_ref());
    }
    while begin.elapsed() < time {
        for caller in &mut callers {
            let (status, body) = caller.receive();
            assert_eq!(status, expected, "{}", String::from_utf8_lossy(body));
            caller.send(next().as_ref());
            answered += 1;
        }
    }
    let per_second = f64::from(answered) / begin.elapsed().as_secs_f64();
    for caller in &mut callers {
        caller.receive();
    }
    per_second
}
