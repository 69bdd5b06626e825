//! An endpoint that keeps its connections and ends each of them at the moment at which the second request is on its way.

use std::io;
use std::sync::{Arc, Mutex};

use portico::kernel::lifecycle::Lifecycle;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::receiver::{acceptor, read};

/// How a connection ends under a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// In the order of TLS.
    Orderly,
    /// Without a word of TLS.
    Abrupt,
    /// By a reset.
    Reset,
    /// In order, after the first bytes of an answer.
    Begun,
}

/// The endpoint, on loopback.
#[derive(Debug)]
pub struct Keeping {
    pub url: String,
    arrived: Arc<Mutex<Arrived>>,
}

/// The ids of the events of the requests that arrived.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    pub answered: Vec<String>,
    /// Those under which a connection was ended.
    pub unanswered: Vec<String>,
}

impl Keeping {
    /// Listens as `name`.
    pub async fn start(name: &str, ending: Ending) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{name}:{}/", listener.local_addr().unwrap().port());
        let (tls, arrived) = (acceptor(name, &[]), Arc::<Mutex<Arrived>>::default());
        let (tasks, note) = (Lifecycle::default(), Arc::clone(&arrived));
        tasks.clone().spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (tls, note) = (tls.clone(), Arc::clone(&note));
                // Clients that abort are part of the story.
                tasks.spawn(async move { drop(serve(tls, stream, ending, &note).await) });
            }
        });
        Self { url, arrived }
    }

    /// What has arrived.
    pub fn arrived(&self) -> Arrived {
        self.arrived.lock().unwrap().clone()
    }
}

async fn serve(tls: TlsAcceptor, stream: TcpStream, ending: Ending, arrived: &Mutex<Arrived>) -> io::Result<()> {
    let mut stream = BufReader::new(tls.accept(stream).await?);
    let event = read(&mut stream).await?.header("webhook-id").to_owned();
    arrived.lock().unwrap().answered.push(event);
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
    stream.flush().await?;
    let event = read(&mut stream).await?.header("webhook-id").to_owned();
    arrived.lock().unwrap().unanswered.push(event);
    match ending {
        Ending::Orderly => stream.shutdown().await,
        Ending::Abrupt => Ok(()),
        Ending::Reset => stream.get_ref().get_ref().0.set_zero_linger(),
        Ending::Begun => {
            stream.write_all(b"HTTP/1.1 2").await?;
            stream.shutdown().await
        }
    }
}
