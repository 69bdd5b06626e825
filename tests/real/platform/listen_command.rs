//! `portico listen`: a developer's machine receives what an endpoint would receive.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdout};
use tokio::sync::Notify;

use crate::support::World;
use crate::support::program::portico;
use crate::support::waiting::in_time;

/// The program, as a developer starts it.
struct Listening {
    program: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Listening {
    fn start(world: &World, forward: &str, more: &[&str]) -> Self {
        world.fan_out_by_itself();
        let mut program = portico(&[&["listen", "--forward", forward], more].concat(), &[])
            .env("PORTICO_URL", format!("http://{}", world.address))
            .env("PORTICO_API_KEY", &world.api_key)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(program.stdout.take().unwrap()).lines();
        Self { program, lines }
    }

    async fn line(&mut self) -> String {
        in_time("the program prints a line", self.lines.next_line()).await.unwrap().expect("the program is still running")
    }
}

#[tokio::test]
async fn portico_listen_forwards_like_the_real_thing_and_prints_the_answers() {
    let world = World::new().await;
    let start = world.publish("driver.online").await.to_string();
    let (endpoint, _) = world.subscriber("shop.test").await;
    let server = wiremock::MockServer::start().await;
    let answer = wiremock::ResponseTemplate::new(202).set_body_string("{\"taken\":\n\u{1b}[2Jtrue}");
    wiremock::Mock::given(wiremock::matchers::path("/hook")).respond_with(answer).mount(&server).await;
    let mut listening = Listening::start(&world, &format!("{}/hook", server.uri()), &["--after", &start, "--events", "order.*"]);
    let greeting = listening.line().await;
    let secret = greeting.rsplit(' ').next().unwrap().to_owned();

    world.publish("driver.online").await;
    let event = world.publish("order.created").await;
    world.deliver().await;
    let line = listening.line().await;
    assert!(line.contains(&format!("order.created  {event}  202 Accepted in ")), "{line}");
    assert!(line.ends_with(" ms  {\"taken\":  [2Jtrue}"), "{line}");

    let forwarded = &server.received_requests().await.unwrap()[0];
    standardwebhooks::Webhook::new(&secret).unwrap().verify(&forwarded.body, &forwarded.headers).unwrap();
    let delivered = endpoint.received().into_iter().find(|post| post.header("x-service-event") == "order.created").unwrap();
    assert_eq!(delivered.body, forwarded.body);
    let ours = |headers: &reqwest::header::HeaderMap| {
        let of_the_connection = ["host", "accept", "content-length"];
        let mut names: Vec<_> = headers.keys().map(|name| name.to_string()).filter(|name| !of_the_connection.contains(&&**name)).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(ours(&forwarded.headers), ours(&delivered.headers));
    for name in ["content-type", "user-agent", "x-service-event", "x-service-attempt", "webhook-id"] {
        assert_eq!(forwarded.headers[name], delivered.header(name), "{name}");
    }
    let sent_at = DateTime::<Utc>::from_timestamp(forwarded.headers["webhook-timestamp"].to_str().unwrap().parse().unwrap(), 0);
    assert!(sent_at.is_some());
}

/// A TCP proxy to the service whose connections can be cut.
async fn way_to(service: SocketAddr) -> (SocketAddr, Arc<Notify>) {
    let (listener, cut) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), Arc::<Notify>::default());
    let (address, scissors) = (listener.local_addr().unwrap(), cut.clone());
    #[expect(clippy::disallowed_methods, reason = "it ends with the runtime of the test")]
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut service = TcpStream::connect(service).await.unwrap();
            tokio::select! {
                _ = tokio::io::copy_bidirectional(&mut client, &mut service) => {}
                () = scissors.notified() => {}
            }
        }
    });
    (address, cut)
}

#[tokio::test]
async fn portico_listen_resumes_at_its_position() {
    let world = World::new().await;
    let start = world.publish("driver.online").await.to_string();
    let (way, cut) = way_to(world.address).await;
    let (secret, from) = ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", format!("http://{way}"));
    let more = ["--after", &start, "--secret", secret, "--from", &from];
    let mut listening = Listening::start(&world, "http://127.0.0.1:9/hook", &more);
    assert!(listening.line().await.ends_with(&format!("signed with {secret}")));
    let mut events = vec![world.publish("order.created").await];
    let line = listening.line().await;
    assert!(line.contains(&format!("order.created  {}  ", events[0])), "a line for an answer that never came: {line}");
    cut.notify_one();
    for event in ["order.updated", "order.dispatched"] {
        events.push(world.publish(event).await);
    }
    for event in &events[1..] {
        let line = listening.line().await;
        assert!(line.contains(&event.to_string()), "{line}");
    }
}

#[tokio::test]
async fn portico_listen_ends_when_it_is_refused() {
    let mut world = World::new().await;
    world.api_key = format!("key_{}", "0".repeat(40));
    let listening = Listening::start(&world, "http://127.0.0.1:9/hook", &[]);
    let output = in_time("the program ends", listening.program.wait_with_output()).await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("401") && said.contains("API key"), "{said}");
}
