//! A proxy in front of PostgreSQL that misbehaves as networks and virtual machines do.

use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use portico::kernel::lifecycle::Lifecycle;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::time::sleep;

/// Passes connections to the server at a Unix socket.
pub struct Proxy {
    /// The number of times that what was established has been swallowed.
    swallowed: watch::Sender<u32>,
    /// How much later than the server the proxy answers.
    delay: watch::Sender<Duration>,
}

impl Proxy {
    /// A proxy of the server of this database URL, and the URL of the database behind it. It runs in a thread of its own until the tests
    /// end, because a story's last look at its database blocks the story's runtime.
    pub fn of(database: &str) -> (Self, String) {
        let mut url = url::Url::parse(database).unwrap();
        let directory = percent_decode(url.host_str().unwrap());
        let socket = PathBuf::from(directory).join(format!(".s.PGSQL.{}", url.port().unwrap_or(5432)));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let proxy = Self { swallowed: watch::Sender::new(0), delay: watch::Sender::new(Duration::ZERO) };
        let (swallowed, delay) = (proxy.swallowed.clone(), proxy.delay.clone());
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(serve(listener, socket, swallowed, delay));
        });
        (proxy, url.into())
    }

    /// From now on, whatever is sent on the connections that are open is lost, in both directions, and none of them is closed. New
    /// connections work.
    pub fn swallow_established(&self) {
        self.swallowed.send_modify(|times| *times += 1);
    }

    /// From now on, what the server says arrives this much later.
    pub fn delay_answers(&self, time: Duration) {
        self.delay.send_replace(time);
    }
}

async fn serve(listener: std::net::TcpListener, socket: PathBuf, swallowed: watch::Sender<u32>, delay: watch::Sender<Duration>) {
    let (listener, tasks) = (TcpListener::from_std(listener).unwrap(), Lifecycle::default());
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let server = UnixStream::connect(&socket).await.unwrap();
        tasks.spawn(pass(client, server, swallowed.subscribe(), delay.subscribe()));
    }
}

async fn pass(mut client: TcpStream, mut server: UnixStream, mut swallowed: watch::Receiver<u32>, delay: watch::Receiver<Duration>) {
    swallowed.mark_unchanged();
    let (mut requests, mut to_client) = client.split();
    let (mut answers, mut to_server) = server.split();
    tokio::select! {
        // Whoever of the two closes the connection closes it for both.
        _ = copy(&mut requests, &mut to_server) => {}
        _ = copy_late(&mut answers, &mut to_client, &delay) => {}
        _ = swallowed.changed() => swallow(client).await,
    }
    // The server must not see that its client is gone.
    drop(server);
}

async fn copy_late(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    delay: &watch::Receiver<Duration>,
) -> io::Result<()> {
    let mut passed = [0; 16 * 1024];
    loop {
        let read = from.read(&mut passed).await?;
        let time = *delay.borrow();
        if !time.is_zero() {
            sleep(time).await;
        }
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&passed[..read]).await?;
    }
}

/// Reads until the client closes the connection.
async fn swallow(mut client: impl AsyncRead + Unpin) {
    let mut lost = [0; 4096];
    while client.read(&mut lost).await.is_ok_and(|read| read > 0) {}
    std::future::pending().await
}

/// The path of a socket's directory, as a database URL has it.
pub fn percent_decode(text: &str) -> String {
    url::form_urlencoded::parse(format!("host={}", text.replace('+', "%2B")).as_bytes()).next().unwrap().1.into_owned()
}
