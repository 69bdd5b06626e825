//! How the listener closes, so that no client is lost that the system has connected: what such a client has sent may not be repeated.
//!
//! The system connects clients by itself, and resets those that nobody has accepted when their listener closes. So first it is told to
//! connect no further ones, then all that it has connected are accepted, and only then the listener closes.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use crate::kernel::http_server::is_of_one_connection;

/// The time in which the system connects the clients that had begun to connect: a few round trips of a proxy.
pub const HANDSHAKES: Duration = Duration::from_millis(100);
/// The maximum number of clients that are accepted at last: as many as Linux keeps waiting by default.
const BACKLOG: usize = 4_096;

/// Tells the system to ignore who begins to connect. After a second such a client tries again, and is refused then; those in between are
/// connected as before. Where the system has no such filters, nothing changes.
#[cfg(target_os = "linux")]
pub fn connect_no_further_ones(listener: &TcpListener) {
    use socket2::{SockFilter, SockRef};

    /// Where a TCP header has its flags, from whose beginning a filter counts.
    const FLAGS: u32 = 13;
    /// The flag of a segment that opens a connection.
    const SYN: u32 = 0x02;
    // A socket gets as many bytes of a segment as the filter returns.
    let filter = [
        SockFilter::new((libc::BPF_LD | libc::BPF_B | libc::BPF_ABS) as u16, 0, 0, FLAGS),
        SockFilter::new((libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16, 0, 1, SYN),
        SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, 0),
        SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, u32::MAX),
    ];
    if let Err(error) = SockRef::from(listener).attach_filter(&filter) {
        tracing::debug!(%error, "the system goes on to connect clients until the listener closes");
    }
}

#[cfg(not(target_os = "linux"))]
pub fn connect_no_further_ones(_: &TcpListener) {}

/// Closes the listener. Returns the clients that the system has connected and nobody has accepted.
pub fn connected_already(listener: TcpListener) -> io::Result<Vec<(TcpStream, SocketAddr)>> {
    let (listener, mut connected) = (listener.into_std()?, Vec::new());
    // As many as a listener keeps waiting; a client that is refused and comes again holds nobody up.
    for _ in 0..BACKLOG {
        match listener.accept() {
            Ok((stream, client)) => {
                stream.set_nonblocking(true)?;
                connected.push((TcpStream::from_std(stream)?, client));
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(_) => break,
        }
    }
    Ok(connected)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn nobody_connects_any_more_when_those_are_accepted_who_have() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let early = TcpStream::connect(address).unwrap();
        connect_no_further_ones(&listener);
        let late = TcpStream::connect_timeout(&address, Duration::from_millis(50));
        assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
        let clients: Vec<_> = connected_already(listener).unwrap().iter().map(|(_, client)| *client).collect();
        assert_eq!(clients, [early.local_addr().unwrap()]);
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}
