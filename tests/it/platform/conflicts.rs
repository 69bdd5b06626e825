//! Transactions that the database rolls back for the sake of another one are run again (`docs/reliability.md`, "Conflicts").

use std::collections::BTreeSet;

use chrono::TimeDelta;
use futures::future::{join, join_all, join3};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::support::authenticator_app::{enrol, finish, finish_with, handle, offer};
use crate::support::customers::{EMAIL, PASSWORD, PHONE, home, login, me, token};
use crate::support::gateways::event;
use crate::support::program::Service;
use crate::support::receiver::event_ids;
use crate::support::waiting::until;
use crate::support::{Answer, World};

const NEW_PASSWORD: &str = "battery staple correct";
/// Tables that publishing, callbacks, orders, codes and sign-ins write, and that fan-out, deliveries and their attempts go through.
const WRITTEN: &[&str] = &[
    "outbox",
    "events",
    "orders",
    "tracking_statuses",
    "callbacks",
    "payments",
    "verification_codes",
    "texts",
    "customer_tokens",
    "feed_heads",
    "endpoints",
];

impl World {
    /// From now on every `one_in`th transaction that writes one of these tables is rolled back when it commits, in turns as a distributed
    /// database does and as one that ends a deadlock.
    async fn conflicts(&self, tables: &[&str], one_in: u32) {
        let triggers: String = tables
            .iter()
            .map(|table| {
                format!(
                    "create constraint trigger meet after insert or update or delete on {table} deferrable initially deferred
                     for each row execute function meet();"
                )
            })
            .collect();
        let meet = format!(
            "create sequence meetings;
             create function meet() returns trigger language plpgsql as $$
             declare
                 meeting bigint;
             begin
                 if coalesce(current_setting('story.has_met', true), '') = '' then
                     perform set_config('story.has_met', 'yes', true);
                     meeting := nextval('meetings');
                     if meeting % {one_in} = 0 then
                         raise 'met' using errcode = case meeting / {one_in} % 2 when 0 then '40001' else '40P01' end;
                     end if;
                 end if;
                 return null;
             end $$;
             {triggers}"
        );
        sqlx::raw_sql(AssertSqlSafe(meet)).execute(&self.pool).await.unwrap();
    }

    async fn meetings(&self) -> i64 {
        self.count("select last_value from meetings").await
    }

    async fn no_more_conflicts(&self) {
        // The triggers stay: to drop them is to lock all these tables at once, beside a worker that locks them in another order.
        let meet = "create or replace function meet() returns trigger language plpgsql as $$ begin return null; end $$";
        sqlx::raw_sql(meet).execute(&self.pool).await.unwrap();
    }

    /// Signs in by a code that is asked for, as often as it takes. Returns how many sign-ins were acknowledged: one.
    async fn signs_in(&self, phone: &str) -> usize {
        let ask = || self.storefront("customers/login-with-sms").from(&home(phone)).json(&json!({ "phone": phone })).send();
        acknowledged(200, ask).await;
        let to = |message: &&portico::providers::mailbox::CapturedMessage| message.to == phone;
        let code = self.messages().iter().find(to).unwrap().code.clone().unwrap();
        acknowledged(200, || self.verify(phone, code.clone())).await;
        1
    }
}

/// Repeats a request that is refused because of a conflict, as its client does, until it is acknowledged.
async fn acknowledged<F: Future<Output = Answer>>(status: u16, request: impl Fn() -> F) -> Value {
    for _ in 0..20 {
        let answer = request().await;
        if answer.status != 503 {
            return answer.ok(status);
        }
        assert_eq!((&answer.body["code"], answer.header("retry-after")), (&json!("overloaded"), Some("1")));
    }
    panic!("the request was refused twenty times");
}

#[tokio::test]
async fn while_every_fourth_commit_conflicts_nothing_acknowledged_is_lost_and_nothing_is_done_twice() {
    // On a busy machine many of them share a transaction.
    const EACH: usize = 12;
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let gateway = world.card().await;
    let phones: Vec<_> = (0..3).map(|number| format!("+1201555012{number}")).collect();
    for phone in &phones {
        world.register(phone).await;
    }
    world.pass(TimeDelta::minutes(2));
    let [tokens, texts, before] =
        ["customer_tokens", "texts where status = 'sent'", "events"].map(|rows| format!("select count(*) from {rows}"));
    let count = async |sql: &str| sqlx::query_scalar::<_, i64>(AssertSqlSafe(sql.to_owned())).fetch_one(&world.pool).await.unwrap();
    let (tokens_before, texts_before, events_before) = (count(&tokens).await, count(&texts).await, count(&before).await);
    world.conflicts(WRITTEN, 4).await;
    world.state.webhooks.start_worker(&world.lifecycle);

    let sample = world.state.developers.catalogue.find("driver.online").unwrap().sample.clone();
    let body = json!({ "event": "driver.online", "data": sample });
    let publishers = join_all((0..3).map(async |_| {
        for _ in 0..EACH {
            acknowledged(201, || world.developers(Method::POST, "events", body.clone())).await;
        }
    }));
    let order = json!({ "payload": { "pickup": "1 Mill Lane", "dropoff": "2 High Street" } });
    let shoppers = join_all((0..2).map(async |_| {
        for _ in 0..EACH {
            let made = acknowledged(201, || world.fleet(Method::POST, "orders").json(&order).send()).await;
            let path = format!("orders/{}", made["order"]["id"].as_str().unwrap());
            acknowledged(200, || world.fleet(Method::PUT, &path).json(&json!({ "status": "cancelled" })).send()).await;
        }
    }));
    let payers = join_all((0..EACH).flat_map(|number| [number; 2]).map(async |number| {
        let intent = json!({ "id": format!("pi_{number}"), "amount": 1000, "amount_received": 1000, "currency": "usd" });
        let paid = event(&format!("evt_{number}"), "payment_intent.succeeded", intent);
        acknowledged(200, || world.call_back(&gateway, &paid)).await;
    }));
    let customers = join_all(phones.iter().map(|phone| world.signs_in(phone)));
    let (_, (_, (_, signed_in))) = join(publishers, join(shoppers, join(payers, customers))).await;

    assert!(world.meetings().await > 80);
    let signed_in = i64::try_from(signed_in.into_iter().sum::<usize>()).unwrap();
    assert_eq!(count(&tokens).await - tokens_before, signed_in, "each sign-in has one session");
    assert_eq!(count("select count(*) from texts where used_at is not null").await, 3 + signed_in, "each code was texted and used once");
    assert_eq!(count(&texts).await - texts_before, signed_in);
    assert_eq!(count("select count(*) from orders where status = 'cancelled'").await, 2 * EACH as i64);
    assert_eq!(count("select count(*) from payments where status = 'succeeded'").await, EACH as i64);
    assert_eq!(count("select count(*) from events where name = 'driver.online'").await, 3 * EACH as i64);
    assert_eq!(count("select count(*) from events where name = 'payment.succeeded'").await, EACH as i64);
    assert_eq!(count("select count(*) from events where name = 'order.created'").await, 2 * EACH as i64);

    let all: Vec<uuid::Uuid> = sqlx::query_scalar("select id from events order by id").fetch_all(&world.pool).await.unwrap();
    assert!(i64::try_from(all.len()).unwrap() > events_before);
    receiver.waits_until(|posts| event_ids(posts).len() == all.len()).await;
    world.no_more_conflicts().await;
    let numbers: Vec<i64> = sqlx::query_scalar("select number from feed order by number").fetch_all(&world.pool).await.unwrap();
    assert_eq!(numbers, (1..=i64::try_from(all.len()).unwrap()).collect::<Vec<_>>(), "the feed has each event once and no gap");
    let about: BTreeSet<_> = event_ids(&receiver.received());
    assert_eq!(about.len(), all.len());
}

#[tokio::test]
async fn a_conflict_that_does_not_pass_is_answered_after_five_attempts_and_changes_nothing() {
    let world = World::new().await;
    world.conflicts(&["orders"], 1).await;
    let order = json!({ "payload": { "pickup": "1 Mill Lane", "dropoff": "2 High Street" } });
    let answer = world.fleet(Method::POST, "orders").json(&order).send().await;
    assert_eq!(answer.header("retry-after"), Some("1"));
    answer.refused(503, "overloaded");
    assert_eq!(world.meetings().await, 5);
    assert_eq!(world.count("select count(*) from orders").await + world.count("select count(*) from outbox").await, 0);
    world.no_more_conflicts().await;
    world.fleet(Method::POST, "orders").json(&order).send().await.ok(201);
}

#[tokio::test]
async fn what_the_database_refused_to_commit_is_not_rolled_back_once_more() {
    let world = World::new().await;
    world.conflicts(&["orders"], 1).await;
    let settings = [("database.url", world.database.as_str()), ("application_key", world.application_key_setting.as_str())];
    let mut service = Service::start(&settings).await;
    let order = json!({ "payload": { "pickup": "1 Mill Lane", "dropoff": "2 High Street" } });
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = http.post(format!("http://{}/fleet/int/v1/orders", service.address)).bearer_auth(&world.api_key);
    assert_eq!(request.json(&order).send().await.unwrap().status(), 503);
    assert!(service.terminate().await, "{}", service.log());
    until("the log ends", async || service.log().contains(" stopped")).await;
    let log = service.log();
    assert!(log.contains("because of a conflict with another one") && !log.contains("no transaction in progress"), "{log}");
}

#[tokio::test]
async fn what_is_written_while_its_day_gets_a_partition_succeeds_at_once() {
    let world = World::new().await;
    let mut keeper = world.hold().await;
    let partition = "create table events_of_the_day (like events including all);
                     alter table events attach partition events_of_the_day for values from (minvalue) to (maxvalue)";
    sqlx::raw_sql(partition).execute(&mut *keeper).await.unwrap();
    let order = json!({ "payload": { "pickup": "1 Mill Lane", "dropoff": "2 High Street" } });
    let made = world.fleet(Method::POST, "orders").json(&order).send();
    let (made, _, ()) = join3(made, world.register(PHONE), async {
        until("both wait", async || world.waiting_for_a_lock().await == 2).await;
        keeper.commit().await.unwrap();
    })
    .await;
    made.ok(201);
    assert_eq!(world.count("select count(*) from only events_default").await, 0);
    assert_eq!(world.count("select count(*) from events_of_the_day").await, world.count("select count(*) from outbox").await);
}

#[tokio::test]
async fn what_a_customer_does_succeeds_at_once_though_every_second_transaction_conflicts() {
    let world = World::new().await;
    offer(&world, "optional").await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    let tables = [
        "authenticators",
        "customer_recovery_codes",
        "customer_tokens",
        "customers",
        "devices",
        "pending_sign_ins",
        "verification_codes",
        "wrong_passwords",
    ];
    world.conflicts(&tables, 2).await;
    let done = async |token: &str, path: &str, body: Value| world.storefront(path).token(token).json(&body).send().await.ok(200);

    done(&ada, "customers/register-device", json!({ "platform": "ios", "token": "apns" })).await;
    let path = format!("/storefront/v1/customers/{}", me(&world, &ada).await["id"].as_str().unwrap());
    world.request(Method::PUT, &path).key(&world.store_key).token(&ada).json(&json!({ "name": "Ada" })).send().await.ok(200);
    done(&ada, "customers/request-phone-verification", json!({ "phone": PHONE })).await;
    done(&ada, "customers/verify-phone-number", json!({ "code": world.last_code() })).await;
    let app = enrol(&world, &ada).await;
    done(&ada, "customers/change-password", json!({ "password": NEW_PASSWORD })).await;

    let pending = handle(login(&world, EMAIL, NEW_PASSWORD).await);
    let ada = token(&finish(&world, &pending, &app.next_code(&world)).await.ok(200));
    done(&ada, "customers/confirm-step-up", json!({ "totp": app.next_code(&world) })).await;
    let by_recovery = handle(login(&world, EMAIL, NEW_PASSWORD).await);
    let body = json!({ "second_factor": by_recovery, "recovery_code": app.recovery_codes[0] });
    finish_with(&world, body).await.ok(200);
    done(&ada, "customers/totp/recovery-codes", json!({ "code": app.next_code(&world) })).await;
    done(&ada, "customers/totp/remove", json!({ "code": app.next_code(&world) })).await;
    // Contacts that were changed keep an account open for a week.
    world.pass(TimeDelta::days(8));
    done(&ada, "customers/account-closure", json!({})).await;
    done(&ada, "customers/confirm-account-closure", json!({ "code": world.last_code() })).await;

    assert!(world.meetings().await > 24);
    let subjects: Vec<_> = world.messages().iter().filter(|message| message.code.is_none()).map(|told| told.text.clone()).collect();
    assert_eq!(subjects.len(), subjects.iter().collect::<BTreeSet<_>>().len(), "nobody is told anything twice: {subjects:#?}");
}
