//! The stream of a connection, whose writes fail when its client does not read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// What a write that begins to wait gets even after the deadline: the rest of a response may be on its way to a slow client.
const AFTER_THE_DEADLINE: Duration = Duration::from_secs(3);

/// How long the writes of a connection may wait for its client. Clones share it.
#[derive(Clone, Debug)]
pub struct Patience {
    /// The longest wait of one write.
    limit: Duration,
    deadlines: Arc<Mutex<Deadlines>>,
}

/// From when on no write waits any more.
#[derive(Debug, Default)]
struct Deadlines {
    /// That of the response being written.
    response: Option<Instant>,
    /// That of the whole connection.
    connection: Option<Instant>,
}

impl Patience {
    pub fn new(limit: Duration) -> Self {
        Self { limit, deadlines: Arc::default() }
    }

    /// A response begins. If its client does not read it, it ends at this moment.
    pub fn begin_response(&self, ends_at: Option<Instant>) {
        self.deadlines().response = ends_at;
    }

    /// The connection is to end; a client that does not read cannot prevent it.
    pub fn end_connection(&self) {
        self.deadlines().connection = Some(Instant::now());
    }

    /// How long a write waits that could not go on since this moment.
    fn until(&self, since: Instant) -> Instant {
        let deadlines = self.deadlines();
        let deadline = deadlines.response.into_iter().chain(deadlines.connection).min();
        let by_deadline = deadline.map(|deadline| deadline.max(since + AFTER_THE_DEADLINE));
        by_deadline.into_iter().fold(since + self.limit, Instant::min)
    }

    fn deadlines(&self) -> MutexGuard<'_, Deadlines> {
        self.deadlines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream with patience. A write that waits for longer fails, and the connection is reset, so that the system does not keep what the
/// client does not read either.
#[derive(Debug)]
pub struct PatientStream {
    stream: TcpStream,
    patience: Patience,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    sleep: Pin<Box<Sleep>>,
}

impl PatientStream {
    pub fn new(stream: TcpStream, patience: Patience) -> Self {
        Self { stream, patience, waiting: None }
    }

    /// The result of a write, or an error if it has waited for too long.
    fn judge(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let waiting = self.waiting.get_or_insert_with(|| {
            let since = Instant::now();
            Waiting { since, sleep: Box::pin(sleep_until(self.patience.until(since))) }
        });
        let until = self.patience.until(waiting.since);
        if until != waiting.sleep.deadline() {
            waiting.sleep.as_mut().reset(until);
        }
        ready!(waiting.sleep.as_mut().poll(cx));
        // If it cannot be set, the system gives up on the rest after a while.
        _ = self.stream.set_zero_linger();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for PatientStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for PatientStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, written)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_waits_for_its_limit_or_until_the_nearer_deadline() {
        let (patience, since) = (Patience::new(Duration::from_secs(10)), Instant::now());
        let waits = || (patience.until(since) - since).as_secs();
        assert_eq!(waits(), 10);
        patience.begin_response(Some(since + Duration::from_secs(4)));
        assert_eq!(waits(), 4);
        patience.begin_response(Some(since + Duration::from_secs(40)));
        assert_eq!(waits(), 10);
        patience.end_connection();
        assert_eq!(waits(), 3, "what is on its way may arrive");
        patience.begin_response(None);
        assert_eq!(waits(), 3);
    }
}
