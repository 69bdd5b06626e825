//! A proxy in front of PostgreSQL that misbehaves as networks and virtual machines do.

use std::path::PathBuf;
use std::thread;

use portico::kernel::lifecycle::Lifecycle;
use tokio::io::{AsyncRead, AsyncReadExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// Passes connections to the server at a Unix socket.
pub struct Proxy {
    /// The number of times that what was established has been swallowed.
    swallowed: watch::Sender<u32>,
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
        let proxy = Self { swallowed: watch::Sender::new(0) };
        let swallowed = proxy.swallowed.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(serve(listener, socket, swallowed));
        });
        (proxy, url.into())
    }

    /// From now on, whatever is sent on the connections that are open is lost, in both directions, and none of them is closed. New
    /// connections work.
    pub fn swallow_established(&self) {
        self.swallowed.send_modify(|times| *times += 1);
    }
}

async fn serve(listener: std::net::TcpListener, socket: PathBuf, swallowed: watch::Sender<u32>) {
    let (listener, tasks) = (TcpListener::from_std(listener).unwrap(), Lifecycle::default());
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let server = UnixStream::connect(&socket).await.unwrap();
        tasks.spawn(pass(client, server, swallowed.subscribe()));
    }
}

async fn pass(mut client: TcpStream, mut server: UnixStream, mut swallowed: watch::Receiver<u32>) {
    swallowed.mark_unchanged();
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = swallowed.changed() => swallow(client).await,
    }
    // The server must not see that its client is gone.
    drop(server);
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
