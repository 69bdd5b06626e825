//! Verification codes: interface 1, States and transitions; decisions, section 4.

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::json;

use crate::support::World;
use crate::support::customers::{EMAIL, PHONE, home, registered, token, wrong};

#[tokio::test]
async fn a_right_code_signs_in_once() {
    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    let login = world.verify(PHONE, code.clone()).await.ok(200);
    let me = world.storefront_get("customers/me").token(&token(&login)).send().await.ok(200);
    assert_eq!(me, login["customer"]);
    world.verify(PHONE, code).await.refused(422, "code_used");
}

#[tokio::test]
async fn a_code_that_is_sent_twice_was_used_and_is_no_guess() {
    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    world.verify(PHONE, code.clone()).await.ok(200);
    for _ in 0..12 {
        world.verify(PHONE, code.clone()).await.refused(422, "code_used");
    }
    assert_eq!(world.count("select guesses::bigint from verification_codes where purpose = 'sign_in'").await, 1);
    assert_eq!(world.count("select coalesce(sum(wrong + in_a_row), 0)::bigint from wrong_codes").await, 0);
    assert_eq!(world.count("select count(*) from rate_limits where bucket like 'failures:%'").await, 0);
    // Other digits are a guess, and nobody but the client that asked for the code is told.
    world.verify(PHONE, wrong(&code)).await.refused(422, "code_invalid");
    world.guess(PHONE, code).await.refused(422, "code_invalid");
    assert_eq!(world.count("select wrong::bigint from wrong_codes").await, 2);
}

#[tokio::test]
async fn of_several_taps_at_once_one_signs_in_and_the_others_are_told_that_the_code_was_used() {
    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    let answers = join_all((0..5).map(|_| world.verify(PHONE, code.clone()))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.body["code"] == "code_used").count(), 4, "{answers:?}");
    assert_eq!(world.count("select coalesce(sum(wrong), 0)::bigint from wrong_codes").await, 0);
}

#[tokio::test]
async fn a_code_lives_ten_minutes() {
    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    world.pass(TimeDelta::minutes(10) - TimeDelta::seconds(1));
    world.verify(PHONE, code).await.ok(200);

    let code = world.sign_in_code(PHONE).await;
    world.pass(TimeDelta::minutes(10));
    world.verify(PHONE, code).await.refused(422, "code_expired");
}

#[tokio::test]
async fn the_fifth_wrong_guess_locks_the_code() {
    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    for left in [4, 3, 2, 1] {
        let refusal = world.verify(PHONE, wrong(&code)).await.refused(422, "code_invalid");
        assert_eq!(refusal["attempts_left"], left);
    }
    world.verify(PHONE, wrong(&code)).await.refused(422, "code_locked");
    world.verify(PHONE, code).await.refused(422, "code_locked");
}

#[tokio::test]
async fn a_right_code_at_the_fifth_guess_is_right() {
    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    for _ in 0..4 {
        world.verify(PHONE, wrong(&code)).await.refused(422, "code_invalid");
    }
    world.verify(PHONE, code).await.ok(200);
}

#[tokio::test]
async fn ten_wrong_codes_lock_the_identity_out_for_fifteen_minutes() {
    let world = registered().await;
    let first = world.sign_in_code(PHONE).await;
    for _ in 0..5 {
        world.verify(PHONE, wrong(&first)).await;
    }
    world.pass(TimeDelta::minutes(1));
    let second = world.sign_in_code(PHONE).await;
    for _ in 0..4 {
        world.verify(PHONE, wrong(&second)).await.refused(422, "code_invalid");
    }
    let refusal = world.verify(PHONE, wrong(&second)).await.refused(429, "identity_locked_out");
    assert_eq!(refusal["retry_after"], 900);

    // A correct code is refused during the lock-out, but not consumed.
    world.pass(TimeDelta::minutes(1));
    let third = world.sign_in_code(PHONE).await;
    world.verify(PHONE, third.clone()).await.refused(429, "identity_locked_out");
    assert_eq!(world.count("select count(*) from verification_codes where used_at is not null and purpose = 'sign_in'").await, 0);

    // When the lock-out ends, the count starts again.
    world.pass(TimeDelta::minutes(14));
    let fourth = world.sign_in_code(PHONE).await;
    let refusal = world.verify(PHONE, wrong(&fourth)).await.refused(422, "code_invalid");
    assert_eq!(refusal["attempts_left"], 4);
    world.verify(PHONE, fourth).await.ok(200);
}

#[tokio::test]
async fn the_count_starts_over_after_a_right_code_and_after_an_hour() {
    let world = registered().await;
    for _ in 0..3 {
        let code = world.sign_in_code(PHONE).await;
        for _ in 0..4 {
            world.verify(PHONE, wrong(&code)).await.refused(422, "code_invalid");
        }
        world.verify(PHONE, code).await.ok(200);
        world.pass(TimeDelta::minutes(11));
    }
    for _ in 0..3 {
        let code = world.sign_in_code(PHONE).await;
        for _ in 0..4 {
            world.verify(PHONE, wrong(&code)).await.refused(422, "code_invalid");
        }
        world.pass(TimeDelta::hours(1));
    }
}

#[tokio::test]
async fn wrong_codes_count_without_any_code_and_for_every_spelling() {
    let world = World::new().await;
    let spellings = ["+12015550123", "12015550123", "+1 (201) 555-0123", "+1\u{a0}201\u{a0}555\u{a0}0123", "+12015550123"];
    for spelling in spellings.iter().cycle().take(9) {
        world.verify(spelling, "123456").await.refused(422, "code_invalid");
    }
    world.verify(PHONE, "123456").await.refused(429, "identity_locked_out");
}

#[tokio::test]
async fn guesses_split_over_routes_and_purposes_count_together() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    world.storefront("customers/request-phone-verification").token(&ada).json(&json!({ "phone": PHONE })).send().await.ok(200);
    let of_verification = world.last_code();
    world.pass(TimeDelta::seconds(30));
    let of_creation = world.creation_code(PHONE).await;
    let confirm = |code: &str| world.storefront("customers/verify-phone-number").token(&ada).json(&json!({ "code": code })).send();
    for _ in 0..3 {
        confirm(&wrong(&of_verification)).await.refused(422, "code_invalid");
        world.open_account(PHONE, &wrong(&of_creation)).await.refused(422, "code_invalid");
        // There is no code to guess here, but the wrong guess counts for the same number.
        world.verify(PHONE, "123456").await.refused(422, "code_invalid");
    }
    world.verify("1 (201) 555-0123", "123456").await.refused(429, "identity_locked_out");
    confirm(&of_verification).await.refused(429, "identity_locked_out");
    world.open_account(PHONE, &of_creation).await.refused(429, "identity_locked_out");
    // Neither code was consumed.
    world.pass(TimeDelta::minutes(15));
    world.freshen().await;
    world.storefront("customers/request-phone-verification").token(&ada).json(&json!({ "phone": PHONE })).send().await.ok(200);
    confirm(&world.last_code()).await.ok(200);
}

#[tokio::test]
async fn guesses_in_another_store_reach_no_code_of_this_one() {
    let world = World::new().await;
    let code = world.creation_code(PHONE).await;
    let (_, other) = world.another_store().await;
    let body = json!({ "name": "Eve", "identity": PHONE, "code": code });
    for _ in 0..9 {
        world.storefront("customers").key(&other).json(&body).send().await.refused(422, "code_invalid");
    }
    world.storefront("customers").key(&other).json(&body).send().await.refused(429, "identity_locked_out");
    world.open_account(PHONE, &code).await.ok(201);
}

#[tokio::test]
async fn two_hundred_parallel_wrong_guesses_are_counted_and_five_compared() {
    let world = World::new().await;
    world.register(PHONE).await;
    world.pass(TimeDelta::minutes(2));
    let asked = world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await;
    let code = world.last_code();
    // Each from another address, with the handle of the one that asked.
    let guess = json!({ "identity": PHONE, "code": wrong(&code), "request": asked.header("code-request") });
    let guesses = join_all((0..200).map(|_| world.storefront("customers/verify-code").json(&guess).send())).await;
    let codes: Vec<_> = guesses.iter().map(|answer| answer.body["code"].as_str().unwrap()).collect();
    assert_eq!(codes.iter().filter(|code| **code == "code_invalid").count(), 4);
    assert_eq!(codes.iter().filter(|code| **code == "code_locked").count(), 5);
    assert_eq!(codes.iter().filter(|code| **code == "identity_locked_out").count(), 191);
    assert_eq!(world.count("select guesses::bigint from verification_codes where purpose = 'sign_in'").await, 200);
    world.guess(PHONE, code).await.refused(429, "identity_locked_out");
}

#[tokio::test]
async fn fifty_right_guesses_at_once_make_one_token() {
    let world = registered().await;
    let tokens = world.count("select count(*) from customer_tokens").await;
    let code = world.sign_in_code(PHONE).await;
    let guesses = join_all((0..50).map(|_| world.verify(PHONE, code.clone()))).await;
    assert_eq!(guesses.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(world.count("select count(*) from customer_tokens").await, tokens + 1);
}

#[tokio::test]
async fn a_right_guess_among_parallel_wrong_ones_signs_in_at_most_once() {
    for wrong_ones in [5, 100] {
        let world = registered().await;
        let tokens = world.count("select count(*) from customer_tokens").await;
        let asked = world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await;
        let code = world.last_code();
        let right_ones = if wrong_ones == 5 { 1 } else { 20 };
        let world = &world;
        let crowd = (0..wrong_ones + right_ones).map(|n| {
            let is_right = n % (1 + wrong_ones / right_ones) == wrong_ones / right_ones;
            let code = if is_right { code.clone() } else { wrong(&code) };
            let body = json!({ "identity": PHONE, "code": code, "request": asked.header("code-request") });
            async move { world.storefront("customers/verify-code").json(&body).send().await }
        });
        let answers = join_all(crowd).await;
        let signed_in = answers.iter().filter(|answer| answer.status == 200).count();
        assert!(signed_in <= 1, "{signed_in}");
        assert_eq!(world.count("select count(*) from customer_tokens").await, tokens + i64::try_from(signed_in).unwrap());
        // At most five guesses are compared, and the last of them gets `code_locked`.
        let told_what_is_left = answers.iter().filter(|answer| answer.body["attempts_left"].is_number()).count();
        assert!(told_what_is_left <= 4, "{told_what_is_left}");
        if signed_in == 0 {
            assert!(answers.iter().any(|answer| answer.body["code"] == "code_locked"));
        }
        let after = world.verify(PHONE, code).await;
        assert!(after.status == 422 || after.status == 429, "{after:?}");
    }
}

#[tokio::test]
async fn the_same_identity_within_a_minute_gets_no_second_message() {
    let world = World::new().await;
    let ask = || world.storefront("customers/request-creation-code").json(&json!({ "identity": EMAIL }));
    let asked = ask().from(&home(EMAIL)).send().await.ok(200);
    assert_eq!(asked, json!({ "status": "ok", "method": "email" }));
    let code = world.last_code();
    let answers = join_all((0..20).map(|_| ask().send())).await;
    assert!(answers.into_iter().all(|answer| answer.status == 200));
    world.pass(TimeDelta::seconds(59));
    ask().send().await.ok(200);
    assert_eq!(world.messages().len(), 1);

    // The code and its count of attempts stay.
    let wrong_code = wrong(&code);
    let guess = || world.open_account(EMAIL, &wrong_code);
    let refusal = guess().await.refused(422, "code_invalid");
    assert_eq!(refusal["attempts_left"], 4);
    ask().send().await.ok(200);
    let refusal = guess().await.refused(422, "code_invalid");
    assert_eq!(refusal["attempts_left"], 3);

    world.pass(TimeDelta::seconds(1));
    ask().send().await.ok(200);
    assert_eq!(world.messages().len(), 2);
}

#[tokio::test]
async fn twenty_requests_at_once_send_one_message() {
    let world = registered().await;
    let body = json!({ "phone": PHONE });
    let answers = join_all((0..20).map(|_| world.storefront("customers/login-with-sms").json(&body).send())).await;
    assert!(answers.into_iter().all(|answer| answer.ok(200)["method"] == "sms"));
    assert_eq!(world.messages().len(), 2, "one for the registration, one for the sign-in");
}

/// Their texts are judged in one transaction, and each for itself.
#[tokio::test]
async fn a_code_whose_text_is_refused_leaves_the_older_one_as_it_was() {
    const OTHERS: [&str; 4] = ["+12015550124", "+12025550123", "+12035550123", "+12045550123"];
    let world = registered().await;
    for number in OTHERS {
        world.register(number).await;
    }
    let code = world.sign_in_code(PHONE).await;
    let refusal = world.verify(PHONE, wrong(&code)).await.refused(422, "code_invalid");
    assert_eq!(refusal["attempts_left"], 4);
    // Further ones to this number are refused.
    sqlx::query("update stores set texts_per_number_and_hour = 2").execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::minutes(2));
    let sent = world.messages().len();
    let ask = |number: &str| world.storefront("customers/login-with-sms").from(&home(number)).json(&json!({ "phone": number })).send();
    let answers = join_all([PHONE, PHONE].iter().chain(&OTHERS).map(|number| ask(number))).await;
    for (answer, is_refused) in answers.into_iter().zip([true, true, false, false, false, false]) {
        if is_refused { drop(answer.refused(429, "number_cooldown")) } else { drop(answer.ok(200)) }
    }
    assert_eq!(world.messages().len(), sent + OTHERS.len());
    let logged: i64 = sqlx::query_scalar("select count(*) from texts where status = 'refused'").fetch_one(&world.pool).await.unwrap();
    assert_eq!(logged, 2);

    let refusal = world.verify(PHONE, wrong(&code)).await.refused(422, "code_invalid");
    assert_eq!(refusal["attempts_left"], 3);
    world.verify(PHONE, code).await.ok(200);
}

#[tokio::test]
async fn a_new_code_replaces_the_older_one() {
    let world = registered().await;
    let older = world.sign_in_code(PHONE).await;
    world.pass(TimeDelta::minutes(1));
    let newer = world.sign_in_code(PHONE).await;
    if older != newer {
        world.verify(PHONE, older).await.refused(422, "code_invalid");
    }
    world.verify(PHONE, newer).await.ok(200);
}

#[tokio::test]
async fn a_code_works_for_its_purpose_only() {
    let world = World::new().await;
    let code = world.creation_code(PHONE).await;
    world.verify(PHONE, code.clone()).await.refused(422, "code_invalid");
    let body = json!({ "identity": PHONE, "code": code, "purpose": "create_account" });
    world.storefront("customers/verify-code").json(&body).send().await.refused(422, "code_invalid");

    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    let body = json!({ "name": "Eve", "identity": PHONE, "code": code });
    world.storefront("customers").json(&body).send().await.refused(422, "code_invalid");
}

#[tokio::test]
async fn a_purpose_in_the_request_changes_nothing() {
    let world = registered().await;
    let body = json!({ "identity": PHONE, "code": world.sign_in_code(PHONE).await, "purpose": "close_account" });
    world.storefront("customers/verify-code").json(&body).send().await.ok(200);
    let body = json!({ "name": "Bob", "identity": EMAIL, "code": world.creation_code(EMAIL).await, "purpose": "sign_in" });
    world.storefront("customers").json(&body).send().await.ok(201);
}

#[tokio::test]
async fn a_code_works_in_its_store_only() {
    let world = World::new().await;
    let code = world.creation_code(EMAIL).await;
    let (_, other) = world.another_store().await;
    let body = json!({ "name": "Ada", "identity": EMAIL, "code": code });
    world.storefront("customers").key(&other).json(&body).send().await.refused(422, "code_invalid");
    world.storefront("customers").json(&body).send().await.ok(201);
}

#[tokio::test]
async fn a_code_works_for_its_identity_only() {
    let world = World::new().await;
    let code = world.creation_code(EMAIL).await;
    let body = json!({ "name": "Eve", "identity": "victim@example.com", "code": code });
    world.storefront("customers").json(&body).send().await.refused(422, "code_invalid");
}

#[tokio::test]
async fn a_code_is_read_as_people_type_and_paste_it() {
    let world = registered().await;
    let pasted: [fn(&str) -> String; 6] = [
        |code| format!(" {code}\r\n"),
        |code| format!("\t{} {}", &code[..3], &code[3..]),
        |code| format!("{}\u{a0}{}", &code[..3], &code[3..]),
        |code| format!("{}–{}", &code[..3], &code[3..]),
        |code| format!("\u{2066}{code}\u{2069}"),
        |code| code.chars().map(|digit| char::from_u32(u32::from(digit) - 0x30 + 0x660).unwrap()).collect(),
    ];
    for paste in pasted {
        let code = world.sign_in_code(PHONE).await;
        world.verify(PHONE, paste(&code)).await.ok(200);
        world.pass(TimeDelta::minutes(15));
    }
}

#[tokio::test]
async fn only_six_digits_in_a_string_are_a_guess() {
    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    let number: u64 = code.parse().unwrap();
    for guess in [
        json!(number),
        json!([code]),
        json!("12345"),
        json!("1234567"),
        json!({ "$ne": 1 }),
        json!({ "$gt": "" }),
        json!([[code]]),
        json!(number as f64),
        json!(format!("+{}", &code[1..])),
        json!(format!("{}.{}", &code[..3], &code[3..])),
        json!(true),
    ] {
        world.verify(PHONE, guess).await.refused(422, "code_invalid");
    }
    for missing in [json!({ "identity": PHONE }), json!({ "identity": PHONE, "code": null }), json!({ "identity": PHONE, "code": "" })] {
        world.storefront("customers/verify-code").json(&missing).send().await.refused(422, "body_invalid");
    }
    // None of these counted as a guess.
    world.verify(PHONE, code).await.ok(200);
}
