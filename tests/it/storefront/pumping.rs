//! SMS pumping: what the guard pauses by itself, for how long, and who gets texts all the same (decisions, section 5).

use chrono::TimeDelta;
use futures::future::join_all;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::customers::{PHONE, ask_to_register, ask_to_sign_in};
use crate::support::sms::twilio;
use crate::support::smtp::SmtpSink;
use crate::support::{Answer, World};

/// A mobile number of a range of its own in the United States.
fn american(range: u32) -> String {
    format!("+1201{}0123", 200 + range)
}

/// A mobile number of a range of its own in Germany.
fn german(range: u32) -> String {
    format!("+49151{range:04}1234")
}

impl World {
    /// Sets the limits of the store.
    async fn limit_texts(&self, limits: Value) {
        let path = format!("/storefront/int/v1/stores/{}", self.store);
        self.api(Method::PUT, &path).json(&limits).send().await.ok(200);
    }

    /// Says that the store opens, from now on.
    async fn opens_for(&self, time: TimeDelta) {
        self.limit_texts(json!({ "opening_until": (self.clock.now() + time).to_rfc3339() })).await;
    }

    /// What the guard has paused: scope and name.
    async fn paused(&self) -> Vec<(String, String)> {
        let pauses = self.pauses().await;
        let word = |pause: &Value, member: &str| pause[member].as_str().unwrap().to_owned();
        pauses.iter().map(|pause| (word(pause, "scope"), word(pause, "name"))).collect()
    }

    async fn pauses(&self) -> Vec<Value> {
        let answer = self.api(Method::GET, "/storefront/int/v1/texts/pauses").send().await.ok(200);
        answer["pauses"].as_array().unwrap().clone()
    }

    /// Asks for a text from an address.
    async fn ask_from(&self, address: &str, number: &str) -> Answer {
        let body = json!({ "mode": "sms", "identity": number });
        self.storefront("customers/request-creation-code").json(&body).from(address).send().await
    }

    async fn events_named(&self, name: &str) -> Vec<Value> {
        let mut list = self.get(&format!("events?event={name}")).await;
        list["events"].as_array_mut().unwrap().iter_mut().map(|event| event["data"].take()).collect()
    }

    /// Lets the guard pause texts to strangers of the range of [`PHONE`], three minutes after the last step.
    async fn pump_one_range(&self) {
        for number in 1..=self.needed().await {
            ask_to_register(self, &format!("+1201555{:04}", 1_000 + number + self.clock.now().timestamp() % 8_000)).await.ok(200);
        }
        self.pass(TimeDelta::minutes(3));
        ask_to_register(self, "+12015550999").await.refused(423, "texts_paused");
    }

    /// How many unused codes are enough for the next pause of the range.
    async fn needed(&self) -> i64 {
        if self.count("select count(*) from text_pauses").await == 0 { 5 } else { 2 }
    }
}

#[tokio::test]
async fn fifty_legitimate_requests_in_twenty_seconds_pause_nothing() {
    let world = World::new().await;
    for customer in 0..50 {
        ask_to_register(&world, &american(customer)).await.ok(200);
        world.pass(TimeDelta::milliseconds(400));
    }
    // Customers type for a minute.
    world.pass(TimeDelta::minutes(1));
    for message in world.messages() {
        world.open_account(&message.to, message.code.as_deref().unwrap()).await.ok(201);
    }
    world.pass(TimeDelta::minutes(2));
    ask_to_register(&world, &american(50)).await.ok(200);
    assert!(world.paused().await.is_empty());
}

#[tokio::test]
async fn a_store_that_opens_texts_the_many_strangers_of_its_first_minute() {
    let world = World::new().await;
    world.opens_for(TimeDelta::days(1)).await;
    for customer in 0..64 {
        ask_to_register(&world, &american(customer)).await.ok(200);
        world.pass(TimeDelta::milliseconds(300));
    }
    world.pass(TimeDelta::minutes(1));
    for message in world.messages() {
        world.open_account(&message.to, message.code.as_deref().unwrap()).await.ok(201);
    }
    world.pass(TimeDelta::minutes(2));
    ask_to_register(&world, &american(64)).await.ok(200);
    assert!(world.paused().await.is_empty());
}

#[tokio::test]
async fn an_opening_ends_and_is_a_week_long_at_most() {
    let world = World::new().await;
    let path = format!("/storefront/int/v1/stores/{}", world.store);
    let in_a_month = json!({ "opening_until": (world.clock.now() + TimeDelta::days(30)).to_rfc3339() });
    let refusal = world.api(Method::PUT, &path).json(&in_a_month).send().await.refused(422, "body_invalid");
    assert_eq!(refusal["fields"]["opening_until"][0], "This must be at most seven days ahead.");
    world.opens_for(TimeDelta::days(7)).await;
    world.opens_for(TimeDelta::hours(1)).await;
    world.pass(TimeDelta::hours(1));
    for customer in 0..50 {
        ask_to_register(&world, &american(customer)).await.ok(200);
    }
    ask_to_register(&world, &american(50)).await.refused(429, "range_cooldown");
}

#[tokio::test]
async fn pumping_a_store_that_opens_is_paused_as_ever_and_ends_its_opening_there() {
    let world = World::new().await;
    world.opens_for(TimeDelta::days(1)).await;
    for number in 0..60 {
        ask_to_register(&world, &american(number)).await.ok(200);
    }
    world.pass(TimeDelta::minutes(3));
    ask_to_register(&world, &american(60)).await.refused(423, "texts_paused");
    assert_eq!(world.paused().await, [("country".to_owned(), "US".to_owned())]);
    // A quarter of the unused codes of a store that does not know its countries: twelve.
    world.pass(TimeDelta::minutes(16));
    for number in 70..82 {
        ask_to_register(&world, &american(number)).await.ok(200);
    }
    ask_to_register(&world, &american(82)).await.refused(429, "range_cooldown");
}

#[tokio::test]
async fn fifty_numbers_from_one_address_stop_that_address_and_not_the_shop() {
    let world = World::new().await;
    let mut texted = 0;
    for number in 0..50 {
        let answer = world.ask_from("2001:db8::1", &american(number)).await;
        match texted {
            10 => assert!(answer.refused(429, "rate_limited")["retry_after"].as_u64().unwrap() > 80_000),
            _ => drop(answer.ok(200)),
        }
        texted = world.messages().len();
        world.pass(TimeDelta::seconds(13));
    }
    // Neither another address of the same network, ...
    world.ask_from("2001:db8::2", &american(60)).await.refused(429, "rate_limited");
    assert_eq!(world.count("select count(*) from texts where rule = 'numbers_per_address_and_day'").await, 41);
    // ... and everybody else gets their texts.
    world.ask_from("2001:db8:1::1", &american(60)).await.ok(200);
    assert!(world.paused().await.is_empty());
    // The day of the address goes by.
    world.pass(TimeDelta::days(1));
    world.ask_from("2001:db8::1", &american(61)).await.ok(200);
}

#[tokio::test]
async fn who_uses_the_codes_may_ask_for_more_from_one_address() {
    let world = World::new().await;
    for number in 0..15 {
        world.ask_from("203.0.113.9", &american(number)).await.ok(200);
        world.open_account(&american(number), &world.last_code()).await.ok(201);
        world.pass(TimeDelta::seconds(13));
    }
    world.ask_from("203.0.113.9", &american(16)).await.ok(200);
}

#[tokio::test]
async fn the_range_is_paused_then_the_country_then_the_store() {
    let world = World::new().await;
    // The store knows its customers: in another country.
    for customer in 0..50 {
        ask_to_register(&world, &german(customer)).await.ok(200);
        world.open_account(&german(customer), &world.last_code()).await.ok(201);
    }
    world.pass(TimeDelta::minutes(3));
    for number in 0..5 {
        ask_to_register(&world, &format!("+1201555{:04}", 1_000 + number)).await.ok(200);
    }
    ask_to_register(&world, "+12015550999").await.refused(429, "range_cooldown");
    world.pass(TimeDelta::minutes(3));
    let refusal = ask_to_register(&world, "+12015550999").await.refused(423, "texts_paused");
    assert_eq!(refusal["retry_after"], 15 * 60);
    assert_eq!(world.paused().await, [("range".to_owned(), "+1201555".to_owned())]);
    // Other numbers of the country are texted, until they are not used either.
    for range in 0..5 {
        ask_to_register(&world, &american(range)).await.ok(200);
    }
    world.pass(TimeDelta::minutes(3));
    ask_to_register(&world, &american(9)).await.refused(423, "texts_paused");
    assert_eq!(world.paused().await[0], ("country".to_owned(), "US".to_owned()));
    // Other countries are texted.
    ask_to_register(&world, &german(60)).await.ok(200);
    assert_eq!(world.paused().await.len(), 2);

    let world = World::new().await;
    for range in 0..25 {
        ask_to_register(&world, &american(range)).await.ok(200);
        ask_to_register(&world, &german(range)).await.ok(200);
    }
    world.pass(TimeDelta::minutes(3));
    ask_to_register(&world, &german(60)).await.refused(423, "texts_paused");
    assert_eq!(world.paused().await, [("store".to_owned(), String::new())]);
    // Where the store has customers, strangers are texted all the same.
    let german = world.messages().into_iter().filter(|text| text.to.starts_with("+49")).take(6);
    for text in german {
        world.open_account(&text.to, text.code.as_deref().unwrap()).await.ok(201);
    }
    ask_to_register(&world, &self::german(61)).await.ok(200);
    ask_to_register(&world, &american(61)).await.refused(423, "texts_paused");
}

#[tokio::test]
async fn a_pause_ends_by_itself_and_each_one_soon_after_is_longer() {
    let world = World::new().await;
    for length in [15, 60, 6 * 60, 24 * 60, 24 * 60] {
        world.pump_one_range().await;
        let pause = world.pauses().await.remove(0);
        assert_eq!((&pause["scope"], &pause["name"], &pause["used"]), (&json!("range"), &json!("+1201555"), &json!(0)));
        world.pass(TimeDelta::minutes(length) - TimeDelta::seconds(1));
        ask_to_register(&world, "+12015550999").await.refused(423, "texts_paused");
        world.pass(TimeDelta::seconds(1));
        assert!(world.paused().await.is_empty());
        world.state.sweep().await.unwrap();
        assert_eq!(world.events_named("texts.resumed").await[0]["id"], pause["id"]);
        world.pass(TimeDelta::minutes(1));
    }
    assert_eq!(world.events_named("texts.resumed").await.len(), 5);
    // After two quiet days it has two steps less to go.
    world.pass(TimeDelta::days(2));
    world.pump_one_range().await;
    world.pass(TimeDelta::hours(6));
    assert!(world.paused().await.is_empty());
    // After all of them it is forgotten.
    world.pass(TimeDelta::days(5));
    world.state.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from text_pauses").await, 0);
}

#[tokio::test]
async fn operators_are_mailed_and_subscribers_told_once() {
    let sink = SmtpSink::start(false).await;
    let world = World::with(&[("mail.smtp_url", &sink.url())]).await;
    world.operator("ada@example.com", Role::Owner).await;
    world.pump_one_range().await;
    let told = world.events_named("texts.paused").await;
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["scope"], &told[0]["name"], &told[0]["resumed_at"]), (&json!("range"), &json!("+1201555"), &Value::Null));
    sink.refuse(true);
    world.state.sweep().await.unwrap();
    assert!(sink.mails().is_empty());
    sink.refuse(false);
    world.pass(TimeDelta::minutes(1));
    let there = world.another_instance();
    for swept in join_all([&world, &there].map(|instance| instance.state.sweep())).await {
        swept.unwrap();
    }
    world.pass(TimeDelta::minutes(10));
    world.state.sweep().await.unwrap();
    let mails = sink.mails();
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert!(mails[0].contains("+1201555") && mails[0].contains("Acme Shop"), "{}", mails[0]);
}

#[tokio::test]
async fn who_resumes_makes_the_guard_forget_nothing() {
    let world = World::new().await;
    world.pump_one_range().await;
    let pause = world.pauses().await.remove(0);
    let path = format!("/storefront/int/v1/texts/pauses/{}/resume", pause["id"].as_str().unwrap());
    let (_, stranger) = world.another_company(&portico::callers::Scope::ALL).await;
    world.api(Method::POST, &path).key(&stranger).json(&json!({})).send().await.refused(404, "record_not_found");
    let ended = world.api(Method::POST, &path).json(&json!({})).send().await.ok(200);
    assert_eq!(ended["pause"]["id"], pause["id"]);
    world.api(Method::POST, &path).json(&json!({})).send().await.refused(404, "record_not_found");
    assert_eq!(world.events_named("texts.resumed").await.len(), 1);
    assert_eq!(world.count("select count(*) from changes where fields = '{text_pauses}'").await, 1);
    // What was texted before does not count, but two unused codes are enough now, and the pause is longer.
    world.pass(TimeDelta::seconds(1));
    ask_to_register(&world, "+12015550801").await.ok(200);
    ask_to_register(&world, "+12015550802").await.ok(200);
    world.pass(TimeDelta::minutes(3));
    assert_eq!(ask_to_register(&world, "+12015550803").await.refused(423, "texts_paused")["retry_after"], 60 * 60);
}

#[tokio::test]
async fn customers_whose_number_is_proven_get_their_texts_when_strangers_do_not() {
    let world = World::new().await;
    world.register(PHONE).await;
    world.pass(TimeDelta::minutes(2));
    world.pump_one_range().await;
    ask_to_sign_in(&world, PHONE).await.ok(200);

    // Strangers leave a share of the budget.
    let world = World::new().await;
    world.register(PHONE).await;
    world.limit_texts(json!({ "texts_per_day": 10, "texts_reserved_percent": 20 })).await;
    for number in 0..7 {
        ask_to_register(&world, &american(number)).await.ok(200);
    }
    ask_to_register(&world, &american(7)).await.refused(429, "text_budget_used");
    assert_eq!(world.count("select count(*) from texts where rule = 'texts_reserved_percent'").await, 1);
    for _ in 0..2 {
        world.pass(TimeDelta::minutes(2));
        ask_to_sign_in(&world, PHONE).await.ok(200);
    }
    world.pass(TimeDelta::minutes(2));
    ask_to_sign_in(&world, PHONE).await.refused(429, "text_budget_used");
    assert_eq!(world.count("select count(*) from texts where rule = 'texts_per_day'").await, 1);
}

#[tokio::test]
async fn a_country_gets_its_texts_of_the_day() {
    let world = World::new().await;
    world.limit_texts(json!({ "texts_per_country_and_day": 3, "texts_reserved_percent": 0 })).await;
    for number in 0..3 {
        ask_to_register(&world, &german(number)).await.ok(200);
    }
    ask_to_register(&world, &german(3)).await.refused(429, "range_cooldown");
    ask_to_register(&world, &american(3)).await.ok(200);
    world.pass(TimeDelta::days(1));
    ask_to_register(&world, &german(3)).await.ok(200);
}

#[tokio::test]
async fn texts_to_one_number_are_counted_over_all_stores() {
    let world = World::with(&[("storefront.daily_texts_per_number", "3")]).await;
    let ask = async |key: &str| {
        let body = json!({ "mode": "sms", "identity": PHONE });
        world.storefront("customers/request-creation-code").json(&body).key(key).send().await
    };
    for _ in 0..3 {
        let (_, key) = world.another_store().await;
        ask(&key).await.ok(200);
    }
    let (_, key) = world.another_store().await;
    ask(&key).await.refused(429, "number_cooldown");
    world.pass(TimeDelta::days(1));
    ask(&key).await.ok(200);
}

#[tokio::test]
async fn parallel_texts_do_not_pass_a_limit_together() {
    let here = World::new().await;
    here.limit_texts(json!({ "texts_per_day": 12, "texts_reserved_percent": 0 })).await;
    let there = here.another_instance();
    let asked = join_all((0..48).map(|number| {
        let instance = [&here, &there][number as usize % 2];
        async move { ask_to_register(instance, &german(number)).await.status }
    }));
    let asked = asked.await;
    assert_eq!(asked.iter().filter(|status| **status == 200).count(), 12);
    assert!(asked.iter().all(|status| [200, 429].contains(status)), "{asked:?}");
    assert_eq!(here.count("select sum(sent) from text_minutes").await, 12);
    assert_eq!(here.count("select count(*) from texts where status = 'sent'").await, 12);
}

#[tokio::test]
async fn parallel_texts_to_one_number_range_or_address_do_not_pass_theirs() {
    let world = World::new().await;
    let customers = (0..5).map(|_| ask_to_register(&world, "+12015550700"));
    assert!(join_all(customers).await.iter().all(|answer| answer.status == 200));
    assert_eq!(world.messages().len(), 1, "one number");
    let range = join_all((0..9).map(|number| {
        let number = format!("+1201556{number:04}");
        let world = &world;
        async move { ask_to_register(world, &number).await.status }
    }));
    assert_eq!(range.await.iter().filter(|status| **status == 200).count(), 5, "one range");
    world.limit_texts(json!({ "numbers_per_address_and_day": 2 })).await;
    let address = join_all((0..5).map(|number| {
        let world = &world;
        async move { world.ask_from("203.0.113.9", &german(number)).await.status }
    }));
    assert_eq!(address.await.iter().filter(|status| **status == 200).count(), 2, "one address");
}

#[tokio::test]
async fn a_text_that_is_given_back_is_counted_no_more() {
    let (_provider, settings) = twilio::provider(twilio::refused(503, 20503)).await;
    let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let world = World::with(&settings).await;
    world.limit_texts(json!({ "texts_per_day": 1, "texts_reserved_percent": 0 })).await;
    for number in 0..3 {
        ask_to_register(&world, &german(number)).await.refused(502, "message_not_sent");
    }
}

#[tokio::test]
async fn the_console_shows_what_the_guard_paused_and_resumes_it() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Developer).await;
    world.pump_one_range().await;
    let page = tab.open("/console/texts").await;
    page.says("Paused by the guard").says("Numbers +1201555…").says("0 of 5 codes were used");
    let id = page.between("/console/texts/pauses/", "/resume");
    tab.send(&format!("/console/texts/pauses/{id}/resume"), &[]).await.says_nothing_of("Paused by the guard");
    tab.send(&format!("/console/texts/pauses/{id}/resume"), &[]).await.says("Nothing was changed.");
    let mut support = world.signed_in(Role::Support).await;
    assert_eq!(support.send(&format!("/console/texts/pauses/{id}/resume"), &[]).await.status, 403);
}
