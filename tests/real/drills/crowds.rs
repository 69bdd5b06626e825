//! One address opens as many connections as it can: reliability, "A client misbehaves".

use std::io::{ErrorKind, Read};
use std::net::SocketAddr;

use reqwest::Method;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

use crate::support::World;
use crate::support::waiting::in_time;

/// A crowd does not leave by itself.
const PATIENT: [(&str, &str); 2] = [("http.header_timeout", "10m"), ("http.write_timeout", "10m")];

/// What the connections of the crowd begin with: nothing, requests whose answers nobody reads, and a body that never ends.
fn beginnings() -> [Vec<u8>; 3] {
    let pipelined = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(50);
    let body = "POST /storefront/v1/customers/login HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n";
    [Vec::new(), pipelined.into(), body.into()]
}

/// Opens connections from an address that is no trusted proxy, and reads nothing. Those that the service closes stay in the list.
async fn crowd(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let (beginnings, mut crowd) = (beginnings(), Vec::new());
    for number in 0..count {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let mut connection = socket.connect(address).await.unwrap();
        // A connection that is closed already takes nothing.
        _ = connection.write_all(&beginnings[number % beginnings.len()]).await;
        crowd.push(connection);
    }
    crowd
}

async fn others_are_answered(world: &World) {
    let answers = async {
        for _ in 0..20 {
            world.request(Method::GET, "/healthz").send().await.ok(200);
        }
    };
    in_time("others are answered", answers).await;
}

/// How many of the crowd were let in: they wait, or something was said to them. When somebody who came later is answered, the service has
/// closed the others.
fn let_in(crowd: Vec<TcpStream>) -> usize {
    let is_open = |connection: TcpStream| match connection.into_std().unwrap().read(&mut [0; 1]) {
        Ok(read) => read > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    };
    crowd.into_iter().map(is_open).filter(|is_open| *is_open).count()
}

#[tokio::test]
async fn ten_thousand_connections_of_one_address_keep_nobody_else_out() {
    let world = World::with(&PATIENT).await;
    let crowd = crowd(world.address, 10_000).await;
    others_are_answered(&world).await;
    // At most a thousand at a time, of which a third may have been answered and have left.
    let let_in = let_in(crowd);
    assert!((1_000..2_000).contains(&let_in), "{let_in}");
}

#[tokio::test]
async fn silent_readers_of_one_address_do_not_take_all_places() {
    let world = World::with(&[&PATIENT[..], &[("http.max_connections", "24")]].concat()).await;
    let crowd = crowd(world.address, 24).await;
    others_are_answered(&world).await;
    let let_in = let_in(crowd);
    assert!((12..24).contains(&let_in), "{let_in}");
}
