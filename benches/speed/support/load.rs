//! Concurrent callers.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::calls::Caller;

/// The results of concurrent callers.
pub struct Load {
    pub per_second: f64,
    /// The response times, shortest first.
    times: Vec<Duration>,
}

impl Load {
    /// How many responses there were.
    pub fn count(&self) -> usize {
        self.times.len()
    }

    /// The response time at this percentile.
    pub fn percentile(&self, share: f64) -> Duration {
        let index = ((self.times.len() - 1) as f64 * share).round() as usize;
        self.times[index]
    }
}

/// Lets `callers` send requests one after another for `time`, each on its own thread. `next` returns the request for a turn of a
/// caller.
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

/// Responses per second when `callers` connections take turns on one thread, each with one request in flight: the cheapest way to
/// send many requests. It is meant for fast responses, because a slow one holds up the turn. `next` returns the request for a turn.
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
