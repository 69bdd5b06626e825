//! Callers: blocking connections that send prepared bytes and read the response, with minimal overhead.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// The timeout of a response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A persistent connection.
pub struct Caller {
    stream: TcpStream,
    /// The buffer for responses; it grows with the longest one.
    buffer: Vec<u8>,
}

impl Caller {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        Self { stream, buffer: vec![0; 16 * 1024] }
    }

    /// Sends a request; returns the status and the body of the response.
    pub fn call(&mut self, request: &[u8]) -> (u16, &[u8]) {
        self.send(request);
        self.receive()
    }

    /// Sends a request; returns the JSON of the response, which must have the status `expected`.
    pub fn ask(&mut self, expected: u16, request: &[u8]) -> Value {
        let (status, body) = self.call(request);
        assert_eq!(status, expected, "{}", String::from_utf8_lossy(body));
        serde_json::from_slice(body).unwrap()
    }

    pub fn send(&mut self, request: &[u8]) {
        self.stream.write_all(request).unwrap();
    }

    pub fn receive(&mut self) -> (u16, &[u8]) {
        let (mut filled, mut whole) = (0, None);
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize(2 * filled, 0);
            }
            let read = self.stream.read(&mut self.buffer[filled..]).expect("the service responds in time");
            assert!(read > 0, "the service closed the connection");
            filled += read;
            whole = whole.or_else(|| body_of(&self.buffer[..filled]));
            if let Some((start, end)) = whole.filter(|(_, end)| filled >= *end) {
                let status = std::str::from_utf8(&self.buffer[9..12]).unwrap().parse().unwrap();
                return (status, &self.buffer[start..end]);
            }
        }
    }
}

/// The beginning and the end of the body in a response, once the headers are complete.
pub fn body_of(answer: &[u8]) -> Option<(usize, usize)> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&answer[..head]).unwrap();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("every response has a content-length");
    Some((head + 4, head + 4 + length.parse::<usize>().unwrap()))
}

/// The status and the head of a response that has been read.
pub fn head_of(answer: &[u8]) -> (u16, &str) {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("the head has been read");
    let head = std::str::from_utf8(&answer[..end]).unwrap();
    (head[9..12].parse().unwrap(), head)
}

/// Builds the bytes of a request.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: portico\r\n");
    if !body.is_empty() {
        text.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

/// The address of customer `number`, for limits per address.
pub fn address_of(number: usize) -> String {
    format!("{}.{}.{}.{}", 11 + (number >> 24), (number >> 16) & 255, (number >> 8) & 255, number & 255)
}
