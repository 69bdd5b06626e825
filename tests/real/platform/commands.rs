//! The commands for operators, and the messages at start-up.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use portico::callers::Scope;
use portico::dev::temporary::TemporaryDirectory;
use portico::kernel::clock::Clock;
use portico::kernel::ids::CustomerId;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Notify;
use wiremock::MockServer;

use crate::support::World;
use crate::support::card_provider::CardProvider;
use crate::support::customers::{EMAIL, PASSWORD, token};
use crate::support::identity_provider::IdentityProvider;
use crate::support::program::{Service, finding, portico, printed, refused};
use crate::support::smtp::SmtpSink;
use crate::support::waiting::{in_time, until};

#[tokio::test]
async fn token_revoke_ends_one_sign_in_or_all_of_a_customer() {
    let world = World::new().await;
    let database = [("database.url", world.database.as_str())];
    let login = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let body = json!({ "identity": EMAIL, "password": PASSWORD });
    let sign_in = async || token(&world.storefront("customers/login").json(&body).send().await.ok(200));
    let (first, second, third) = (token(&login), sign_in().await, sign_in().await);
    let me = async |token: &str| {
        // Another process has ended the session; a second later every instance refuses it.
        world.pass(chrono::TimeDelta::seconds(1));
        world.storefront_get("customers/me").token(token).send().await.status
    };
    let number: i64 = second.split_once('|').unwrap().0.parse().unwrap();
    let session: uuid::Uuid =
        sqlx::query_scalar("select uuid from customer_tokens where id = $1").bind(number).fetch_one(&world.pool).await.unwrap();
    let session = session.to_string();
    assert_eq!(printed(&["token", "revoke", "--session", &session], &database).await, "1 session ended.\n");
    assert_eq!((me(&first).await, me(&second).await, me(&third).await), (200, 401, 200));
    let again = refused(&["token", "revoke", "--session", &session], &database).await;
    assert!(again.contains("there is no such session"), "{again}");

    let customer = login["customer"]["id"].as_str().unwrap();
    assert_eq!(printed(&["token", "revoke", "--customer", customer], &database).await, "2 sessions ended.\n");
    assert_eq!((me(&first).await, me(&third).await), (401, 401));
}

#[tokio::test]
async fn customer_export_prints_everything_that_is_kept_of_one_customer() {
    let world = World::new().await;
    let database = [("database.url", world.database.as_str())];
    let login = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    world.register("bob@example.com").await;
    let own = world.order(json!({ "customer": login["customer"]["id"] })).await;
    world.order(json!({})).await;
    // An order of another company that names the same customer id is not exported.
    let (_, other) = world.another_company(&[Scope::Write]).await;
    let body = json!({ "customer": login["customer"]["id"] });
    world.request(Method::POST, "/fleet/int/v1/orders").key(&other).json(&body).send().await.ok(201);
    let payment = "insert into payments (id, company_id, version, created_at, updated_at, gateway_id, transaction_id, kind, status, refunded, customer_id)
                   select gen_random_uuid(), $1, 1, now(), now(), $2, transaction, 'payment', 'pending', 0, customer
                   from (values ('hers', $3::uuid), ('his', null)) as payments (transaction, customer)";
    let gateway = world.card_gateway(world.company).await;
    let ada: CustomerId = login["customer"]["id"].as_str().unwrap().parse().unwrap();
    sqlx::query(payment).bind(world.company.uuid()).bind(gateway.uuid()).bind(ada.uuid()).execute(&world.pool).await.unwrap();
    let exported = printed(&["customer", "export", login["customer"]["id"].as_str().unwrap()], &database).await;
    let document: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!((document["orders"].as_array().unwrap().len(), &document["orders"][0]["id"]), (1, &own["uuid"]));
    assert_eq!(document["payments"].as_array().unwrap().iter().map(|payment| &payment["transaction_id"]).collect::<Vec<_>>(), ["hers"]);
    assert_eq!((&document["customer"]["email"], &document["customer"]["has_password"]), (&json!(EMAIL), &json!(true)));
    assert_eq!(document["sessions"].as_array().unwrap().len(), 1);
    let events: Vec<_> = document["events"].as_array().unwrap().iter().map(|event| &event["event"]).collect();
    assert_eq!((events[0], document["callbacks"].as_array().unwrap().len()), (&json!("customer.created"), 0));
    assert!(!exported.contains("argon2") && !exported.contains("bob@") && !exported.contains(token(&login).split_once('|').unwrap().1));
    let nobody = refused(&["customer", "export", "customer_01h455vb4pex5vsknk084sn02q"], &database).await;
    assert!(nobody.contains("there is no customer"), "{nobody}");
}

#[tokio::test]
async fn a_running_service_deletes_expired_data_and_erases_closed_accounts() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let body = json!({ "identity": EMAIL, "password": "wrong password" });
    world.storefront("customers/login").json(&body).send().await.refused(401, "credentials_invalid");
    // The other process has the system's clock.
    let ages =
        ["update sign_ins set created_at = now() - interval '91 days'", "update customers set closed_at = now() - interval '31 days'"];
    for age in ages {
        sqlx::query(age).execute(&world.pool).await.unwrap();
    }
    let _service = Service::start(&[("database.url", world.database.as_str())]).await;
    let left = "select (select count(*) from sign_ins) + (select count(*) from customers where erased_at is null or email is not null)";
    until("the service has cleaned up", async || world.count(left).await == 0).await;
}

#[tokio::test]
async fn the_partitions_of_today_exist_before_the_first_request() {
    let world = World::new().await;
    let _service = Service::start(&[("database.url", world.database.as_str())]).await;
    let today = "select count(*) from pg_class where relname = any(array[
        'events_' || to_char(now() at time zone 'utc', 'YYYYMMDD'), 'deliveries_' || to_char(now() at time zone 'utc', 'YYYYMMDD'),
        'attempts_' || to_char(now() at time zone 'utc', 'YYYYMMDD')])";
    assert_eq!(world.count(today).await, 3);
}

#[tokio::test]
async fn the_start_warns_of_unverified_ids() {
    let world = World::new().await;
    let warning = "anyone who knows a person's id can sign in as that person";
    let database = ("database.url", world.database.as_str());
    let silent = Service::start(&[database]).await;
    assert!(!silent.log().contains(warning), "{}", silent.log());
    let warned = Service::start(&[database, ("providers.idp_c.verification", "none")]).await;
    assert!(warned.log().contains("WARN") && warned.log().contains(warning), "{}", warned.log());
}

#[tokio::test]
async fn the_addresses_that_kubernetes_sets_are_no_settings_and_a_misspelt_setting_is_refused() {
    let directory = TemporaryDirectory::make("portico-kubernetes").unwrap();
    let run = async |variables: &[(&str, &str)]| {
        let output =
            portico(&["docs", "--bruno", directory.path().to_str().unwrap()], &[]).envs(variables.iter().copied()).output().await.unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let of_the_service = [
        ("PORTICO_SERVICE_HOST", "10.96.0.17"),
        ("PORTICO_SERVICE_PORT", "8080"),
        ("PORTICO_PORT", "tcp://10.96.0.17:8080"),
        ("PORTICO_PORT_8080_TCP", "tcp://10.96.0.17:8080"),
        ("PORTICO_PORT_8080_TCP_ADDR", "10.96.0.17"),
    ];
    let (done, complaint) = run(&of_the_service).await;
    assert!(done, "{complaint}");
    for (misspelt, words) in [("PORTICO_HTTP_LISTEN", "is PORTICO_HTTP__LISTEN meant?"), ("PORTICO_HTTP__LISTN", "listn")] {
        let (done, refusal) = run(&[(misspelt, "127.0.0.1:1")]).await;
        assert!(!done && refusal.contains(words), "{refusal}");
    }
}

#[tokio::test]
async fn a_setting_of_zero_is_refused_by_name() {
    for (key, nothing) in [("webhooks.concurrency", "0"), ("webhooks.poll_interval", "0s"), ("database.max_connections", "0")] {
        let said = refused(&["doctor"], &[(key, nothing)]).await;
        assert!(said.contains(key), "{said}");
    }
}

#[tokio::test]
async fn the_doctor_checks_configuration_and_connectivity_of_each_external_service() {
    let world = World::new().await;
    let database = ("database.url", world.database.as_str());
    let report = printed(&["doctor"], &[database]).await;
    for what in ["texts", "mail", "sign-in by idp-a", "sign-in by idp-b", "sign-in by idp-c", "cards"] {
        assert!(finding(&report, what).starts_with("note"), "{report}");
    }
    assert!(finding(&report, "database").starts_with("ok") && finding(&report, "migrations").starts_with("ok"), "{report}");

    let (idp, cards, texts, mail) =
        (IdentityProvider::start().await, CardProvider::start().await, MockServer::start().await, SmtpSink::start(false).await);
    world.card_gateway(world.company).await;
    idp.answer("GET", "/graph/v1.0/debug_token", wiremock::ResponseTemplate::new(200).set_body_json(json!({ "data": { "type": "APP" } })))
        .await;
    let (texts_url, card_url, mail_url, key) = (texts.uri(), cards.url(), mail.url(), world.application_key_setting.clone());
    let mut settings: Vec<(&str, String)> = idp.settings();
    settings.extend([
        ("database.url", world.database.clone()),
        ("application_key", key),
        ("sms.providers", "twilio,log".to_owned()),
        ("sms.twilio.base_url", texts_url),
        ("sms.twilio.account_sid", "AC1".to_owned()),
        ("sms.twilio.from", "+15005550006".to_owned()),
        ("mail.smtp_url", mail_url),
        ("providers.card.base_url", card_url),
    ]);
    let with = |changes: &[(&'static str, &str)]| {
        let mut changed = settings.clone();
        changed.extend(changes.iter().map(|(key, value)| (*key, (*value).to_owned())));
        changed
    };
    let doctor = async |settings: Vec<(&str, String)>| {
        let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let output = portico(&["doctor"], &settings).output().await.unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (healthy, report) = doctor(with(&[])).await;
    assert!(healthy, "{report}");
    for (what, words) in [
        ("texts", "twilio is configured and answers"),
        ("mail", "configured and answers"),
        ("sign-in by idp-a", "2 of the keys"),
        ("sign-in by idp-b", "2 of the keys"),
        ("sign-in by idp-c", "is configured, and accepts the app id and its secret"),
        ("cards", "the keys of 1 gateways can be used"),
    ] {
        assert!(finding(&report, what).starts_with("ok") && finding(&report, what).contains(words), "{report}");
    }
    assert!(report.contains("note  texts            log sends nothing"), "{report}");
    assert!(texts.received_requests().await.unwrap().iter().all(|request| request.headers.get("authorization").is_none()));

    let (nowhere, nobody) = ("http://127.0.0.1:9", "smtp://127.0.0.1:9");
    let another_key = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
    for (changes, what, words) in [
        (vec![("sms.twilio.base_url", nowhere)], "texts", "no response from http://127.0.0.1:9"),
        (vec![("mail.smtp_url", nobody)], "mail", "is configured, but"),
        (vec![("providers.idp_a.jwks_url", nowhere)], "sign-in by idp-a", "its keys cannot be fetched"),
        (vec![("providers.idp_b.jwks_url", texts.uri().as_str())], "sign-in by idp-b", "status 404"),
        (vec![("providers.idp_c.graph_url", nowhere)], "sign-in by idp-c", "the app id and its secret could not be verified"),
        (vec![("providers.card.base_url", nowhere)], "cards", "no response from"),
        (vec![("application_key", another_key)], "cards", "cannot decrypt the secret keys of 1 of 1 gateways"),
    ] {
        let (healthy, report) = doctor(with(&changes)).await;
        assert!(!healthy && finding(&report, what).starts_with("BAD") && finding(&report, what).contains(words), "{report}");
        assert!(!report.contains("graph secret"), "{report}");
    }
}

/// Hundreds of concurrent sign-ins: requests beyond the queue are refused at once, memory does not grow, and other requests are
/// served.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_flood_of_sign_ins_does_not_grow_memory_or_delay_other_requests() {
    let world = World::new().await;
    let login = world.register(EMAIL).await;
    // The service uses the system clock, so tokens made in the world's time must be valid in it.
    sqlx::query("update customer_tokens set expires_at = $1")
        .bind(Clock::System.now() + chrono::TimeDelta::days(1))
        .execute(&world.pool)
        .await
        .unwrap();
    let settings =
        [("database.url", world.database.as_str()), ("storefront.requests_per_minute", "1000000"), ("http.trusted_proxies", "127.0.0.0/8")];
    let service = Service::start(&settings).await;
    let (_, other_key) = world.another_store().await;
    let store_keys = [&world.store_key, &other_key];
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask =
        |method, path: &str| http.request(method, format!("http://{}/storefront/v1/{path}", service.address)).bearer_auth(&world.store_key);
    let me = async || ask(reqwest::Method::GET, "customers/me").header("customer-token", token(&login)).send().await.unwrap().status();
    let flood = async || {
        let (queue_is_full, flood_is_over) = (Notify::new(), AtomicBool::new(false));
        // One client or one store waits behind itself and leaves places to others, so these are of many clients of two stores.
        let sign_ins = (0..400).map(async |n: usize| {
            let body = json!({ "identity": format!("nobody{n}@example.com"), "password": PASSWORD });
            let login = http.post(format!("http://{}/storefront/v1/customers/login", service.address)).bearer_auth(store_keys[n % 2]);
            let answer = login.header("x-forwarded-for", format!("10.0.{}.{}", n / 250, n % 250)).body(body.to_string()).send().await;
            if answer.as_ref().is_ok_and(|answer| answer.status() == 503) {
                queue_is_full.notify_one();
            }
            answer
        });
        let sign_ins = async {
            let answers = join_all(sign_ins).await;
            flood_is_over.store(true, Ordering::SeqCst);
            answers
        };
        // By then all hashing threads are busy and 64 passwords are queued, which leaves enough time to serve other requests.
        let others = async {
            in_time("the queue of passwords is full", queue_is_full.notified()).await;
            let statuses = [me().await, me().await];
            (statuses, flood_is_over.load(Ordering::SeqCst))
        };
        let (sign_ins, (statuses, came_too_late)) = tokio::join!(sign_ins, others);
        assert_eq!(statuses, [200, 200]);
        assert!(!came_too_late, "other requests are served while passwords are hashed");
        for _ in 0..20 {
            assert_eq!(me().await, 200);
        }
        let sign_ins: Vec<_> = sign_ins.into_iter().map(Result::unwrap).collect();
        let refused: Vec<_> = sign_ins.iter().filter(|answer| answer.status() == 503).collect();
        assert!(!refused.is_empty(), "the queue is bounded");
        assert!(refused.iter().all(|answer| answer.headers()["retry-after"] == "1"));
        let compared = sign_ins.iter().filter(|answer| answer.status() == 401).count();
        assert_eq!(compared + refused.len(), 400);
        assert!(compared >= 64);
        service.memory()
    };
    // Linux truncates thread names to 15 characters.
    assert_eq!(service.threads_named("password-hashin"), std::thread::available_parallelism().unwrap().get());
    let first = flood().await;
    let second = flood().await;
    assert!(second <= first + 16, "{first} MiB, then {second} MiB");
}
