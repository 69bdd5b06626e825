//! Metrics: `GET /metrics`, what it says, and what it says of nobody (operating, "Metrics").

use std::collections::BTreeSet;
use std::net::TcpListener;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use chrono::TimeDelta;
use portico::app::{AdminListener, Metrics};
use portico::config::Config;
use portico::kernel::metrics::Description;
use reqwest::Method;
use serde_json::json;
use tower::ServiceExt;

use crate::support::World;
use crate::support::customers::{EMAIL, PHONE, ask_to_register, registered, token, wrong};
use crate::support::gateways::event;
use crate::support::own_postgres::OwnPostgres;
use crate::support::program::Service;
use crate::support::receiver::Reply;
use crate::support::waiting::in_time;

const GUIDE: &str = include_str!("../../../docs/operating.md");

/// The most series that a service with all its routes, statements and buckets has.
const MOST_SERIES: usize = 20_000;

/// What `GET /metrics` of an instance says.
struct Scrape(String);

impl Scrape {
    /// Asks for the metrics. The figures of the database are new ones, for which it has two seconds: a busy one is asked again.
    async fn of(world: &World) -> Self {
        let told = async {
            loop {
                let scrape = Self::at_once(world).await;
                if scrape.value("portico_database_up") == Some(1.0) {
                    return scrape;
                }
            }
        };
        in_time("the database tells its figures", told).await
    }

    /// Asks for the metrics once, whether the database tells its figures or not.
    async fn at_once(world: &World) -> Self {
        let request = Request::get("/metrics").body(Body::empty()).unwrap();
        let response = Metrics::new(world.state.clone()).router().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert!(response.headers()[header::CONTENT_TYPE].to_str().unwrap().starts_with("application/openmetrics-text"));
        let text = String::from_utf8(to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap();
        assert!(text.ends_with("# EOF\n"), "{text}");
        Self(text)
    }

    /// The series, without their values.
    fn series(&self) -> impl Iterator<Item = &str> {
        self.0.lines().filter(|line| !line.starts_with('#')).filter_map(|line| Some(line.rsplit_once(' ')?.0))
    }

    /// The value of a series; `None` if it is absent.
    fn value(&self, series: &str) -> Option<f64> {
        let line = self.0.lines().find(|line| line.rsplit_once(' ').is_some_and(|(name, _)| name == series))?;
        line.rsplit_once(' ')?.1.parse().ok()
    }
}

/// A world in which something of everything has happened.
async fn eventful() -> World {
    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    world.verify(PHONE, wrong(&code)).await.refused(422, "code_invalid");
    let login = world.verify(PHONE, code).await.ok(200);
    world.storefront_get("customers/me").token(&token(&login)).send().await.ok(200);
    world.storefront("customers/login").json(&json!({ "identity": EMAIL, "password": "a wrong one" })).send().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let provider = json!({ "name": "own-id", "issuers": ["own"], "audiences": ["shop"], "jwks_url": receiver.url() });
    world.api(Method::POST, "/storefront/int/v1/identity-providers").json(&provider).send().await.ok(201);
    let login = json!({ "idToken": "none" });
    world.storefront("customers/login-with-own-id").json(&login).send().await.refused(401, "identity_not_verified");
    let (endpoint, secret) = (json!({ "url": receiver.url() }), "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3");
    let provider = json!({ "channel": "sms", "kind": "webhook", "settings": endpoint, "secret": secret });
    world.api(Method::POST, "/storefront/int/v1/message-providers").json(&provider).send().await.ok(201);
    ask_to_register(&world, "+12015560124").await.ok(200);
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.deliver().await;
    let gateway = world.card().await;
    world.call_back(&gateway, &event("evt_1", "customer.created", json!({}))).await.ok(200);
    world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).json(&json!({})).send().await;
    world.api(Method::POST, "/developers/int/v1/events").json(&json!({ "event": "order.created", "data": {} })).send().await;
    world.request(Method::GET, &format!("/nothing/{EMAIL}")).send().await.refused(404, "route_unknown");
    world.state.sweep().await.unwrap();
    world
}

#[tokio::test]
async fn what_happens_is_counted_where_it_happens() {
    let world = eventful().await;
    let scrape = Scrape::of(&world).await;
    for (series, at_least) in [
        (r#"portico_http_requests_total{method="GET",route="/storefront/v1/customers/me",status="200"}"#, 1.0),
        (r#"portico_http_requests_total{method="GET",route="none",status="404"}"#, 1.0),
        (r#"portico_http_request_seconds_count{method="GET",route="/storefront/v1/customers/me"}"#, 1.0),
        (r#"portico_pool_wait_seconds_count{pool="requests"}"#, 10.0),
        (r#"portico_pool_connections_max{pool="deliveries"}"#, 4.0),
        (r#"portico_statement_seconds_count{statement="insert customers"}"#, 1.0),
        (r#"portico_cache_look_ups_total{cache="sessions",outcome="miss"}"#, 1.0),
        (r#"portico_code_guesses_total{verdict="right"}"#, 1.0),
        (r#"portico_code_guesses_total{verdict="wrong"}"#, 1.0),
        (r#"portico_codes_issued_total{channel="sms"}"#, 1.0),
        (r#"portico_texts_total{verdict="allowed"}"#, 1.0),
        (r#"portico_sign_ins_total{method="code",outcome="signed_in"}"#, 1.0),
        (r#"portico_sign_ins_total{method="code",outcome="refused"}"#, 1.0),
        (r#"portico_sign_ins_total{method="own_provider",outcome="refused"}"#, 1.0),
        (r#"portico_sms_handed_over_total{provider="own",outcome="taken"}"#, 1.0),
        (r#"portico_webhook_attempts_total{outcome="5xx"}"#, 1.0),
        (r#"portico_webhook_deliveries_total{state="retrying"}"#, 1.0),
        (r#"portico_webhook_permits{state="free"}"#, 500.0),
        (r#"portico_callbacks_total{driver="card",outcome="signature_missing"}"#, 1.0),
        (r#"portico_group_size_count{queue="callbacks"}"#, 1.0),
        (r#"portico_retention_completed_timestamp_seconds{task="rows"}"#, 1.0),
        ("portico_database_up", 1.0),
        ("portico_events_published_total", 1.0),
        ("process_open_fds", 3.0),
        (concat!(r#"portico_build_info{version=""#, env!("CARGO_PKG_VERSION"), r#""}"#), 1.0),
    ] {
        let value = scrape.value(series);
        assert!(value.is_some_and(|value| value >= at_least), "{series} is {value:?} in\n{}", scrape.0);
    }
    assert_eq!(scrape.value("portico_http_requests_under_way"), Some(0.0));
}

#[tokio::test]
async fn what_happens_for_the_first_time_makes_no_new_series_of_a_counter() {
    let (quiet, eventful) = (Scrape::of(&World::new().await).await, Scrape::of(&eventful().await).await);
    let known: BTreeSet<_> = quiet.series().collect();
    // Of what is asked for and of statements there is too much to have it all before.
    let is_of_known_words = |series: &str| {
        let name = series.split('{').next().unwrap_or_default();
        name.ends_with("_total") && !["portico_http_requests_total", "portico_statement_failures_total"].contains(&name)
    };
    let new: Vec<_> = eventful.series().filter(|series| is_of_known_words(series) && !known.contains(series)).collect();
    assert_eq!(new, Vec::<&str>::new());
}

#[tokio::test]
async fn no_label_says_anything_about_anybody_and_the_series_are_few() {
    let world = eventful().await;
    let (id, scrape) = (world.company.uuid(), Scrape::of(&world).await);
    for person in [EMAIL, PHONE, "@", &world.store_key, &world.api_key, &id.to_string(), &id.simple().to_string()] {
        assert!(!scrape.0.contains(person), "{person} is in\n{}", scrape.0);
    }
    let declared: BTreeSet<_> =
        Metrics::new(world.state.clone()).descriptions().iter().flat_map(|metric| metric.labels.iter().copied()).collect();
    for series in scrape.series() {
        let labels = series.split_once('{').map_or("", |(_, labels)| labels.trim_end_matches('}'));
        for label in labels.split("\",").filter(|label| !label.is_empty()) {
            let (name, value) = label.split_once("=\"").unwrap();
            let value = value.trim_end_matches('"');
            assert!(declared.contains(name) || name == "le", "{series}");
            let is_of_anybody = |c: char| c.is_ascii_uppercase() && name != "method" || "3456789".contains(c);
            let is_a_number = ["le", "status", "version"].contains(&name) || value.ends_with("xx");
            assert!(is_a_number || value.len() <= 100 && !value.contains(is_of_anybody), "{series}");
        }
    }
    assert!(scrape.series().count() < MOST_SERIES);
    let statements: BTreeSet<_> = scrape.series().filter_map(|series| series.split_once("statement=\"")?.1.split('"').next()).collect();
    assert!((20..250).contains(&statements.len()), "{statements:?}");
}

#[tokio::test]
async fn what_waits_is_told_for_all_instances() {
    let world = World::new().await;
    let (_, webhook) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.pass(TimeDelta::seconds(90));
    let scrape = Scrape::of(&world.another_instance()).await;
    assert_eq!((scrape.value("portico_outbox_events"), scrape.value("portico_outbox_oldest_seconds")), (Some(1.0), Some(90.0)));

    let path = |act: &str| format!("webhooks/{}/{act}", webhook["id"].as_str().unwrap());
    world.developers(Method::POST, &path("pause"), json!({})).await.ok(200);
    world.state.webhooks.fan_out().await.unwrap();
    world.pass(TimeDelta::seconds(60));
    let scrape = Scrape::of(&world).await;
    let waiting = r#"portico_webhook_deliveries_waiting{lane="first"}"#;
    let due = r#"portico_webhook_oldest_due_seconds{lane="first"}"#;
    assert_eq!((scrape.value("portico_outbox_events"), scrape.value(waiting)), (Some(0.0), Some(1.0)));
    assert_eq!(scrape.value(due), Some(0.0), "what a pause holds is not late");

    world.developers(Method::POST, &path("resume"), json!({})).await.ok(200);
    assert!(Scrape::of(&world).await.value(due).unwrap() >= 60.0);
    world.deliver().await;
    let scrape = Scrape::of(&world).await;
    assert_eq!((scrape.value(waiting), scrape.value(due)), (Some(0.0), Some(0.0)));
    assert_eq!(scrape.value("portico_webhook_deliveries_in_flight"), Some(0.0));
}

#[tokio::test]
async fn without_the_database_only_its_figures_are_absent() {
    let mut database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[]).await;
    world.request(Method::GET, "/healthz").send().await.ok(200);
    database.go_away().await;
    // It comes back when the metrics have been told.
    let scrape = in_time("the metrics are told", Scrape::at_once(&world)).await;
    assert_eq!(scrape.value("portico_database_up"), Some(0.0));
    assert_eq!(scrape.value("portico_outbox_events"), None);
    assert!(!scrape.series().any(|series| series.starts_with("portico_webhook_deliveries_waiting")), "{}", scrape.0);
    assert!(scrape.value(r#"portico_http_requests_total{method="GET",route="/healthz",status="200"}"#).is_some());
    database.come_back().await;
    assert_eq!(Scrape::of(&world).await.value("portico_outbox_events"), Some(0.0));
    database.end(world).await;
}

/// The metrics that the guide lists: the name, the type and the labels of each.
fn listed() -> BTreeSet<(String, String, Vec<String>)> {
    let (_, section) = GUIDE.split_once("\n## Metrics\n").unwrap();
    let rows = section.split("\n## ").next().unwrap().lines().filter_map(|line| line.strip_prefix("| `"));
    let words = |cell: &str| cell.split(',').map(|word| word.trim().trim_matches('`').to_owned()).filter(|word| !word.is_empty()).collect();
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        (cells[0].trim_end_matches('`').to_owned(), cells[1].to_owned(), words(cells[2]))
    })
    .collect()
}

#[tokio::test]
async fn the_guide_lists_every_metric() {
    let metrics = Metrics::new(World::new().await.state.clone());
    let registered = metrics.descriptions().into_iter().map(|Description { name, kind, labels }| {
        (name, kind.as_str().to_owned(), labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>())
    });
    assert_eq!(listed(), registered.collect());
}

#[tokio::test]
async fn the_metrics_are_where_the_setting_says_and_nowhere_else() {
    // Nobody else takes a port of this address between the look and the start.
    let free = TcpListener::bind("127.0.0.3:0").unwrap().local_addr().unwrap().to_string();
    let world = World::new().await;
    let mut service = Service::start(&[("database.url", &world.database), ("http.admin_listen", &free)]).await;
    let get = async |url: String| reqwest::get(url).await.unwrap();
    let metrics = get(format!("http://{free}/metrics")).await;
    assert_eq!(metrics.status(), 200);
    assert!(metrics.text().await.unwrap().contains("portico_build_info"));
    assert_eq!(get(format!("http://{}/metrics", service.address)).await.status(), 404);
    assert_eq!(get(format!("http://{free}/healthz")).await.status(), 404);
    assert!(service.terminate().await);
}

#[tokio::test]
async fn a_second_instance_on_a_machine_starts_without_metrics_unless_it_was_told_where() {
    // Somebody else may have the port already, which is as good.
    let _taken = TcpListener::bind("127.0.0.1:9464");
    let bind = |setting| AdminListener::bind(&Config::with(&[("http.admin_listen", setting)]).unwrap().http);
    assert!(bind("").unwrap().is_none() && bind("off").unwrap().is_none());
    assert_eq!(bind("127.0.0.1:9464").unwrap_err().0.port(), 9464);
    assert!(bind("127.0.0.1:0").unwrap().is_some());
    assert!(Config::with(&[("http.admin_listen", "here")]).unwrap_err().to_string().contains("\"off\""));
}
