//! The rights of a role that works with the tables of another one: it reads and writes, and neither makes nor drops anything.
//!
//! What it needs is told by what a thing is: rows of tables, of their partitions and of views, which are locked through them, except of the
//! tables that only migrations write; sequences; functions. A role that may do more than that, and one that lacks something, are told by the same list, from which [`grant`]
//! mends both. What is made later, by migrations and as partitions of days, has the rights by default.

use std::fmt;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Postgres};

/// A right that the role lacks, or that it should not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amiss {
    /// Whether the role needs it, and lacks it.
    pub needed: bool,
    privilege: String,
    /// `table`, `sequence`, `function`, `schema` or `database`. A view is granted like a table.
    kind: String,
    /// Its name, quoted where it has to be.
    object: String,
}

/// `select on table orders`
impl fmt::Display for Amiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} {}", self.privilege, self.kind, self.object)
    }
}

/// What the role lacks, and what it should not have. Nothing before the first migration. What housekeeping has detached is nobody's business.
pub async fn list_amiss<'c>(database: impl Executor<'c, Database = Postgres>, role: &str) -> Result<Vec<Amiss>, sqlx::Error> {
    sqlx::query_as!(
        Amiss,
        r#"with ours as (
               select relowner as owner, relnamespace as namespace from pg_class where oid = to_regclass('_sqlx_migrations')
           ), owned as (
               select pg_class.oid, relkind, relname not in ('_sqlx_migrations', 'schema_compatibility') as is_written
               from pg_class join ours on relowner = owner and relnamespace = namespace
               where relkind in ('r', 'p', 'v', 'S') and relname not like '%\_expired'
               and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')
           ), rights (kind, object, privilege, has, needed) as (
               select 'table', oid::regclass::text, privilege, has_table_privilege($1::name, oid, privilege),
                      privilege = 'select' or is_written and privilege in ('insert', 'update', 'delete')
               from owned, unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) privilege
               where relkind <> 'S'
               union all
               select 'sequence', oid::regclass::text, privilege, has_sequence_privilege($1::name, oid, privilege), privilege <> 'update'
               from owned, unnest(array['usage', 'select', 'update']) privilege where relkind = 'S'
               union all
               select 'function', pg_proc.oid::regprocedure::text, 'execute', has_function_privilege($1::name, pg_proc.oid, 'execute'), true
               from pg_proc join ours on proowner = owner and pronamespace = namespace
               union all
               select 'schema', namespace::regnamespace::text, privilege, has_schema_privilege($1::name, namespace, privilege), privilege = 'usage'
               from ours, unnest(array['usage', 'create']) privilege
               union all
               select 'database', quote_ident(datname), privilege, has_database_privilege($1::name, pg_database.oid, privilege), privilege = 'connect'
               from ours join pg_database on datname = current_database(), unnest(array['connect', 'create']) privilege
           )
           select kind as "kind!", object as "object!", privilege as "privilege!", needed as "needed!"
           from rights where has <> needed order by 4 desc, 1, 2, 3"#,
        role,
    )
    .fetch_all(database)
    .await
}

/// Why no grant restricts the role.
#[derive(Clone, Copy, Debug)]
pub struct Power {
    /// It is a superuser, or may make databases or roles, replicate, or bypass the security of rows.
    pub has_attributes: bool,
    /// It owns the tables, or may act as the role that does.
    pub acts_as_owner: bool,
}

/// How powerful the role is. `None` before the first migration, and if there is no such role.
pub async fn find_power<'c>(database: impl Executor<'c, Database = Postgres>, role: &str) -> Result<Option<Power>, sqlx::Error> {
    sqlx::query_as!(
        Power,
        r#"select rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls as "has_attributes!",
                  pg_has_role(pg_roles.oid, relowner, 'member') as "acts_as_owner!"
           from pg_roles, pg_class where rolname = $1::name and pg_class.oid = to_regclass('_sqlx_migrations')"#,
        role,
    )
    .fetch_optional(database)
    .await
}

/// Gives the role what it needs of what migrations are about to make, so that the instances that run meanwhile go on. [`grant`] follows.
pub(super) async fn grant_beforehand(conn: &mut PgConnection, role: &str) -> Result<(), sqlx::Error> {
    let role = quoted(conn, role).await?;
    let rights = [("select, insert, update, delete", "tables"), ("usage, select", "sequences"), ("execute", "functions")];
    for (privileges, kind) in rights {
        // Without `in schema` it would hold for every schema.
        let schema: String = sqlx::query_scalar("select quote_ident(current_schema())").fetch_one(&mut *conn).await?;
        let grant = format!("alter default privileges in schema {schema} grant {privileges} on {kind} to {role}");
        conn.execute(AssertSqlSafe(grant)).await?;
    }
    Ok(())
}

/// Gives the role what it lacks, and takes from it what it should not have, at once. What it has by other roles or by an attribute of its own
/// stays; `portico doctor` tells.
pub(super) async fn grant(conn: &mut PgConnection, role: &str) -> Result<(), sqlx::Error> {
    grant_beforehand(conn, role).await?;
    let quoted = quoted(conn, role).await?;
    let mut transaction = conn.begin().await?;
    for amiss in list_amiss(&mut *transaction, role).await? {
        let (verb, to) = if amiss.needed { ("grant", "to") } else { ("revoke", "from") };
        (&mut *transaction).execute(AssertSqlSafe(format!("{verb} {amiss} {to} {quoted}"))).await?;
    }
    transaction.commit().await
}

async fn quoted(conn: &mut PgConnection, role: &str) -> Result<String, sqlx::Error> {
    sqlx::query_scalar("select quote_ident($1)").bind(role).fetch_one(conn).await
}
