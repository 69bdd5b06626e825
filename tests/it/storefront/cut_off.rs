//! Requests that are cut off while a message is being sent.

use portico::app::Metrics;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::support::World;
use crate::support::customers::PHONE;
use crate::support::held_answers::HeldAnswers;
use crate::support::sms::twilio;
use crate::support::waiting::until;

#[tokio::test]
async fn a_text_whose_request_was_cut_off_is_sent_all_the_same_and_its_code_is_right() {
    let answered = CancellationToken::new();
    let provider = HeldAnswers::start(&answered, 201, &json!({ "sid": twilio::sid(PHONE), "status": "queued", "error_code": null })).await;
    let (_, mut settings) = twilio::provider(twilio::accepted()).await;
    settings.extend([("sms.twilio.base_url", provider.url()), ("sms.twilio.timeout", "10m".to_owned())]);
    let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let world = World::with(&settings).await;
    let body = json!({ "mode": "sms", "identity": PHONE }).to_string();
    let request = format!(
        "POST /storefront/v1/customers/request-creation-code HTTP/1.1\r\nHost: shop.test\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        world.store_key,
        body.len(),
    );
    let mut connection = TcpStream::connect(world.address).await.unwrap();
    connection.write_all(request.as_bytes()).await.unwrap();
    provider.is_asked(1).await;
    drop(connection);
    // No answer has this status: it is that of a request whose client has gone.
    until("the request is cut off", async || Metrics::new(world.state.clone()).render().contains("status=\"499\"")).await;
    answered.cancel();
    until("the text is in the mailbox", async || world.messages().len() == 1).await;
    assert_eq!(world.count("select count(*) from texts where status = 'sent'").await, 1);
    world.open_account(PHONE, &world.last_code()).await.ok(201);
    assert_eq!(world.count("select count(*) from texts where used_at is not null").await, 1);
}
