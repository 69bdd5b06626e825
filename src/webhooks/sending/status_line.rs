//! The status line of an answer of HTTP/1, read beside the client.
//!
//! The status line decides about a delivery. The client tells it only once it could read all header lines behind it.

use axum::http::StatusCode;

/// Bytes of a line that are kept: of a status line all up to its code, and of a header line enough to see that it is not empty.
const KEPT: usize = 32;

/// Reads the status of one answer from its bytes, in whatever pieces they come. Interim answers (1xx) are passed over.
#[derive(Debug, Default)]
pub struct StatusLine {
    state: State,
    /// The beginning of the line that has not ended yet.
    line: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// A status line comes next.
    #[default]
    Awaited,
    /// The header lines of an interim answer come next, and then another status line.
    Interim,
    Read(StatusCode),
    /// What came is no answer of HTTP/1.
    Unreadable,
}

impl StatusLine {
    /// Reads the next bytes.
    pub fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if matches!(self.state, State::Read(_) | State::Unreadable) {
                return;
            }
            if *byte == b'\n' {
                self.state = self.state.after(self.line.trim_ascii_end());
                self.line.clear();
            } else if self.line.len() < KEPT {
                self.line.push(*byte);
            }
        }
    }

    /// The status, once its line has been read to the end.
    pub fn status(&self) -> Option<StatusCode> {
        match self.state {
            State::Read(status) => Some(status),
            State::Awaited | State::Interim | State::Unreadable => None,
        }
    }
}

impl State {
    /// The state after a line.
    fn after(self, line: &[u8]) -> Self {
        match (self, line) {
            // Some servers send an empty line before an answer.
            (Self::Awaited | Self::Interim, []) => Self::Awaited,
            (Self::Awaited, line) => match status_of(line) {
                Some(status) if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS => Self::Interim,
                Some(status) => Self::Read(status),
                None => Self::Unreadable,
            },
            (state, _) => state,
        }
    }
}

/// The code of `HTTP/1.1 200 OK`. What comes behind it does not matter.
fn status_of(line: &[u8]) -> Option<StatusCode> {
    let mut words = line.strip_prefix(b"HTTP/")?.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    words.next().filter(|version| version[0].is_ascii_digit())?;
    StatusCode::from_bytes(words.next()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The status of an answer that comes in pieces of this length.
    fn status_in_pieces(answer: &str, length: usize) -> Option<u16> {
        let mut line = StatusLine::default();
        answer.as_bytes().chunks(length).for_each(|piece| line.read(piece));
        line.status().map(|status| status.as_u16())
    }

    #[test]
    fn the_status_is_read_whatever_comes_behind_it_and_in_whatever_pieces() {
        for answer in [
            "HTTP/1.1 200 OK\r\nX-Powered-By : php\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200\r\n\0\r\r\n",
            "HTTP/1.0 200 \n",
            "\r\nHTTP/1.1 200 All is well, and has been so for as long as anybody can remember\r\n",
            "HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\nHTTP/1.1 200 OK\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nHTTP/1.1 500 Later\r\n",
            "HTTP/2 200\r\n",
        ] {
            for length in [1, 3, 1_000] {
                assert_eq!(status_in_pieces(answer, length), Some(200), "{answer:?} in pieces of {length}");
            }
        }
        assert_eq!(status_in_pieces("HTTP/1.1 101 Switching Protocols\r\n", 1), Some(101), "it is the last one on the connection");
        assert_eq!(status_in_pieces("HTTP/1.1 503 Unavailable\r\n\0", 7), Some(503));
    }

    #[test]
    fn a_line_that_has_not_ended_or_is_no_status_line_says_nothing() {
        for answer in [
            "",
            "HTTP/1.1 200 OK",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 100 Continue\r\nHTTP/1.1 200 OK\r\n",
            "220 mail.example ready\r\nHTTP/1.1 200 OK\r\n",
            "HTTP/1.1 2000 OK\r\n",
            "HTTP/1.1 20 OK\r\n",
            "HTTP/1.1 OK 200\r\n",
            "HTTP/ 200 OK\r\n",
            "http/1.1 200 OK\r\n",
            " HTTP/1.1 200 OK\r\n",
        ] {
            assert_eq!(status_in_pieces(answer, 1), None, "{answer:?}");
        }
    }
}
