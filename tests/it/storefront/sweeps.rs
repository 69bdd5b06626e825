//! Sweeps: what is deleted once a minute is found by an index, however large the tables are.

use std::fs;
use std::path::Path;

use chrono::TimeDelta;
use serde_json::Value;
use sqlx::AssertSqlSafe;

use crate::support::World;
use crate::support::customers::{EMAIL, PHONE};

/// The tables that are swept by age.
const TABLES: [&str; 7] = ["rate_limits", "verification_codes", "wrong_codes", "texts", "text_minutes", "text_hours", "text_pauses"];

/// The statement that sweeps a table, from the metadata of all checked queries.
fn sweeping(table: &str) -> String {
    let metadata = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".sqlx")).unwrap();
    let queries = metadata.map(|file| {
        let query: Value = serde_json::from_slice(&fs::read(file.unwrap().path()).unwrap()).unwrap();
        query["query"].as_str().unwrap().to_owned()
    });
    let mut sweeps = queries.filter(|query| query.starts_with(&format!("delete from {table} ")) && query.ends_with(" < $1"));
    sweeps.next().unwrap_or_else(|| panic!("{table} is swept"))
}

#[tokio::test]
async fn what_is_swept_is_found_by_its_age() {
    let world = World::with(&[("database.max_connections", "1")]).await;
    world.register(PHONE).await;
    world.register(EMAIL).await;
    sqlx::raw_sql(
        "insert into wrong_codes (store_id, identity, wrong, last_wrong_at)
             select id, 'somebody ' || n, 1, now() from stores, generate_series(1, 20000) as n;
         insert into rate_limits (bucket, hits, expires_at) select 'bucket ' || n, array[now()], now() from generate_series(1, 20000) as n;
         insert into texts (id, store_id, company_id, number, number_range, status, created_at)
             select gen_random_uuid(), id, company_id, '+1201555' || n, '+1201555', 'sent', now() from stores, generate_series(1, 20000) as n;
         insert into verification_codes (id, store_id, purpose, identity, sent_to, channel, digest, issued_at, expires_at)
             select gen_random_uuid(), id, 'create_account', n::text, n::text, 'sms', '\\x00', now(), now() from stores, generate_series(1, 20000) as n;
         insert into text_minutes (store_id, country, minute, sent, strangers, used)
             select id, '', now() + n * interval '1 minute', 1, 1, 1 from stores, generate_series(1, 20000) as n;
         insert into text_hours (store_id, company_id, hour, status, rule, total)
             select id, company_id, now() + n * interval '1 hour', 'sent', '', 1 from stores, generate_series(1, 20000) as n;
         insert into text_pauses (id, company_id, store_id, scope, name, level, texted, used, reason, paused_at, paused_until, ended_at)
             select gen_random_uuid(), company_id, id, 'range', n::text, 1, 5, 0, 'of 5', now(), now(), now() from stores, generate_series(1, 20000) as n;
         analyze; set plan_cache_mode = force_custom_plan",
    )
    .execute(&world.pool)
    .await
    .unwrap();
    let long_ago = (world.clock.now() - TimeDelta::days(1_000)).to_rfc3339();
    for table in TABLES {
        let statement = sweeping(table);
        let prepare = format!("prepare sweeping_{table} (timestamptz) as {statement}");
        sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&world.pool).await.unwrap();
        let explain = format!("explain execute sweeping_{table} ('{long_ago}')");
        let plan: Vec<String> = sqlx::query_scalar(AssertSqlSafe(explain)).fetch_all(&world.pool).await.unwrap();
        let plan = plan.join("\n");
        assert!(plan.contains("Index") && !plan.contains("Seq Scan"), "{statement}\n{plan}");
    }
}
