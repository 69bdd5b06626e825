//! No statement concerns two cells: each has rows of its own companies alone and knows of no other database, and what is asked of one is nothing
//! that another one hears of.

use std::collections::HashSet;

use serde_json::Value;
use uuid::Uuid;

use super::cells::{Cells, Host, Instance};
use super::companies::Companies;
use super::publish;
use crate::support::calls::Caller;
use crate::support::database::Database;

/// Tables with the rows of companies that the simulation makes.
const TABLES: [&str; 5] = ["events", "deliveries", "subscriptions", "customers", "customer_tokens"];
/// How a database could see another one.
const BRIDGES: &str = "select (select count(*) from pg_extension where extname in ('dblink', 'postgres_fdw'))
                            + (select count(*) from pg_foreign_server) + (select count(*) from pg_subscription)";
/// Requests of one company.
const REQUESTS: usize = 20;

pub fn check(host: &Host, (cells, instance): (&Cells, &Instance), companies: &Companies, sample: &Value) {
    let by_cell = companies.by_cell();
    for (number, url) in cells.urls.iter().enumerate() {
        let own: HashSet<Uuid> = by_cell[&number].iter().map(|company| company.id.uuid()).collect();
        let mut cell = Database::at(url);
        assert_eq!(cell.number(BRIDGES), 0, "cell {number} can see another database");
        for table in TABLES {
            let there: Vec<Uuid> = cell.column(&format!("select distinct company_id from {table}"));
            assert!(!there.is_empty(), "cell {number} has no {table}");
            assert!(there.iter().all(|company| own.contains(company)), "cell {number} has {table} of another cell's company");
        }
    }
    // Once its key is known, a request concerns the cell of its company alone.
    let (mut caller, request) = (Caller::connect(instance.address), publish(&companies[0].api_key, sample, 1));
    caller.ask(201, &request);
    let mut statements = Database::of(&host.service);
    statements.execute("select pg_stat_statements_reset()");
    for _ in 0..REQUESTS {
        caller.ask(201, &request);
    }
    let calls = "select coalesce(sum(calls), 0)::bigint from pg_stat_statements join pg_database on pg_database.oid = dbid";
    for (number, url) in cells.urls.iter().enumerate() {
        let name = url.rsplit('/').next().unwrap();
        let published = statements.number(&format!("{calls} where datname = '{name}' and query ilike '%insert into events%'"));
        let looked_up = statements.number(&format!("{calls} where datname = '{name}' and query ilike '%from api_keys%'"));
        match number == companies[0].cell {
            true => assert!(published > 0, "the cell of the company has published"),
            false => assert_eq!((published, looked_up), (0, 0), "cell {number} was asked for a company of another one"),
        }
    }
}
