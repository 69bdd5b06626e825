//! A subscriber's endpoint: hand-written HTTPS, so that it can misbehave in every way.

use std::collections::{BTreeSet, VecDeque};
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName};
use chrono::{DateTime, TimeDelta, Utc};
use portico::dev::authority::{Authority, VALIDITY};
use portico::dev::temporary::TemporaryDirectory;
use portico::kernel::clock::Clock;
use portico::kernel::lifecycle::Lifecycle;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::support::waiting::in_time;

/// How an endpoint responds to one POST.
#[derive(Clone, Debug)]
pub enum Reply {
    /// With a status, headers and a body.
    Answer(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Not at all; the connection stays open.
    Silence,
    /// With 200, once the token is cancelled.
    When(CancellationToken),
    /// With this status and a valid beginning, then single bytes at intervals forever.
    Trickle(u16),
    /// With single bytes of the headers at intervals forever.
    TrickleEarly,
    /// By closing the connection.
    Close,
    /// With this status and `Retry-After: 1800`, and by closing the connection in the middle of the body.
    BreakOff(u16),
    /// By closing the connection in the middle of a header.
    BreakOffEarly,
    /// With something that is not HTTP.
    Nonsense,
    /// With these bytes, and by closing the connection.
    Bytes(&'static [u8]),
    /// With an endless body, as fast as it is read.
    Flood,
    /// With this number of interim responses before a 200; endlessly if there is no number.
    Interim(Option<usize>),
}

impl Reply {
    pub fn status(status: u16) -> Self {
        Self::Answer(status, Vec::new(), Vec::new())
    }

    pub fn with(status: u16, name: &'static str, value: &str) -> Self {
        Self::Answer(status, vec![(name, value.to_owned())], Vec::new())
    }
}

/// A POST as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    pub head: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Received {
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }
}

/// An endpoint on loopback, on its own port.
#[derive(Debug)]
pub struct Receiver {
    name: String,
    port: u16,
    received: watch::Receiver<Vec<Received>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
}

/// How a connection begins.
enum Beginning {
    Tls(TlsAcceptor),
    /// Not with TLS: the endpoint says this.
    Says(&'static [u8]),
}

/// What an endpoint does with the connection after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Close,
    KeepOpen,
}

/// The certificate authority of all endpoints.
pub fn authority() -> &'static Authority {
    static AUTHORITY: OnceLock<(TemporaryDirectory, Authority)> = OnceLock::new();
    let (_, authority) = AUTHORITY.get_or_init(|| {
        let directory = TemporaryDirectory::make("portico-it-authority").unwrap();
        let authority = Authority::open(directory.path()).unwrap();
        (directory, authority)
    });
    authority
}

impl Receiver {
    /// An endpoint named `name`, with a certificate for `certified`; without TLS if that is `None`.
    pub async fn start(name: &str, certified: Option<&str>) -> Self {
        let beginning = certified.map_or(Beginning::Says(b"220 mail.example ready\r\n"), |name| Beginning::Tls(acceptor(name, &[])));
        Self::open(name, beginning, Then::Close).await
    }

    /// An endpoint whose certificate expired years ago.
    pub async fn start_expired(name: &str) -> Self {
        Self::open(
            name,
            Beginning::Tls(accepting(certified(authority(), name, &[], DateTime::UNIX_EPOCH + TimeDelta::days(10_000)))),
            Then::Close,
        )
        .await
    }

    /// An endpoint whose certificate is from an authority with the name of the trusted one, but with another key.
    pub async fn start_from_namesake(name: &str) -> Self {
        let directory = TemporaryDirectory::make("portico-it-namesake").unwrap();
        let namesake = Authority::open(directory.path()).unwrap();
        Self::open(name, Beginning::Tls(accepting(certified(&namesake, name, &[], Clock::System.now()))), Then::Close).await
    }

    /// An endpoint that refuses the versions of TLS that it is offered.
    pub async fn start_too_old(name: &str) -> Self {
        // A fatal alert of TLS 1.0: protocol_version.
        Self::open(name, Beginning::Says(&[21, 3, 1, 0, 2, 2, 70]), Then::Close).await
    }

    /// An endpoint that wants a certificate of its client, with this version of TLS and these ALPN protocols.
    pub async fn start_wanting_certificate(name: &str, version: &'static rustls::SupportedProtocolVersion, protocols: &[&[u8]]) -> Self {
        let (chain, key) = identity(authority(), name, Clock::System.now());
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(authority().certificate_path()).unwrap()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider()).build().unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[version]).unwrap();
        let mut config = config.with_client_cert_verifier(verifier).with_single_cert(chain, key).unwrap();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Self::open(name, Beginning::Tls(accepting(config)), Then::Close).await
    }

    /// An endpoint whose certificate ends after this time of the system clock.
    pub async fn start_certified_for(name: &str, left: TimeDelta) -> Self {
        let issued_at = Clock::System.now() + left - VALIDITY;
        Self::open(name, Beginning::Tls(accepting(certified(authority(), name, &[], issued_at))), Then::Close).await
    }

    /// An endpoint that accepts many POSTs on one connection.
    pub async fn start_for_many(name: &str) -> Self {
        Self::open(name, Beginning::Tls(acceptor(name, &[])), Then::KeepOpen).await
    }

    async fn open(name: &str, beginning: Beginning, then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (arrived, received) = watch::channel(Vec::new());
        let replies = Arc::new(Mutex::new(VecDeque::new()));
        let endpoint = Arc::new(Endpoint { arrived, replies: Arc::clone(&replies), beginning, then });
        let tasks = Lifecycle::default();
        tasks.clone().spawn(async move {
            loop {
                let (stream, _): (TcpStream, SocketAddr) = listener.accept().await.unwrap();
                let endpoint = Arc::clone(&endpoint);
                tasks.spawn(async move {
                    // Clients that abort are part of the story.
                    let _ = endpoint.accept(stream).await;
                });
            }
        });
        Self { name: name.to_owned(), port, received, replies }
    }

    pub fn url(&self) -> String {
        format!("https://{}:{}/hooks", self.name, self.port)
    }

    /// Sets the responses to the next POSTs, one each; later POSTs get 200 again.
    pub fn will(&self, replies: impl IntoIterator<Item = Reply>) {
        self.replies.lock().unwrap().extend(replies);
    }

    /// All POSTs that arrived.
    pub fn received(&self) -> Vec<Received> {
        self.received.borrow().clone()
    }

    /// A header of each POST that arrived, in order.
    pub fn headers(&self, name: &str) -> Vec<String> {
        self.received().iter().map(|post| post.header(name).to_owned()).collect()
    }

    /// The number of POSTs that arrived.
    pub fn count(&self) -> usize {
        self.received.borrow().len()
    }

    /// The only POST that arrived.
    #[track_caller]
    pub fn only(&self) -> Received {
        let [received] = self.received().try_into().expect("exactly one POST arrived");
        received
    }

    /// Waits until `count` POSTs have arrived.
    pub async fn waits_for(&self, count: usize) {
        self.waits_until(|received| received.len() >= count).await;
    }

    /// Waits until the POSTs that have arrived satisfy `enough`.
    pub async fn waits_until(&self, enough: impl Fn(&[Received]) -> bool) {
        let mut received = self.received.clone();
        let arriving = async { drop(received.wait_for(|received| enough(received)).await) };
        in_time(&format!("the expected POSTs have arrived at {}", self.name), arriving).await;
    }
}

/// The ids of the events that were posted.
pub fn event_ids(posts: &[Received]) -> BTreeSet<String> {
    posts.iter().map(|post| post.header("webhook-id").to_owned()).collect()
}

/// A TLS acceptor with a certificate for `name` and these ALPN protocols.
pub fn acceptor(name: &str, protocols: &[&[u8]]) -> TlsAcceptor {
    accepting(server_config(name, protocols))
}

/// The same configuration, for servers with their own acceptor.
pub fn server_config(name: &str, protocols: &[&[u8]]) -> rustls::ServerConfig {
    // TLS clients use the system clock, whatever the time of the story.
    certified(authority(), name, protocols, Clock::System.now())
}

fn accepting(config: rustls::ServerConfig) -> TlsAcceptor {
    TlsAcceptor::from(Arc::new(config))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// A certificate of `authority` for `name`, and its key.
fn identity(authority: &Authority, name: &str, issued_at: DateTime<Utc>) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let issued = authority.issue(&[name], issued_at).unwrap();
    let chain = CertificateDer::pem_slice_iter(issued.chain_pem.as_bytes()).collect::<Result<_, _>>().unwrap();
    (chain, PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap())
}

fn certified(authority: &Authority, name: &str, protocols: &[&[u8]], issued_at: DateTime<Utc>) -> rustls::ServerConfig {
    let (chain, key) = identity(authority, name, issued_at);
    let config = rustls::ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    config
}

struct Endpoint {
    arrived: watch::Sender<Vec<Received>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    beginning: Beginning,
    then: Then,
}

impl Endpoint {
    async fn accept(&self, mut stream: TcpStream) -> io::Result<()> {
        match &self.beginning {
            Beginning::Tls(tls) => self.serve(tls.accept(stream).await?).await,
            Beginning::Says(words) => {
                stream.write_all(words).await?;
                stream.shutdown().await?;
                // Closed with something unread, the connection would be reset.
                stream.read_to_end(&mut Vec::new()).await.map(drop)
            }
        }
    }

    async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        if self.then == Then::KeepOpen {
            loop {
                let received = read(&mut stream).await?;
                self.arrived.send_modify(|all| all.push(received));
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
                stream.flush().await?;
            }
        }
        let received = read(&mut stream).await?;
        let reply = self.replies.lock().unwrap().pop_front().unwrap_or(Reply::status(200));
        self.arrived.send_modify(|all| all.push(received));
        match reply {
            Reply::Answer(status, headers, body) => {
                let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                let length = body.len();
                let head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n");
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(&body).await?;
            }
            Reply::Silence => pending().await,
            Reply::When(released) => {
                released.cancelled().await;
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await?;
            }
            Reply::Trickle(status) => {
                trickle(&mut stream, format!("HTTP/1.1 {status} Said\r\ncontent-length: 1000\r\n\r\n").as_bytes()).await?;
            }
            Reply::TrickleEarly => trickle(&mut stream, b"HTTP/1.1 200 OK\r\nx-slow: ").await?,
            Reply::Close => return Ok(()),
            Reply::BreakOff(status) => {
                let head = format!("HTTP/1.1 {status} Said\r\nretry-after: 1800\r\ncontent-length: 1000\r\n\r\nhalf");
                stream.write_all(head.as_bytes()).await?;
            }
            Reply::BreakOffEarly => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-le").await?,
            Reply::Flood => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n").await?;
                loop {
                    stream.write_all(&[b'x'; 65_536]).await?;
                }
            }
            Reply::Interim(count) => {
                for _ in 0..count.unwrap_or(usize::MAX) {
                    stream.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n").await?;
                    stream.flush().await?;
                }
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await?;
            }
            Reply::Nonsense => stream.write_all(b"220 mail.example ready\r\n").await?,
            Reply::Bytes(bytes) => stream.write_all(bytes).await?,
        }
        stream.shutdown().await
    }
}

/// A valid beginning, then single bytes at intervals forever.
async fn trickle(stream: &mut (impl AsyncWrite + Unpin), beginning: &[u8]) -> io::Result<()> {
    stream.write_all(beginning).await?;
    loop {
        stream.write_all(b".").await?;
        stream.flush().await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Reads a POST.
pub async fn read(stream: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Received> {
    let (mut head, mut headers) = (String::new(), HeaderMap::new());
    if stream.read_line(&mut head).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    let length = headers.get("content-length").map_or(0, |length| length.to_str().unwrap().parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Received { head: head.trim_end().to_owned(), headers, body })
}
