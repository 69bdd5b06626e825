//! How a connection ends: with a problem document where the HTTP layer refuses a request, and so that its client can read what was said last.
//!
//! hyper answers a request head that it cannot read with a status and no body, and offers no way to write that response. It writes it alone,
//! because it reads a head only when nothing is left to be written, and reads nothing afterwards. So a write that looks like such a
//! response is withheld until either hyper reads on, and it goes out as it is, or the connection has ended, and hyper says whether it
//! refused a head. Nothing else is ever replaced.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;

use crate::kernel::clock::Clock;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_id::RequestId;

/// How much is read, and for how long, of what a client still sends. A connection that is closed with unread bytes is reset, and the client
/// may lose the response.
const LAST_BYTES: u64 = 1024 * 1024;
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// What is left of a connection when HTTP has let go of it.
#[derive(Debug)]
pub struct Remains<T>(Arc<Mutex<Option<Left<T>>>>);

#[derive(Debug)]
struct Left<T> {
    stream: T,
    withheld: Vec<u8>,
}

impl<T> Clone for Remains<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Remains<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// The stream of a connection, which leaves itself behind when it is dropped.
#[derive(Debug)]
pub struct PartingStream<T> {
    /// `None` once it is dropped.
    stream: Option<T>,
    withheld: Vec<u8>,
    remains: Remains<T>,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Remains<T> {
    /// Ends the connection. `refused` says whether HTTP refused what the client sent, `unread` whether the client may still be sending.
    pub async fn part(&self, refused: bool, unread: bool) -> io::Result<()> {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Left { mut stream, withheld }) = left else { return Ok(()) };
        let last_words = if refused { problem_document(&withheld).unwrap_or(withheld) } else { withheld };
        stream.write_all(&last_words).await?;
        stream.shutdown().await?;
        if refused || unread {
            let reading = async { tokio::io::copy(&mut stream.take(LAST_BYTES), &mut tokio::io::sink()).await };
            _ = timeout(LAST_MOMENT, reading).await;
        }
        Ok(())
    }
}

impl<T: AsyncWrite + Unpin> PartingStream<T> {
    pub fn new(stream: T, remains: Remains<T>) -> Self {
        Self { stream: Some(stream), withheld: Vec::new(), remains }
    }

    fn stream(&mut self) -> Pin<&mut T> {
        Pin::new(self.stream.as_mut().expect("the stream is there until this is dropped"))
    }

    /// Writes what was withheld.
    fn poll_release(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.withheld.is_empty() {
            let withheld = std::mem::take(&mut self.withheld);
            let written = self.stream().poll_write(cx, &withheld);
            self.withheld = withheld;
            let count = ready!(written)?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.withheld.drain(..count);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T> Drop for PartingStream<T> {
    fn drop(&mut self) {
        let withheld = std::mem::take(&mut self.withheld);
        let left = self.stream.take().map(|stream| Left { stream, withheld });
        *self.remains.0.lock().unwrap_or_else(PoisonError::into_inner) = left;
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for PartingStream<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_release(cx))?;
        self.stream().poll_read(cx, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for PartingStream<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_release(cx))?;
        if bodiless_refusal(bytes).is_some() {
            self.withheld = bytes.to_vec();
            return Poll::Ready(Ok(bytes.len()));
        }
        self.stream().poll_write(cx, bytes)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let mut parts = bytes.iter().filter(|part| !part.is_empty());
        match (parts.next(), parts.next()) {
            (Some(alone), None) => self.poll_write(cx, alone),
            _ => {
                ready!(self.poll_release(cx))?;
                self.stream().poll_write_vectored(cx, bytes)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    /// Left to [`Remains::part`].
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The status of a response of hyper to a head that it cannot read, and nothing else.
fn bodiless_refusal(bytes: &[u8]) -> Option<StatusCode> {
    let head = std::str::from_utf8(bytes.strip_prefix(b"HTTP/1.")?.strip_suffix(b"\r\n\r\n")?).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let names: Vec<_> = lines.filter_map(|line| line.split_once(':')).map(|(name, _)| name.to_ascii_lowercase()).collect();
    let of_hyper = names.iter().all(|name| matches!(name.as_str(), "connection" | "content-length" | "date"));
    (of_hyper && matches!(status, 400 | 414 | 431)).then(|| StatusCode::from_u16(status).ok()).flatten()
}

/// The response that says in its body why the head is refused.
fn problem_document(bodiless: &[u8]) -> Option<Vec<u8>> {
    let status = bodiless_refusal(bodiless)?;
    // Such a request has no other layer that gives it an id.
    let id = RequestId::new(Clock::System.now()).to_string();
    tracing::debug!(id, status = status.as_u16(), "a request was refused, because its head cannot be read");
    let body = Problem::new(ProblemCode::of_status(status)).body(&id).to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncache-control: no-store\r\nx-request-id: {id}\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    Some([head, body].concat().into_bytes())
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};

    use super::*;

    const REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\ndate: Thu, 21 May 2026 10:15:00 GMT\r\n\r\n";

    /// Writes the refusal, goes on as `then` does, and returns what the client reads.
    async fn written(refused: bool, then: impl AsyncFnOnce(&mut PartingStream<DuplexStream>)) -> String {
        let (mut client, server) = duplex(4_096);
        let remains = Remains::default();
        let mut stream = PartingStream::new(server, remains.clone());
        stream.write_all(REFUSAL).await.unwrap();
        stream.flush().await.unwrap();
        then(&mut stream).await;
        stream.shutdown().await.unwrap();
        drop(stream);
        let (mut read, ended) = (String::new(), remains.part(refused, false));
        let (ended, _) = tokio::join!(ended, async { client.read_to_string(&mut read).await.unwrap() });
        ended.unwrap();
        read
    }

    #[tokio::test]
    async fn a_refusal_of_the_http_layer_says_why() {
        let read = written(true, async |_| {}).await;
        let (head, body) = read.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n") && head.contains(&format!("content-length: {}", body.len())), "{head}");
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&problem["code"], &problem["status"]), (&"bad_request".into(), &400.into()));
        assert!(head.contains(problem["request_id"].as_str().unwrap()));
    }

    #[tokio::test]
    async fn what_only_looks_like_one_goes_out_as_it_is() {
        let refusal = std::str::from_utf8(REFUSAL).unwrap();
        assert_eq!(written(false, async |_| {}).await, refusal);
        assert_eq!(written(false, async |stream| stream.write_all(b"more").await.unwrap()).await, format!("{refusal}more"));
        let reading = async |stream: &mut PartingStream<DuplexStream>| {
            _ = timeout(Duration::ZERO, stream.read(&mut [0; 1])).await;
            stream.write_all(b"more").await.unwrap();
        };
        assert_eq!(written(true, reading).await, format!("{refusal}more"));
    }

    #[test]
    fn responses_of_the_service_are_never_withheld() {
        for response in [
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nx-request-id: 1\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "",
        ] {
            assert_eq!(bodiless_refusal(response.as_bytes()), None, "{response}");
        }
        assert_eq!(bodiless_refusal(REFUSAL), Some(StatusCode::BAD_REQUEST));
    }
}
