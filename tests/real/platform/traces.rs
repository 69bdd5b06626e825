//! Traces: decisions, section 9.

use chrono::TimeDelta;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use portico::app::Metrics;
use portico::kernel::traces::{self, Moment, TraceContext};
use reqwest::Method;
use serde_json::json;
use wiremock::ResponseTemplate;

use crate::support::World;
use crate::support::collector::{Collector, fact, is, named, the, traceparent};
use crate::support::customers::{EMAIL, PHONE, ask_to_register};
use crate::support::gateways::paid;
use crate::support::receiver::Reply;
use crate::support::sms::twilio;
use crate::support::smtp::SmtpSink;
use crate::support::waiting::in_time;

/// The trace and the span of a caller that records them.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn callers(flags: &str) -> String {
    format!("00-{TRACE}-{SPAN}-{flags}")
}

/// A world that tells a collector what it does.
async fn traced(collector: &Collector) -> World {
    World::with(&[("traces.endpoint", &collector.url())]).await
}

/// Everything that the worlds have told.
async fn told(collector: &Collector, worlds: &[&World]) -> Vec<Span> {
    for world in worlds {
        world.state.traces.stop().await;
    }
    collector.spans().await
}

#[track_caller]
fn hangs_below(child: &Span, parent: &Span) {
    assert_eq!((&child.trace_id, &child.parent_span_id), (&parent.trace_id, &parent.span_id), "{child:?} below {parent:?}");
    assert!(child.start_time_unix_nano >= parent.start_time_unix_nano && child.end_time_unix_nano >= child.start_time_unix_nano);
}

#[tokio::test]
async fn a_request_its_change_the_fan_out_and_every_attempt_are_one_trace_whichever_instance_makes_them() {
    let collector = Collector::start().await;
    let world = traced(&collector).await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let other = world.another_instance();
    // There are events about its tracking too.
    receiver.will([500, 500, 500].map(Reply::status));

    let created = world.api(Method::POST, "/fleet/int/v1/orders").header("traceparent", &callers("01"));
    let created = created.json(&json!({ "payload": { "pickup": "1 Mill Lane", "dropoff": "2 High Street" } })).send().await;
    let request_id = created.header("x-request-id").unwrap().to_owned();
    let order = created.ok(201)["order"].take();
    world.deliver().await;
    world.pass(TimeDelta::minutes(5));
    other.deliver().await;

    let spans = told(&collector, &[&world, &other]).await;
    let spans: Vec<_> = spans.into_iter().filter(|span| hex::encode(&span.trace_id) == TRACE).collect();
    let request = the(&spans, "POST /fleet/int/v1/orders");
    assert!(is(request, SpanKind::Server));
    assert_eq!(hex::encode(&request.parent_span_id), SPAN);
    assert_eq!(
        (fact(request, "http.route"), fact(request, "http.response.status_code")),
        (Some("/fleet/int/v1/orders".into()), Some("201".into()))
    );
    assert_eq!(fact(request, "portico.request.id"), Some(request_id));
    assert!(fact(request, "portico.key.id").unwrap().starts_with("key_"));
    let change = the(&spans, "change order");
    assert_eq!(fact(change, "portico.record.id"), order["id"].as_str().map(ToOwned::to_owned));
    hangs_below(change, request);
    let fan_out = the(&spans, "fan out order.created");
    assert!(is(fan_out, SpanKind::Consumer));
    hangs_below(fan_out, change);
    let attempts = named(&spans, "deliver order.created");
    let [first, second] = attempts[..] else { panic!("{attempts:?}") };
    for (number, attempt, status, code) in [(1, first, "500", StatusCode::Error), (2, second, "200", StatusCode::Unset)] {
        hangs_below(attempt, change);
        assert!(is(attempt, SpanKind::Client));
        assert_eq!(
            (fact(attempt, "portico.delivery.attempt"), fact(attempt, "http.response.status_code")),
            (Some(number.to_string()), Some(status.into()))
        );
        assert_eq!(attempt.status.as_ref().unwrap().code(), code);
        assert_eq!(fact(attempt, "portico.webhook.id"), webhook["id"].as_str().map(ToOwned::to_owned));
        assert_eq!(fact(attempt, "portico.event.id"), fact(fan_out, "portico.event.id"));
        assert_eq!(fact(attempt, "server.address").as_deref(), Some("shop.test"));
    }
    assert_eq!(second.start_time_unix_nano - first.start_time_unix_nano, 300_000_000_000);

    let posts: Vec<_> = receiver.received().into_iter().filter(|post| post.header("x-service-event") == "order.created").collect();
    assert_eq!(posts.iter().map(|post| post.header("traceparent")).collect::<Vec<_>>(), [traceparent(first), traceparent(second)]);
    assert_eq!(posts[0].body, posts[1].body);
    assert!(!String::from_utf8_lossy(&posts[0].body).contains(TRACE), "the envelope knows nothing of it");
    let logged = world.get(&format!("deliveries/{}", posts[0].header("x-service-delivery"))).await["delivery"].take();
    let sent = &logged["attempts"][0]["request_headers"]["traceparent"];
    assert_eq!(*sent, traceparent(first));
    assert_eq!(collector.services().await[0], "portico");
}

#[tokio::test]
async fn whatever_publishes_an_event_its_deliveries_are_part_of_the_same_trace() {
    let collector = Collector::start().await;
    let world = traced(&collector).await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    let gateway = world.card().await;
    world.call_back(&gateway, &paid("evt_1")).await.ok(200);
    let sample = &world.state.developers.catalogue.find("order.created").unwrap().sample;
    world.developers(Method::POST, "events", json!({ "event": "order.created", "data": sample })).await.ok(201);
    let code = world.creation_code("ada@example.com").await;
    world.open_account("ada@example.com", &code).await.ok(201);
    world.deliver().await;

    let spans = told(&collector, &[&world]).await;
    for (name, request) in [
        ("payment.succeeded", "POST /webhooks/{gateway}"),
        ("order.created", "POST /developers/int/v1/events"),
        ("customer.created", "POST /storefront/v1/customers"),
    ] {
        hangs_below(the(&spans, &format!("fan out {name}")), the(&spans, request));
        hangs_below(the(&spans, &format!("deliver {name}")), the(&spans, request));
    }
    let personal = spans.iter().find(|span| format!("{span:?}").contains("ada@example.com") || format!("{span:?}").contains("Ada"));
    assert_eq!(personal, None);
}

#[tokio::test]
async fn a_caller_names_its_trace_but_does_not_decide_that_it_is_recorded() {
    let collector = Collector::start().await;
    let world = traced(&collector).await;
    let ask = async |traceparent: &str| {
        let answer = world.api(Method::GET, "/fleet/int/v1/orders").header("traceparent", traceparent).send().await;
        answer.header("x-request-id").unwrap().to_owned()
    };
    ask(&callers("00")).await;
    let own = ask("00-what-ever-01").await;
    let spans = told(&collector, &[&world]).await;
    let span = the(&spans, "GET /fleet/int/v1/orders");
    assert_eq!((hex::encode(&span.trace_id), span.parent_span_id.len()), (own, 0), "the id of the request is that of its trace");

    let collector = Collector::start().await;
    let silent = World::with(&[("traces.endpoint", &collector.url()), ("traces.ratio", "0")]).await;
    silent.api(Method::GET, "/fleet/int/v1/orders").header("traceparent", &callers("01")).send().await.ok(200);
    assert_eq!(told(&collector, &[&silent]).await, []);
}

#[tokio::test]
async fn of_many_requests_as_many_are_recorded_as_the_ratio_says() {
    let collector = Collector::start().await;
    let world = World::with(&[("traces.endpoint", &collector.url()), ("traces.ratio", "0.5")]).await;
    for _ in 0..100 {
        world.request(Method::GET, "/problems").header("traceparent", &callers("01")).send().await.ok(200);
    }
    let spans = told(&collector, &[&world]).await;
    let recorded = spans.iter().filter(|span| hex::encode(&span.trace_id) == TRACE).count();
    // Five standard deviations to each side.
    assert!((25..=75).contains(&recorded), "{recorded}");
}

#[tokio::test]
async fn a_subscribers_own_header_stays() {
    let collector = Collector::start().await;
    let world = traced(&collector).await;
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "headers": { "Traceparent": callers("00") } })).await;
    world.order(json!({})).await;
    world.deliver().await;
    assert_eq!(receiver.received()[0].header("traceparent"), callers("00"));
    told(&collector, &[&world]).await;
}

#[tokio::test]
async fn providers_learn_the_span_of_their_part_and_nothing_without_the_setting() {
    let collector = Collector::start().await;
    let (provider, settings) = twilio::provider(twilio::accepted()).await;
    let (url, plain) = (collector.url(), settings.iter().map(|(key, value)| (*key, value.as_str())).collect::<Vec<_>>());
    let with_traces = [&plain[..], &[("traces.endpoint", url.as_str())]].concat();
    let ask_for_a_code = async |world: &World| {
        let body = json!({ "mode": "sms", "identity": PHONE });
        world.storefront("customers/request-creation-code").header("traceparent", &callers("01")).json(&body).send().await.ok(200);
    };

    let traced = World::with(&with_traces).await;
    ask_for_a_code(&traced).await;
    let spans = told(&collector, &[&traced]).await;
    let (request, text) = (the(&spans, "POST /storefront/v1/customers/request-creation-code"), the(&spans, "send a text"));
    hangs_below(text, request);
    assert_eq!(fact(text, "http.response.status_code").as_deref(), Some("201"));
    let asked = provider.received_requests().await.unwrap();
    assert_eq!(asked[0].headers["traceparent"], traceparent(text));
    assert!(!format!("{spans:?}").contains(&PHONE[1..]), "{spans:?}");

    ask_for_a_code(&World::with(&plain).await).await;
    let asked = provider.received_requests().await.unwrap();
    assert_eq!((asked.len(), asked[1].headers.get("traceparent")), (2, None));
}

#[tokio::test]
async fn a_mail_that_is_handed_over_is_part_of_the_trace_and_says_nothing_of_whom_it_goes_to() {
    let (collector, server) = (Collector::start().await, SmtpSink::start(false).await);
    let world = World::with(&[("traces.endpoint", &collector.url()), ("mail.smtp_url", &server.url())]).await;
    ask_to_register(&world, EMAIL).await.ok(200);
    server.refuse(true);
    ask_to_register(&world, "bob@example.com").await;

    let spans = told(&collector, &[&world]).await;
    let requests = named(&spans, "POST /storefront/v1/customers/request-creation-code");
    let mails = named(&spans, "send a mail");
    let [taken, refused] = mails[..] else { panic!("{mails:?}") };
    for (mail, code, why) in [(taken, StatusCode::Unset, ""), (refused, StatusCode::Error, "unreachable")] {
        hangs_below(mail, requests.iter().find(|request| request.trace_id == mail.trace_id).unwrap());
        assert!(is(mail, SpanKind::Client));
        assert_eq!(fact(mail, "server.address").as_deref(), Some("127.0.0.1"));
        let status = mail.status.as_ref().unwrap();
        assert_eq!((status.code(), status.message.as_str()), (code, why));
    }
    let personal = spans.iter().find(|span| [EMAIL, "bob@example.com"].iter().any(|person| format!("{span:?}").contains(person)));
    assert_eq!(personal, None);
}

#[tokio::test]
async fn a_collector_that_is_away_slow_or_full_costs_no_request_and_no_more_than_five_seconds_at_the_end() {
    let (slow, refusing) = (Collector::hanging().await, Collector::answering(ResponseTemplate::new(503)).await);
    for endpoint in [slow.url(), refusing.url(), "http://127.0.0.1:9/v1/traces".to_owned()] {
        let world = World::with(&[("traces.endpoint", &endpoint)]).await;
        let lost = |reason: &str| {
            let counted = Metrics::new(world.state.clone()).render();
            let series = format!("portico_trace_spans_lost_total{{reason=\"{reason}\"}} ");
            counted.lines().find_map(|line| line.strip_prefix(&series)).unwrap().parse::<u64>().unwrap()
        };
        let earlier = TraceContext::from_bytes(&[7; 24]).unwrap();
        // More than fit into the queue, as fast as one can.
        for number in 0..20_000 {
            drop(world.state.traces.following(
                earlier,
                traces::SpanKind::Internal,
                format!("span {number}"),
                Moment::now(world.clock.now()),
            ));
        }
        // Nobody has waited for a place: what found none is lost.
        assert!(lost("queue_full") > 0, "{endpoint}");
        world.request(Method::GET, "/problems").send().await.ok(200);
        // What waits is sixteen requests to the slow one, each of which takes five seconds to fail.
        in_time("the recording has ended", world.state.traces.stop()).await;
        assert!(lost("queue_full") + lost("not_taken") <= 20_001, "{endpoint}: {} and {}", lost("queue_full"), lost("not_taken"));
        world.request(Method::GET, "/problems").send().await.ok(200);
    }
}

#[tokio::test]
async fn the_collector_gets_the_headers_that_the_settings_say() {
    let collector = Collector::start().await;
    let headers = "Authorization: Bearer s3cret\nX-Scope: shop";
    let world = World::with(&[("traces.endpoint", &collector.url()), ("traces.headers", headers), ("traces.service", "hub")]).await;
    world.request(Method::GET, "/problems").send().await.ok(200);
    told(&collector, &[&world]).await;
    assert_eq!(
        (collector.headers("authorization").await, collector.headers("x-scope").await),
        (vec!["Bearer s3cret".to_owned()], vec!["shop".to_owned()])
    );
    assert_eq!(collector.services().await, ["hub"]);
}
