//! Databases that refuse what a distributed PostgreSQL does not have: every story proves that nothing asks for it.

use sqlx::{AssertSqlSafe, Executor, PgConnection};

/// The schema of the functions that refuse.
const SCHEMA: &str = "refused";

/// Functions of locks outside of tables and of transaction ids, in place of which there are functions of the same names that fail.
const MAKE: &str = r"
    create schema refused;
    do $do$
    declare
        asked record;
    begin
        for asked in
            select proname, pg_get_function_identity_arguments(oid) as arguments, pg_get_function_result(oid) as result from pg_proc
            where pronamespace = 'pg_catalog'::regnamespace and prokind = 'f'
            and proname ~ '^(pg_(try_)?advisory_|pg_(current_)?(snapshot|xact_id)|pg_visible_in_snapshot|pg_export_snapshot|txid_)'
            and proname !~ '_(in|out|recv|send)$'
        loop
            execute format(
                'create function refused.%I(%s) returns %s language plpgsql as $f$ begin raise ''%s is not portable''; end $f$',
                asked.proname, asked.arguments, asked.result, asked.proname
            );
        end loop;
    end
    $do$";

/// Makes the functions in this database, from which others are copied.
pub async fn refuse_more(conn: &mut PgConnection) {
    conn.execute(MAKE).await.unwrap();
}

/// Lets all sessions of a database find these functions first. It is no part of what is copied.
pub async fn find_refusals(conn: &mut PgConnection, database: &str) {
    let path = format!("alter database {database} set search_path = public, {SCHEMA}, pg_catalog");
    conn.execute(AssertSqlSafe(path)).await.unwrap();
}
