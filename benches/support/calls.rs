//! Callers: blocking connections that send prepared bytes and read the answer, so that what is measured is the service.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// One connection that is kept open.
pub struct Caller {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Caller {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: vec![0; 64 * 1024] }
    }

    /// Sends a request and gives the status and the body of the answer.
    pub fn call(&mut self, request: &[u8]) -> (u16, &[u8]) {
        self.stream.write_all(request).unwrap();
        let (mut filled, mut whole) = (0, None);
        loop {
            filled += self.stream.read(&mut self.buffer[filled..]).unwrap();
            let head = self.buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n");
            if let (None, Some(head)) = (whole, head) {
                let text = std::str::from_utf8(&self.buffer[..head]).unwrap();
                let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("every answer has a length");
                whole = Some((head + 4, head + 4 + length.parse::<usize>().unwrap()));
            }
            if let Some((start, end)) = whole.filter(|(_, end)| filled >= *end) {
                let status = std::str::from_utf8(&self.buffer[9..12]).unwrap().parse().unwrap();
                return (status, &self.buffer[start..end]);
            }
        }
    }
}

/// The bytes of a request.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text =
        format!("{method} {path} HTTP/1.1\r\nhost: portico\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

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

/// Lets `callers` call one after another for `time`; `next` gives the request of a caller's turn.
pub fn load(address: SocketAddr, callers: usize, time: Duration, expected: u16, next: impl Fn(usize, usize) -> Vec<u8> + Sync) -> Load {
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
                        assert_eq!(status, expected, "{}", String::from_utf8_lossy(body));
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
