//! No statement concerns two cells: each has rows of its own companies alone and knows of no other database, and what is asked of one is nothing
//! that another one hears of.

use std::collections::HashSet;

use serde_json::Value;
use uuid::Uuid;

use crate::support::calls::Caller;
use crate::support::cells::{Cells, Companies, Host, Instance};
use crate::support::database::Database;

/// Tables with the rows of companies that the simulation makes.
const TABLES: [&str; 5] = ["events", "deliveries", "subscriptions", "customers", "customer_tokens"];
/// How a database could see another one.
const BRIDGES: &str = "select (select count(*) from pg_extension where extname in ('dblink', 'postgres_fdw'))
                            + (select count(*) from pg_foreign_server) + (select count(*) from pg_subscription)";
/// What the statements of the requests have in them.
const WRITING: [&str; 2] = ["insert into events", "insert into customer_tokens"];
/// Those by which a cell looks for the company of a key.
const LOOKING_UP: [&str; 2] = ["from api_keys", "from store_keys"];
/// Requests of each kind of one company.
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
    // Once its keys are known, a request concerns the cell of its company alone.
    let mut caller = Caller::connect(instance.address);
    let company = &companies[0];
    let publish = company.publish(sample, 1);
    let mut use_it = |times: usize| {
        for turn in 0..times {
            caller.ask(201, &publish);
            caller.ask(200, &company.sign_in(turn));
        }
    };
    use_it(1);
    let mut statements = Database::of(&host.service);
    statements.execute("select pg_stat_statements_reset()");
    use_it(REQUESTS);
    let calls = "select coalesce(sum(calls), 0)::bigint from pg_stat_statements join pg_database on pg_database.oid = dbid";
    for (number, url) in cells.urls.iter().enumerate() {
        let name = url.rsplit('/').next().unwrap();
        let mut called = |of: &str| statements.number(&format!("{calls} where datname = '{name}' and query ilike '%{of}%'"));
        let (written, looked_up) = (WRITING.map(&mut called), LOOKING_UP.map(&mut called));
        match number == company.cell {
            true => assert!(written.iter().all(|calls| *calls > 0), "the cell of the company has published and signed in: {written:?}"),
            false => assert_eq!((written, looked_up), ([0; 2], [0; 2]), "cell {number} was asked for a company of another one"),
        }
    }
}
