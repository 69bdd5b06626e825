//! Customers of another service move in (`docs/moving-in.md`; decisions, section 3, Moving in).

use portico::callers::Scope;
use portico::dev::temporary::TemporaryDirectory;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::{EMAIL, MOVED_HASH, MOVED_PASSWORD, PHONE, login, me};
use crate::support::identity_provider::{IdentityProvider, sign_in_with_a};
use crate::support::program::{portico, printed};

fn file(customers: &[Value]) -> String {
    customers.iter().map(|customer| format!("{customer}\n")).collect()
}

/// The report of an import.
async fn import(world: &World, query: &str, file: &str) -> Value {
    let path = format!("/storefront/int/v1/customers/import?store={}{query}", world.store);
    world.api(Method::POST, &path).header("content-type", "application/x-ndjson").body(file.to_owned()).send().await.ok(200)["import"]
        .take()
}

/// The customers with this external id.
async fn known_as(world: &World, external_id: &str) -> Vec<Value> {
    let path = format!("/storefront/int/v1/customers?external_id={external_id}");
    world.api(Method::GET, &path).send().await.ok(200)["customers"].as_array().unwrap().clone()
}

#[tokio::test]
async fn who_moves_in_signs_in_with_the_password_they_have_which_is_hashed_anew() {
    let world = World::new().await;
    let ada = json!({
        "external_id": "17", "name": "Ada", "email": EMAIL, "phone": PHONE, "password_hash": MOVED_HASH, "created_at": "2019-03-01T12:00:00Z",
        "meta": { "tier": "gold" },
    });
    let (report, events) = world.published(import(&world, "", &file(&[ada]))).await;
    assert!(events.is_empty());
    assert_eq!(report, json!({ "created": 1, "known": 0, "refused": [], "dry_run": false }));
    let moved_in = &known_as(&world, "17").await[0];
    assert_eq!(
        (&moved_in["name"], &moved_in["meta"], &moved_in["email_verified"]),
        (&json!("Ada"), &json!({ "tier": "gold" }), &json!(false))
    );
    assert_eq!(moved_in["created_at"], "2019-03-01T12:00:00.000+00:00");

    let sign_in =
        async |password: &str| world.storefront("customers/login").json(&json!({ "identity": EMAIL, "password": password })).send().await;
    sign_in("battery staple").await.refused(401, "credentials_invalid");
    sign_in(MOVED_PASSWORD).await.ok(200);
    let hash: String = sqlx::query_scalar("select password_hash from customers").fetch_one(&world.pool).await.unwrap();
    assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
    sign_in(MOVED_PASSWORD).await.ok(200);
}

/// The hash that is stored of the customer.
async fn stored(world: &World) -> String {
    sqlx::query_scalar("select password_hash from customers").fetch_one(&world.pool).await.unwrap()
}

#[tokio::test]
async fn a_typing_error_that_an_imported_hash_does_not_read_does_not_become_the_password() {
    let world = World::new().await;
    // bcrypt reads 72 bytes.
    let long = "correct horse battery staple ".repeat(3) + "7";
    let hash = bcrypt::hash_with_salt(&long, 4, [7; 16]).unwrap().to_string();
    import(&world, "", &file(&[json!({ "external_id": "17", "email": EMAIL, "password_hash": hash })])).await;
    for typed in [long.clone() + "x", long[..72].to_owned(), long.clone()] {
        login(&world, EMAIL, &typed).await.ok(200);
        assert_eq!(stored(&world).await, hash);
    }
    login(&world, EMAIL, &long[..71]).await.refused(401, "credentials_invalid");
}

#[tokio::test]
async fn a_hash_of_either_spelling_of_a_password_is_compared_and_hashed_anew_in_one() {
    let (composed, decomposed) = ("grünes Pferd", "gru\u{308}nes Pferd");
    for (hashed, typed) in [(composed, decomposed), (decomposed, composed), (decomposed, decomposed)] {
        let world = World::new().await;
        let hash = bcrypt::hash_with_salt(hashed, 4, [7; 16]).unwrap().to_string();
        import(&world, "", &file(&[json!({ "external_id": "17", "email": EMAIL, "password_hash": hash })])).await;
        login(&world, EMAIL, typed).await.ok(200);
        assert!(stored(&world).await.starts_with("$argon2id$"), "{hashed:?} {typed:?}");
        for spelling in [composed, decomposed] {
            login(&world, EMAIL, spelling).await.ok(200);
        }
    }
}

#[tokio::test]
async fn hashes_of_usual_strength_are_taken_and_fast_ones_are_not() {
    let world = World::new().await;
    // bcrypt with the cost 13, better-auth, Medusa and Magento.
    let hashes = [
        "$2b$13$abcdefghijklmnopqrstuufJyGQz74MaXA58G4n4SAlu8WLjGODFe",
        "000102030405060708090a0b0c0d0e0f:9372e2d20f7c9ba55e54d10569dfe24824c5765383f46b040e9ac7b33041339c514173900cb63a37c935c0e2f40cfe2cb39bee\
         5fe58f54715c1fd913c4638373",
        "c2NyeXB0AA8AAAAIAAAAAQcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHbIYB9E+wX/vfSkYp3kFo/7ojUiNZ082zPQWn42HPBqS07ex+HvsEEhXr4GmQ1x+z",
        "70992a815a27869115c29edf5220f8f4e42bddc371c01e90efaedd119ddecaad:8qnyO4H1OYIfGCUb:3_32_2_8388608",
    ];
    let email = |number: usize| format!("customer{number}@example.com");
    let line = |(number, hash): (usize, &&str)| json!({ "external_id": number.to_string(), "email": email(number), "password_hash": hash });
    let lines: Vec<_> = hashes.iter().enumerate().map(line).collect();
    assert_eq!(import(&world, "", &file(&lines)).await["created"], hashes.len());
    for number in 0..hashes.len() {
        login(&world, &email(number), "correct horse battery").await.refused(401, "credentials_invalid");
        login(&world, &email(number), "correct horse").await.ok(200);
    }
    assert_eq!(world.count("select count(*) from customers where password_hash like '$argon2id$v=19$m=19456%'").await, 4);

    let fast = "ce92627940873203d166775c57502957ccf37ca6e48f9765b328b1763fdc7ed3:8qnyO4H1OYIfGCUb:1";
    let refused = import(&world, "", &file(&[json!({ "external_id": "fast", "password_hash": fast })])).await;
    assert!(refused["refused"][0]["reasons"]["password_hash"][0].as_str().unwrap().contains("fast algorithm"), "{refused}");
}

#[tokio::test]
async fn the_same_file_again_changes_nothing_and_a_longer_one_goes_on() {
    let world = World::new().await;
    let ada = json!({ "external_id": "17", "email": EMAIL });
    let bob = json!({ "external_id": "18", "email": "bob@example.com" });
    assert_eq!(import(&world, "", &file(std::slice::from_ref(&ada))).await["created"], 1);
    let changed = json!({ "external_id": "17", "name": "Eve", "email": "eve@example.com" });
    let report = import(&world, "", &file(&[changed, bob])).await;
    assert_eq!((&report["created"], &report["known"]), (&json!(1), &json!(1)));
    assert_eq!(known_as(&world, "17").await[0]["email"], EMAIL);
    assert_eq!(import(&world, "", &file(&[ada])).await["known"], 1);
}

#[tokio::test]
async fn lines_that_cannot_be_taken_are_refused_by_number_and_the_others_go_on() {
    let world = World::new().await;
    world.register("taken@example.com").await;
    let lines = [
        json!({ "external_id": "1", "email": EMAIL }).to_string(),
        "{".to_owned(),
        json!({ "email": "b@example.com" }).to_string(),
        json!({ "external_id": "4", "email": "no address" }).to_string(),
        json!({ "external_id": "5", "email": "Taken@Example.com" }).to_string(),
        json!({ "external_id": "6", "email": EMAIL }).to_string(),
        json!({ "external_id": "7", "password_hash": "$2y$31$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e" }).to_string(),
        json!({ "external_id": "8", "created_at": "2999-01-01T00:00:00Z" }).to_string(),
        json!({ "external_id": "9", "providers": [{ "provider": "claimed_idp_c", "subject": "x" }] }).to_string(),
        String::new(),
        json!({ "external_id": "11" }).to_string(),
    ];
    let report = import(&world, "", &lines.join("\n")).await;
    assert_eq!(report["created"], 2);
    let refused: Vec<_> = report["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|refused| {
            let (member, _) = refused["reasons"].as_object().unwrap().iter().next().unwrap();
            (refused["line"].as_u64().unwrap(), member.as_str())
        })
        .collect();
    let expected = [
        (2, "line"),
        (3, "external_id"),
        (4, "email"),
        (5, "email"),
        (6, "email"),
        (7, "password_hash"),
        (8, "created_at"),
        (9, "providers"),
    ];
    assert_eq!(refused, expected);
}

#[tokio::test]
async fn a_contact_is_proven_only_if_the_file_says_so_and_the_importer_vouches() {
    let world = World::new().await;
    let ada = json!({ "external_id": "1", "email": EMAIL, "email_verified": true });
    let bob = json!({ "external_id": "2", "email": "bob@example.com" });
    import(&world, "&vouch=true", &file(&[ada, bob])).await;
    assert_eq!(known_as(&world, "1").await[0]["email_verified"], true);
    assert_eq!(known_as(&world, "2").await[0]["email_verified"], false);
    let cy = json!({ "external_id": "3", "email": "cy@example.com", "email_verified": true });
    import(&world, "", &file(&[cy])).await;
    assert_eq!(known_as(&world, "3").await[0]["email_verified"], false);
    world.storefront("customers/login-with-sms").json(&json!({ "identity": EMAIL })).send().await.ok(200);
    world
        .storefront("customers/login-with-sms")
        .json(&json!({ "identity": "cy@example.com" }))
        .send()
        .await
        .refused(422, "customer_not_found");
}

#[tokio::test]
async fn a_link_that_nobody_vouches_for_leads_nobody_into_an_account_that_another_password_opens() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let writing = world.key_of(world.company, &[Scope::Write]).await;
    let link = json!([{ "provider": "idp_a", "subject": "7" }]);
    let planted = json!({ "external_id": "17", "email": EMAIL, "password_hash": MOVED_HASH, "providers": link });
    let path = format!("/storefront/int/v1/customers/import?store={}", world.store);
    let request = world.request(Method::POST, &path).key(&writing).header("content-type", "application/x-ndjson");
    let report = request.body(file(&[planted])).send().await.ok(200)["import"].take();
    assert_eq!(report["created"], 0);
    assert!(report["refused"][0]["reasons"]["providers"][0].as_str().unwrap().contains("vouches"), "{report}");
    // The person signs in for the first time, to an account of their own.
    let ada = sign_in_with_a(&world, "7").await;
    assert_eq!((&me(&world, &ada).await["email"], world.count("select count(*) from customers").await), (&json!(null), 1));
    login(&world, EMAIL, MOVED_PASSWORD).await.refused(401, "credentials_invalid");
}

#[tokio::test]
async fn a_link_that_the_importer_vouches_for_signs_its_customer_in() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let ada = json!({ "external_id": "17", "name": "Ada", "providers": [{ "provider": "idp_a", "subject": "7" }] });
    let lines = file(&[ada]);
    assert_eq!(import(&world, "&vouch=true", &lines).await["created"], 1);
    // Given again, also without vouching, the line changes nothing.
    let again = import(&world, "", &lines).await;
    assert_eq!((&again["created"], &again["known"], &again["refused"]), (&json!(0), &json!(1), &json!([])));
    assert_eq!(me(&world, &sign_in_with_a(&world, "7").await).await["name"], "Ada");
}

#[tokio::test]
async fn a_dry_run_tells_what_would_be_and_stores_nothing() {
    let world = World::new().await;
    let lines = file(&[json!({ "external_id": "1", "email": EMAIL }), json!({ "external_id": "2", "email": EMAIL })]);
    let dry = import(&world, "&dry_run=true", &lines).await;
    assert_eq!((&dry["created"], &dry["dry_run"], dry["refused"].as_array().unwrap().len()), (&json!(1), &json!(true), 1));
    assert!(known_as(&world, "1").await.is_empty());
    let mut real = import(&world, "", &lines).await;
    real["dry_run"] = json!(true);
    assert_eq!(real, dry);
}

#[tokio::test]
async fn the_file_of_the_page_is_imported() {
    let world = World::new().await;
    let (_, file) = include_str!("../../../docs/moving-in.md").split_once("```ndjson\n").unwrap();
    let report = import(&world, "&vouch=true", file.split_once("```").unwrap().0).await;
    assert_eq!(report["created"], 2, "{report}");
}

#[tokio::test]
async fn only_a_key_that_may_change_customers_imports_and_only_into_a_store_of_its_company() {
    let world = World::new().await;
    let path = format!("/storefront/int/v1/customers/import?store={}", world.store);
    let line = file(&[json!({ "external_id": "1" })]);
    let reading = world.key_of(world.company, &[Scope::Read]).await;
    let (_, foreign) = world.another_company(&[Scope::Read, Scope::Write]).await;
    let ask = async |key: &str| {
        world.request(Method::POST, &path).key(key).header("content-type", "application/x-ndjson").body(line.clone()).send().await
    };
    ask(&reading).await.refused(403, "scope_missing");
    let writing = world.key_of(world.company, &[Scope::Write]).await;
    let vouching = world.request(Method::POST, &format!("{path}&vouch=true")).key(&writing);
    vouching.header("content-type", "application/x-ndjson").body(line.clone()).send().await.refused(403, "scope_missing");
    ask(&foreign).await.refused(404, "record_not_found");
    assert!(known_as(&world, "1").await.is_empty());
}

#[tokio::test]
async fn a_request_has_five_thousand_lines_at_most() {
    let world = World::new().await;
    let path = format!("/storefront/int/v1/customers/import?store={}", world.store);
    let send = async |lines: usize| {
        world.api(Method::POST, &path).header("content-type", "application/x-ndjson").body("x\n".repeat(lines)).send().await
    };
    let refused = send(5_000).await.ok(200)["import"]["refused"].take();
    assert_eq!(refused.as_array().unwrap().len(), 5_000);
    send(5_001).await.refused(413, "body_too_large");
}

#[tokio::test]
async fn the_command_imports_a_file_and_fails_if_a_line_was_refused() {
    let world = World::new().await;
    let directory = TemporaryDirectory::make("portico-import").unwrap();
    let path = directory.path().join("customers.ndjson");
    let (path, store) = (path.to_str().unwrap(), world.store.to_string());
    let settings = [("database.url", world.database.as_str())];
    std::fs::write(path, file(&[json!({ "external_id": "1", "email": EMAIL })])).unwrap();
    let arguments = ["customer", "import", path, "--store", &store, "--json"];
    let report: Value = serde_json::from_str(&printed(&arguments, &settings).await).unwrap();
    assert_eq!(report["import"]["created"], 1);
    std::fs::write(path, file(&[json!({ "external_id": "1" }), json!({ "external_id": "2", "email": EMAIL })])).unwrap();
    let output = portico(&arguments[..5], &settings).output().await.unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "0 customers created, 1 known, 1 lines refused\n");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("line 2: email: Another customer or a test identity has this email.") && told.contains("1 line was refused"),
        "{told}"
    );
    // Nor does the command take a link without vouching.
    std::fs::write(path, file(&[json!({ "external_id": "3", "providers": [{ "provider": "idp_a", "subject": "7" }] })])).unwrap();
    assert_eq!(portico(&arguments[..5], &settings).output().await.unwrap().status.code(), Some(4));
    let vouching = [&arguments[..5], &["--vouch"]].concat();
    assert_eq!(portico(&vouching, &settings).output().await.unwrap().status.code(), Some(0));
}
