//! Customers inserted directly into the database, for benchmarks that do not measure registration.

use super::database::Database;
use super::service::Service;

/// The part behind the bar in every token created here: 40 letters.
const SECRET: &str = "PorticoBenchmarksUseOneSecretForAllToken";

pub fn email(number: usize) -> String {
    format!("customer{number}@example.com")
}

/// A German mobile number; the first ten thousand are all in different ranges.
pub fn phone(number: usize) -> String {
    format!("+49151{:04}{:04}", number % 10_000, 1000 + number / 10_000)
}

/// Inserts customers with proven addresses and numbers, and optionally a password.
pub fn insert(service: &Service, count: usize, password_hash: Option<&str>) {
    let hash = password_hash.map_or("null".to_owned(), |hash| format!("'{hash}'"));
    let mut database = Database::of(service);
    let (column, company) = if knows_its_company(&mut database, "customers") {
        (", company_id", format!(", '{}'", service.demo.company.uuid()))
    } else {
        ("", String::new())
    };
    database.execute(&format!(
        "insert into customers (id, store_id, name, email, email_verified_at, phone, phone_verified_at, password_hash, created_at,
                                updated_at{column})
         select gen_random_uuid(), '{store}', 'Ada Lovelace', format('customer%s@example.com', n), now(),
                '+49151' || lpad((n % 10000)::text, 4, '0') || lpad((1000 + n / 10000)::text, 4, '0'), now(), {hash}, now(), now(){company}
         from generate_series(0, {count} - 1) as n;
         analyze customers",
        store = service.demo.store.uuid(),
    ));
}

/// Inserts a token for every customer and returns the tokens.
pub fn sign_in(service: &Service) -> Vec<String> {
    let mut database = Database::of(service);
    let company = if knows_its_company(&mut database, "customer_tokens") { ", company_id" } else { "" };
    let ids: Vec<i64> = database.column(&format!(
        "insert into customer_tokens (uuid, customer_id, digest, created_at, last_used_at, expires_at{company})
         select gen_random_uuid(), id, sha256('{SECRET}'), now(), now(), now() + interval '1 day'{company} from customers returning id"
    ));
    database.execute("analyze customer_tokens");
    ids.iter().map(|id| format!("{id}|{SECRET}")).collect()
}

/// Whether a row of this table has its company, as in this edition. In the first ones, only the store had it.
fn knows_its_company(database: &mut Database, table: &str) -> bool {
    let column = format!("select count(*) from information_schema.columns where table_name = '{table}' and column_name = 'company_id'");
    database.number(&column) > 0
}
