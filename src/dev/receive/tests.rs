//! Tests of the receiver over TLS, from the certificate to the response.

use std::fs;
use std::sync::mpsc;

use super::*;
use crate::dev::temporary::TemporaryDirectory;
use crate::kernel::clock::Clock;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The real time, because the TLS client compares the certificate with the system clock.
fn now() -> DateTime<Utc> {
    Clock::System.now()
}

fn client(authority: &Authority) -> reqwest::Client {
    let pem = fs::read(authority.certificate_path()).unwrap();
    let certificate = reqwest::Certificate::from_pem(&pem).unwrap();
    reqwest::Client::builder().no_proxy().tls_certs_only([certificate]).build().unwrap()
}

#[tokio::test]
async fn a_delivery_is_shown_and_answered_until_the_receiver_is_stopped() {
    let directory = TemporaryDirectory::make("portico-receive").unwrap();
    let authority = Authority::open(directory.path()).unwrap();
    let (show, shown) = mpsc::channel();
    let desk = Desk {
        secrets: vec![SECRET.parse().unwrap()],
        answer: StatusCode::ACCEPTED,
        now: Box::new(now),
        show: Box::new(move |delivery| show.send(delivery).unwrap()),
    };
    let receiver = Receiver::bind(0, &authority, desk).unwrap();
    let port = receiver.address().port();
    let stop = CancellationToken::new();
    #[expect(clippy::disallowed_methods, reason = "it is stopped and awaited below")]
    let running = tokio::spawn(receiver.run(stop.clone()));
    let client = client(&authority);
    let post = |url: String, signature: &'static str, body: Vec<u8>| {
        let request = client.post(url).header(SERVICE_SIGNATURE, signature).body(body);
        async move { request.send().await.unwrap().status() }
    };

    let genuine = "sha256=bce1a9e5da3e16e29e226ee87e0b8f91740ed2155abc000122f72b3b5102ee6a";
    let body = br#"{"event":"order.created"}"#;
    assert_eq!(post(format!("https://localhost:{port}/any/path"), genuine, body.to_vec()).await, StatusCode::ACCEPTED);
    let delivery = shown.try_recv().unwrap();
    assert_eq!(delivery.verdicts.service, Verdict::Verified);
    assert_eq!(&delivery.body[..], body);

    assert_eq!(post(format!("https://127.0.0.1:{port}/"), genuine, b"{}".to_vec()).await, StatusCode::UNAUTHORIZED);
    assert_eq!(shown.try_recv().unwrap().verdicts.service, Verdict::Wrong);

    let too_large = vec![b' '; 1024 * 1024 + 1];
    assert_eq!(post(format!("https://127.0.0.1:{port}/"), genuine, too_large).await, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(shown.try_recv().is_err());

    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_receiver_that_was_stopped_before_it_ran_ends_at_once() {
    let directory = TemporaryDirectory::make("portico-receive").unwrap();
    let authority = Authority::open(directory.path()).unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    let arguments = Arguments { port: 0, secrets: Vec::new(), answer: StatusCode::OK };
    run(arguments, &authority, now, stop).await.unwrap();
}

#[test]
fn the_response_status_must_be_final() {
    assert_eq!(final_status("503"), Ok(StatusCode::SERVICE_UNAVAILABLE));
    for text in ["100", "600", "ok", ""] {
        assert!(final_status(text).is_err(), "{text}");
    }
}
