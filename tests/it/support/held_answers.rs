//! A server on loopback, without TLS, whose answers wait until the story lets them go.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use portico::kernel::lifecycle::Lifecycle;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::support::waiting::in_time;

/// The server. It answers whatever it is asked.
pub struct HeldAnswers {
    address: SocketAddr,
    asked: watch::Receiver<usize>,
    answer: Arc<Mutex<HeldAnswer>>,
}

/// What is answered once the token is cancelled.
#[derive(Clone)]
struct HeldAnswer {
    released: CancellationToken,
    status: u16,
    body: String,
}

impl HeldAnswers {
    /// A server that answers with this status and document once `released` is cancelled.
    pub async fn start(released: &CancellationToken, status: u16, body: &Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (arrived, asked) = watch::channel(0);
        let answer = Arc::new(Mutex::new(HeldAnswer { released: released.clone(), status, body: body.to_string() }));
        let (tasks, given) = (Lifecycle::default(), Arc::clone(&answer));
        tasks.clone().spawn(async move {
            loop {
                let (stream, _): (TcpStream, SocketAddr) = listener.accept().await.unwrap();
                let (arrived, given) = (arrived.clone(), Arc::clone(&given));
                tasks.spawn(async move {
                    // Clients that go away are part of the story.
                    let _ = serve(stream, &arrived, &given).await;
                });
            }
        });
        Self { address, asked, answer }
    }

    /// Requests from now on are answered with this status and document once `released` is cancelled. Those of before keep their answer.
    pub fn answer(&self, released: &CancellationToken, status: u16, body: &Value) {
        *self.answer.lock().unwrap() = HeldAnswer { released: released.clone(), status, body: body.to_string() };
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of requests that have arrived.
    pub fn asked(&self) -> usize {
        *self.asked.borrow()
    }

    /// Waits until so many requests have arrived.
    pub async fn is_asked(&self, times: usize) {
        let mut asked = self.asked.clone();
        let asking = async { drop(asked.wait_for(|asked| *asked >= times).await) };
        in_time("the server is asked", asking).await;
    }
}

async fn serve(stream: TcpStream, arrived: &watch::Sender<usize>, given: &Mutex<HeldAnswer>) -> io::Result<()> {
    let (mut stream, mut length) = (BufReader::new(stream), 0);
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().unwrap();
        }
    }
    stream.read_exact(&mut vec![0; length]).await?;
    let HeldAnswer { released, status, body } = given.lock().unwrap().clone();
    arrived.send_modify(|times| *times += 1);
    released.cancelled().await;
    let head =
        format!("HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
