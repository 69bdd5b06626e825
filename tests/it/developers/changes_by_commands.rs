//! The audit trail of the command line: every command that changes access or settings leaves one entry for each record.

use serde_json::{Value, json};

use crate::support::World;
use crate::support::program::fed;

/// A command line and its standard input, run on the database of a world.
async fn entries(world: &World, arguments: &[&str], input: &str) -> (Result<String, String>, Vec<Value>) {
    let settings = [("database.url", world.database.as_str()), ("application_key", world.application_key_setting.as_str())];
    let ids = "select array_agg(id) from changes";
    let before: Option<Vec<uuid::Uuid>> = sqlx::query_scalar(ids).fetch_one(&world.pool).await.unwrap();
    let printed = fed(arguments, &settings, input).await;
    let new = "select jsonb_build_array(caller, caller_id, request_id, action, kind, fields) from changes
               where id <> all($1) and company_id = $2 order by action";
    let new = sqlx::query_scalar(new).bind(before.unwrap_or_default()).bind(world.company.uuid()).fetch_all(&world.pool).await.unwrap();
    (printed, new)
}

/// Runs a command that must leave these entries; returns the id that it prints.
async fn leaves(world: &World, arguments: &[&str], input: &str, expected: &[(&str, &str, &[&str])]) -> String {
    let (printed, entries) = entries(world, &[arguments, &["--json"]].concat(), input).await;
    let expected: Vec<_> =
        expected.iter().map(|(action, kind, fields)| json!(["command_line", null, null, action, kind, fields])).collect();
    assert_eq!(entries, expected, "{arguments:?}: {printed:?}");
    let printed: Value = serde_json::from_str(&printed.unwrap()).unwrap();
    printed.as_object().unwrap().values().next().unwrap()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_command_leaves_its_entry() {
    let world = World::new().await;
    let (company, store) = (world.company.to_string(), world.store.to_string());
    leaves(&world, &["store", "create", "Outlet", "--company", &company], "", &[("created", "store", &[])]).await;
    let key = leaves(&world, &["key", "create", "--store", &store], "", &[("created", "store_key", &[])]).await;
    leaves(&world, &["key", "revoke", &key], "", &[("updated", "store_key", &["revoked_at"])]).await;
    let create = ["key", "create", "--company", &company, "--scopes", "read"];
    let key = leaves(&world, &create, "", &[("created", "api_key", &[])]).await;
    let rolled: &[(&str, &str, &[&str])] = &[("created", "api_key", &[]), ("updated", "api_key", &["revoked_at"])];
    leaves(&world, &["key", "roll", &key], "", rolled).await;
    leaves(&world, &["key", "revoke", &key], "", &[("updated", "api_key", &["revoked_at"])]).await;
    let create = ["operator", "create", "ada@example.com", "--company", &company];
    leaves(&world, &create, "correct horse battery\n", &[("created", "operator", &[])]).await;
    // The last owner stays.
    let create = ["operator", "create", "grace@example.com", "--company", &company];
    leaves(&world, &create, "correct horse battery\n", &[("created", "operator", &[])]).await;
    leaves(&world, &["operator", "remove", "ada@example.com"], "", &[("deleted", "operator", &[])]).await;
    let create = ["gateway", "create", "--company", &company, "--driver", "card"];
    let gateway = leaves(&world, &create, "sk_live_1234567890\n", &[("created", "gateway", &[])]).await;
    leaves(&world, &["gateway", "rotate", &gateway], "sk_live_0987654321\n", &[("updated", "gateway", &["secret_key"])]).await;
    let stored: String = sqlx::query_scalar("select string_agg(changes::text, '') from changes").fetch_one(&world.pool).await.unwrap();
    for secret in ["sk_live", "correct horse", "argon2", "ada@example.com"] {
        assert!(!stored.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn a_command_that_fails_leaves_nothing() {
    let world = World::new().await;
    let company = world.company.to_string();
    let operator = ["operator", "create", "ada@example.com", "--company", &company];
    let gateway = ["gateway", "create", "--company", &company, "--driver", "card"];
    entries(&world, &operator, "correct horse battery\n").await.0.unwrap();
    entries(&world, &gateway, "sk_live_1234567890\n").await.0.unwrap();
    let nobody = ["operator", "remove", "bob@example.com"];
    let unknown = ["key", "revoke", "key_01h455vb4pex5vsknk084sn02q"];
    for (arguments, input) in
        [(&operator[..], "correct horse battery\n"), (&gateway, "sk_live_1234567890\n"), (&nobody, ""), (&unknown, "")]
    {
        let (printed, entries) = entries(&world, arguments, input).await;
        assert!(printed.is_err() && entries.is_empty(), "{arguments:?}: {printed:?} {entries:?}");
    }
}
