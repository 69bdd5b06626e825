//! One address opens as many connections as it can: reliability, "A client misbehaves".

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::Method;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::support::World;

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
    for _ in 0..20 {
        let answer = timeout(Duration::from_secs(2), world.request(Method::GET, "/healthz").send());
        answer.await.expect("the answer comes at once").ok(200);
    }
}

#[tokio::test]
async fn ten_thousand_connections_of_one_address_keep_nobody_else_out() {
    let world = World::new().await;
    let crowd = crowd(world.address, 10_000).await;
    others_are_answered(&world).await;
    drop(crowd);
}

#[tokio::test]
async fn silent_readers_of_one_address_do_not_take_all_places() {
    let world = World::with(&[("http.max_connections", "24")]).await;
    let crowd = crowd(world.address, 24).await;
    others_are_answered(&world).await;
    drop(crowd);
}
