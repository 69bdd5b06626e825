//! Extension resources: interface 2, the five routes; decisions, section 9. Drivers and orders represent all resources.

use chrono::TimeDelta;
use futures::future::join_all;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::{id, uuid};
use crate::support::routes::{Kind, NOBODY, RESOURCES};

/// The five routes, each with a valid body.
fn five_routes(record: &str) -> [(Method, String, Value); 5] {
    [
        (Method::GET, "drivers".to_owned(), json!({})),
        (Method::POST, "drivers".to_owned(), json!({ "name": "Eve" })),
        (Method::GET, format!("drivers/{record}"), json!({})),
        (Method::PUT, format!("drivers/{record}"), json!({ "name": "Eve" })),
        (Method::DELETE, format!("drivers/{record}"), json!({})),
    ]
}

#[tokio::test]
async fn a_record_lives_through_its_five_routes() {
    let world = World::new().await;
    let created = world.fleet(Method::POST, "drivers").json(&json!({ "name": "Ada", "meta": { "a": 1 } })).send().await;
    assert_eq!(created.header("etag"), Some("\"1\""));
    let driver = created.ok(201)["driver"].take();
    assert_eq!((&driver["name"], &driver["meta"], &driver["phone"]), (&json!("Ada"), &json!({ "a": 1 }), &json!(null)));
    assert_eq!(driver["created_at"], "2026-05-21T10:15:00.000+00:00");
    assert_eq!(driver["updated_at"], driver["created_at"]);

    world.pass(TimeDelta::seconds(1));
    let changed = world.fleet(Method::PUT, &format!("drivers/{}", id(&driver))).json(&json!({ "name": "Ada L." })).send().await;
    assert_eq!(changed.header("etag"), Some("\"2\""));
    let changed = changed.ok(200)["driver"].take();
    assert_eq!((&changed["name"], &changed["meta"]), (&json!("Ada L."), &json!({ "a": 1 })), "only the sent fields change");
    assert_eq!(changed["updated_at"], "2026-05-21T10:15:01.000+00:00");

    let found = world.fleet(Method::GET, &format!("drivers/{}", id(&driver))).send().await;
    assert_eq!(found.header("etag"), Some("\"2\""));
    assert_eq!(found.ok(200)["driver"], changed);
    assert_eq!(world.fleet_list("drivers").await, json!({ "drivers": [changed], "meta": { "per_page": 25, "next": null } }));

    let deleted = world.fleet(Method::DELETE, &format!("drivers/{}", id(&driver))).send().await.ok(200);
    assert_eq!(deleted["driver"], changed);
    for (method, path, body) in five_routes(id(&driver)).into_iter().skip(2) {
        world.fleet(method, &path).json(&body).send().await.refused(404, "record_not_found");
    }
    assert_eq!(world.fleet_list("drivers").await["drivers"], json!([]));
    assert_eq!(world.count("select count(*) from drivers where deleted_at is not null").await, 1, "a deleted record stays in the table");
}

#[tokio::test]
async fn a_path_takes_the_uuid_and_the_typed_id_and_nothing_else() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    for form in [id(&driver).to_owned(), uuid(&driver).to_string()] {
        assert_eq!(world.fleet(Method::GET, &format!("drivers/{form}")).send().await.ok(200)["driver"], driver);
    }
    let other_kind = id(&driver).replace("driver_", "order_");
    for nonsense in [&other_kind, "nonsense", "7", "%00", "%ff", "driver_", "00000000-0000-0000-0000-000000000000"] {
        world.fleet(Method::GET, &format!("drivers/{nonsense}")).send().await.refused(404, "record_not_found");
    }
}

#[tokio::test]
async fn a_key_does_what_its_scopes_allow() {
    let world = World::new().await;
    let keys = [
        (vec![Scope::Read], [true, false]),
        (vec![Scope::Write], [false, true]),
        (vec![Scope::Callbacks, Scope::Events], [false, false]),
        (vec![], [false, false]),
        (vec![Scope::Admin], [true, true]),
    ];
    for (scopes, [may_read, may_write]) in keys {
        let key = world.key_of(world.company, &scopes).await;
        let driver = world.driver("Ada").await;
        for (method, path, body) in five_routes(id(&driver)) {
            let may = if method == Method::GET { may_read } else { may_write };
            let answer = world.fleet(method.clone(), &path).key(&key).json(&body).send().await;
            match may {
                true => assert!(answer.status < 300, "{scopes:?} {method} {path}: {answer:?}"),
                false => drop(answer.refused(403, "scope_missing")),
            }
        }
    }
    for key in ["", "key_", "nonsense", world.store_key.as_str()] {
        world.fleet(Method::GET, "drivers").key(key).send().await.refused(401, "api_key_invalid");
    }
    world.request(Method::GET, "/fleet/int/v1/drivers").send().await.refused(401, "api_key_invalid");
}

#[tokio::test]
async fn another_companys_record_is_not_there() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let (_, other) = world.another_company(&Scope::ALL).await;
    for (method, path, body) in five_routes(id(&driver)).into_iter().skip(2) {
        world.fleet(method, &path).key(&other).json(&body).send().await.refused(404, "record_not_found");
    }
    let list = world.fleet(Method::GET, "drivers").key(&other).send().await.ok(200);
    assert_eq!(list["drivers"], json!([]));
    let unchanged = world.fleet(Method::GET, &format!("drivers/{}", id(&driver))).send().await.ok(200);
    assert_eq!(unchanged["driver"], driver);
}

#[tokio::test]
async fn who_names_a_version_changes_that_version_or_nothing() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let path = format!("drivers/{}", id(&driver));
    let put =
        |if_match: &str, name: &str| world.fleet(Method::PUT, &path).header("if-match", if_match).json(&json!({ "name": name })).send();
    put("\"1\"", "Second").await.ok(200);
    for stale in ["\"1\"", "W/\"1\"", "\"1\", \"3\""] {
        put(stale, "Lost").await.refused(412, "record_changed");
        world.fleet(Method::DELETE, &path).header("if-match", stale).send().await.refused(412, "record_changed");
    }
    // The version that was read, and yet no tag: it has not changed.
    for wrong in ["2", "w/\"2\"", "\"2\"junk", "nonsense", ""] {
        assert_eq!(put(wrong, "Lost").await.refused(422, "parameter_invalid")["parameter"], "If-Match", "{wrong:?}");
        world.fleet(Method::DELETE, &path).header("if-match", wrong).send().await.refused(422, "parameter_invalid");
    }
    put("\"1\", \"2\"", "Third").await.ok(200);
    put("*", "Fourth").await.ok(200);
    assert_eq!(world.fleet(Method::GET, &path).send().await.ok(200)["driver"]["name"], "Fourth");
    // A proxy that compresses answers has weakened the tag.
    world.fleet(Method::DELETE, &path).header("if-match", "W/\"4\"").send().await.ok(200);
}

#[tokio::test]
async fn of_many_changes_to_one_version_one_wins() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let path = format!("drivers/{}", id(&driver));
    let changes = (0..10).map(|n| {
        let body = json!({ "name": format!("Ada {n}") });
        let (world, path) = (&world, &path);
        async move { world.fleet(Method::PUT, path).header("if-match", "\"1\"").json(&body).send().await }
    });
    let (answers, events) = world.published(join_all(changes)).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 412)));
    assert_eq!(events.len(), 1);
}

#[tokio::test]
async fn what_ends_unchanged_is_not_a_change() {
    let world = World::new().await;
    let body = json!({ "name": "Ada", "meta": { "b": 1.0, "a": [1, "x", null] }, "latitude": 0.1, "longitude": -0.0 });
    let driver = world.fleet(Method::POST, "drivers").json(&body).send().await.ok(201)["driver"].take();
    let path = format!("drivers/{}", id(&driver));
    for same in [json!({}), body, json!({ "name": " Ada " }), json!({ "phone": null })] {
        let (answer, events) = world.published(world.fleet(Method::PUT, &path).json(&same).send()).await;
        assert_eq!(answer.header("etag"), Some("\"1\""), "{same}");
        assert_eq!(answer.ok(200)["driver"], driver);
        assert!(events.is_empty(), "{same}: {events:?}");
    }
}

#[tokio::test]
async fn a_body_may_be_wrapped_and_has_only_known_members() {
    let world = World::new().await;
    let wrapped = json!({ "driver": { "name": "Ada" } });
    let driver = world.fleet(Method::POST, "drivers").json(&wrapped).send().await.ok(201)["driver"].take();
    let path = format!("drivers/{}", id(&driver));
    let changed = world.fleet(Method::PUT, &path).json(&json!({ "driver": { "email": "ada@example.com" } })).send().await.ok(200);
    assert_eq!(changed["driver"]["email"], "ada@example.com");
    for (body, member) in [
        (json!({ "name": "Ada", "nmae": "Ada" }), "nmae"),
        (json!({ "driver": { "name": "Ada", "id": "x" } }), "id"),
        (json!({ "driver": { "name": "Ada" }, "name": "Ada" }), "driver"),
        (json!({ "name": "Ada", "version": 7 }), "version"),
        (json!({ "name": "Ada", "company_id": "company_7" }), "company_id"),
    ] {
        let refusal = world.fleet(Method::POST, "drivers").json(&body).send().await.refused(422, "body_invalid");
        assert!(refusal["fields"][member].is_array(), "{body}: {refusal}");
        world.fleet(Method::PUT, &path).json(&body).send().await.refused(422, "body_invalid");
    }
    assert_eq!(world.count("select count(*) from drivers").await, 1);
}

#[tokio::test]
async fn bodies_that_cannot_be_used_are_problems_and_change_nothing() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let before = world.count("select count(*) from events").await;
    let path = format!("drivers/{}", id(&driver));
    for (method, path) in [(Method::POST, "drivers"), (Method::PUT, path.as_str())] {
        let send = |body: Vec<u8>| world.fleet(method.clone(), path).header("content-type", "application/json").body(body).send();
        for (body, status, code) in [
            ("{".to_owned(), 400, "json_invalid"),
            ("{} {}".to_owned(), 400, "json_invalid"),
            ("[]".to_owned(), 422, "body_invalid"),
            ("[\"Ada\"]".to_owned(), 422, "body_invalid"),
            ("null".to_owned(), 422, "body_invalid"),
            ("\"Ada\"".to_owned(), 422, "body_invalid"),
            (r#"{"name":"a","name":"b"}"#.to_owned(), 422, "body_invalid"),
            (r#"{"name":"a\u0000b"}"#.to_owned(), 422, "body_invalid"),
            (r#"{"driver":{"name":"a\u0000b"}}"#.to_owned(), 422, "body_invalid"),
            (r#"{"name":"Bob","meta":{"\u0000":1}}"#.to_owned(), 422, "body_invalid"),
            (r#"{"name":"Bob","meta":5}"#.to_owned(), 422, "body_invalid"),
            (r#"{"name":"Bob","meta":null}"#.to_owned(), 422, "body_invalid"),
            (r#"{"name":"Bob","online":"yes"}"#.to_owned(), 422, "body_invalid"),
            (r#"{"name":"Bob","online":null}"#.to_owned(), 422, "body_invalid"),
            (r#"{"name":null}"#.to_owned(), 422, "body_invalid"),
            (r#"{"name":"  "}"#.to_owned(), 422, "body_invalid"),
            (r#"{"name":["Bob"]}"#.to_owned(), 422, "body_invalid"),
            (r#"{"name":"Bob","speed":1e999}"#.to_owned(), 422, "body_invalid"),
            (format!("{{\"name\":\"Bob\",\"meta\":{}", "[".repeat(100_000)), 400, "json_invalid"),
            (format!("{{\"name\":\"{}\"}}", "x".repeat(300 * 1024)), 413, "body_too_large"),
        ] {
            send(body.into_bytes()).await.refused(status, code);
        }
        send(vec![b'"', 0xff, b'"']).await.refused(400, "json_invalid");
        let form = world.fleet(method.clone(), path).header("content-type", "application/x-www-form-urlencoded").body("name=Bob");
        form.send().await.refused(415, "media_type_unsupported");
        for coding in ["gzip", "br", "identity, deflate"] {
            let packed = world.fleet(method.clone(), path).header("content-type", "application/json").header("content-encoding", coding);
            packed.body(r#"{"name":"Bob"}"#).send().await.refused(415, "media_type_unsupported");
        }
    }
    assert_eq!(world.fleet_list("drivers").await["drivers"], json!([driver]));
    assert_eq!(world.count("select count(*) from events").await, before);
}

#[tokio::test]
async fn a_kind_of_record_nobody_knows_has_no_routes() {
    let world = World::new().await;
    world.fleet(Method::GET, "trucks").send().await.refused(404, "route_unknown");
}

#[tokio::test]
async fn a_change_that_fails_at_its_end_has_not_happened() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let order = world.order(json!({})).await;
    let number = world.fleet_list("tracking-numbers").await["tracking_numbers"][0].clone();
    let before = world.count("select count(*) from events").await;
    world.refuse_events().await;
    for (method, path, body) in five_routes(id(&driver)).into_iter().filter(|(method, ..)| *method != Method::GET) {
        world.fleet(method, &path).json(&body).send().await.refused(500, "internal_error");
    }
    let there = json!({ "latitude": 1.3, "longitude": 103.8 });
    for (method, path, body) in [
        (Method::POST, "orders".to_owned(), json!({ "driver": id(&driver) })),
        (Method::POST, format!("drivers/{}/track", id(&driver)), there),
        (
            Method::POST,
            "drivers/track".to_owned(),
            json!({ "positions": [{ "driver": id(&driver), "latitude": 1.3, "longitude": 103.8 }] }),
        ),
        (Method::PUT, format!("tracking-numbers/{}", id(&number)), json!({ "tracking_number": "CARRIER-7" })),
        (Method::PUT, format!("orders/{}", id(&order)), json!({ "status": "cancelled" })),
        (Method::DELETE, format!("orders/{}", id(&order)), json!({})),
    ] {
        world.fleet(method, &path).json(&body).send().await.refused(500, "internal_error");
    }
    assert_eq!(world.fleet_list("drivers").await["drivers"], json!([driver]));
    assert_eq!(world.fleet_list("orders").await["orders"], json!([order]));
    assert_eq!(world.fleet_list("tracking-numbers").await["tracking_numbers"], json!([number]));
    assert_eq!(world.count("select count(*) from tracking_statuses").await, 1);
    assert_eq!(world.count("select count(*) from events").await, before);
    assert_eq!(world.count("select count(*) from outbox").await, before);
}

#[tokio::test]
async fn every_resource_stands_in_the_database() {
    let world = World::new().await;
    for (namespace, plural, kind) in RESOURCES {
        // The statement names every column of the resource.
        let path = format!("/{namespace}/int/v1/{plural}");
        world.api(Method::GET, &format!("{path}/{NOBODY}")).send().await.refused(404, "record_not_found");
        // Some logs are read through a view.
        if *kind == Kind::Log {
            continue;
        }
        let table = match (*namespace, *plural) {
            ("inventory" | "support", _) => "declared_records".to_owned(),
            (_, "webhooks") => "subscriptions".to_owned(),
            _ => plural.replace('-', "_"),
        };
        let columns = "select count(*) from information_schema.columns where table_name = $1 and (column_name, udt_name, is_nullable) in
                       (('id', 'uuid', 'NO'), ('company_id', 'uuid', 'NO'), ('version', 'int8', 'NO'), ('created_at', 'timestamptz', 'NO'),
                        ('updated_at', 'timestamptz', 'NO'), ('deleted_at', 'timestamptz', 'YES'))";
        let primary_key = "select count(*) from pg_indexes where tablename = $1 and indexname = $1 || '_pkey' and indexdef like '%(id)'";
        let of_company = "select least(count(*), 1) from pg_indexes where tablename = $1 and
                          (indexdef like '%(company_id, created_at, id)%' or indexdef like '%(company_id, kind, created_at, id)%')";
        for (sql, expected) in [(columns, 6), (primary_key, 1), (of_company, 1)] {
            let found: i64 = sqlx::query_scalar(sql).bind(&table).fetch_one(&world.pool).await.unwrap();
            assert_eq!(found, expected, "{path}: {sql}");
        }
    }
}
