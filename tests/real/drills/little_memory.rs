//! The service may have little memory, and a company sends many large requests at once: reliability, "A client misbehaves".

use axum::body::Bytes;
use futures::future::join_all;
use reqwest::Client;
use serde_json::json;

use crate::support::World;
use crate::support::program::Service;
use crate::support::waiting::in_time;

/// What the service may allocate: a third of what the requests weigh.
const LIMIT_MIB: u32 = 256;
const REQUESTS: usize = 800;
/// The events of a request, which together are a little smaller than it may be.
const EVENTS: usize = 4;
const TEXT: usize = 240 * 1024;

#[tokio::test]
async fn with_little_memory_large_requests_are_refused_and_the_service_lives() {
    let world = World::new().await;
    let service = Service::start_with_memory(LIMIT_MIB, &[("database.url", world.database.as_str())]).await;
    let http = Client::builder().no_proxy().build().unwrap();
    let mut data = world.state.developers.catalogue.find("driver.online").unwrap().sample.clone();
    data.insert("meta".to_owned(), json!({ "text": "x".repeat(TEXT) }));
    let events: Vec<_> = (0..EVENTS).map(|_| json!({ "event": "driver.online", "data": data })).collect();
    let body = Bytes::from(json!({ "events": events }).to_string());
    let publish = async || {
        let request = http.post(format!("http://{}/developers/int/v1/events", service.address)).bearer_auth(&world.api_key);
        request.header("content-type", "application/json").body(body.clone()).send().await.map(|answer| answer.status().as_u16())
    };
    let answers = in_time("all are answered", join_all((0..REQUESTS).map(|_| publish()))).await;
    let alive = http.get(format!("http://{}/healthz", service.address)).send().await;
    assert!(alive.is_ok_and(|answer| answer.status() == 200), "{}", service.log());

    // A client that is refused while it still sends may see the connection closed instead.
    let with = |status: u16| answers.iter().filter(|answer| answer.as_ref().is_ok_and(|given| *given == status)).count();
    let (acknowledged, refused, unanswered) = (with(201), with(429) + with(503), answers.iter().filter(|answer| answer.is_err()).count());
    let counts = format!("{acknowledged} acknowledged, {refused} refused, {unanswered} without an answer, {} MiB", service.memory());
    assert!(acknowledged > 0 && refused > 0 && acknowledged + refused + unanswered == REQUESTS, "{counts}");
    assert!(service.memory() < u64::from(LIMIT_MIB), "{counts}");
    assert_eq!(world.count("select count(*) from events where name = 'driver.online'").await, (acknowledged * EVENTS) as i64, "{counts}");
}
