//! Requests at a fixed pace on many connections, whether or not earlier ones were answered.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep_until, timeout};

use super::calls::{body_of, head_of};

/// The timeout of a response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What became of the requests.
#[derive(Default)]
pub struct Offered {
    /// Requests sent per second.
    pub sent: f64,
    /// Requests that were answered as expected, per second.
    pub good: f64,
    /// How long refusals took, shortest first.
    pub refusals: Vec<Duration>,
}

/// The requests of one connection.
#[derive(Default)]
struct Told {
    sent: u32,
    good: u32,
    refusals: Vec<Duration>,
}

/// Offers `per_second` requests on `connections` connections for `time`; without a pace, each sends on as soon as it is answered. So does one
/// that is late, because it waited for its response. A refusal must be 503 or 429 and say when to come back.
pub fn offer(
    address: SocketAddr,
    connections: usize,
    per_second: Option<f64>,
    time: Duration,
    expected: u16,
    next: impl Fn() -> Vec<u8>,
) -> Offered {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let streams = join_all((0..connections).map(|_| TcpStream::connect(address))).await;
        let (begin, next) = (Instant::now(), &next);
        let pause = per_second.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(connections as f64 / rate));
        let callers = streams.into_iter().enumerate().map(async |(number, stream)| {
            let first = begin + pause.mul_f64(number as f64 / connections as f64);
            ask(stream.unwrap(), first, pause, begin + time, expected, next).await
        });
        let told = join_all(callers).await;
        let seconds = begin.elapsed().as_secs_f64();
        let sum = |of: fn(&Told) -> u32| f64::from(told.iter().map(of).sum::<u32>()) / seconds;
        let (sent, good) = (sum(|told| told.sent), sum(|told| told.good));
        let mut refusals: Vec<_> = told.into_iter().flat_map(|told| told.refusals).collect();
        refusals.sort_unstable();
        Offered { sent, good, refusals }
    })
}

async fn ask(mut stream: TcpStream, mut due: Instant, pause: Duration, until: Instant, expected: u16, next: &impl Fn() -> Vec<u8>) -> Told {
    stream.set_nodelay(true).unwrap();
    let (mut told, mut buffer) = (Told::default(), vec![0; 16 * 1024]);
    while due.max(Instant::now()) < until {
        sleep_until(due.into()).await;
        let (sent, request) = (Instant::now(), next());
        stream.write_all(&request).await.unwrap();
        let filled = timeout(TIMEOUT, receive(&mut stream, &mut buffer)).await.expect("the service responds in time");
        told.sent += 1;
        let (status, head) = head_of(&buffer[..filled]);
        if status == expected {
            told.good += 1;
        } else {
            assert!(matches!(status, 429 | 503) && head.contains("\r\nretry-after: "), "{head}");
            told.refusals.push(sent.elapsed());
        }
        due = (due + pause).max(Instant::now());
    }
    told
}

/// Reads one response; returns its length.
async fn receive(stream: &mut TcpStream, buffer: &mut [u8]) -> usize {
    let mut filled = 0;
    loop {
        let read = stream.read(&mut buffer[filled..]).await.unwrap();
        assert!(read > 0, "the service closed the connection");
        filled += read;
        if body_of(&buffer[..filled]).is_some_and(|(_, end)| filled >= end) {
            return filled;
        }
    }
}
