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
    Database::of(service).execute(&format!(
        "insert into customers (id, store_id, name, email, email_verified_at, phone, phone_verified_at, password_hash, created_at, updated_at,
                                company_id)
         select gen_random_uuid(), '{store}', 'Ada Lovelace', format('customer%s@example.com', n), now(),
                '+49151' || lpad((n % 10000)::text, 4, '0') || lpad((1000 + n / 10000)::text, 4, '0'), now(), {hash}, now(), now(), '{company}'
         from generate_series(0, {count} - 1) as n;
         analyze customers",
        store = service.demo.store.uuid(),
        company = service.demo.company.uuid(),
    ));
}

/// Inserts a token for every customer and returns the tokens.
pub fn sign_in(service: &Service) -> Vec<String> {
    let mut database = Database::of(service);
    let ids: Vec<i64> = database.column(&format!(
        "insert into customer_tokens (uuid, customer_id, digest, created_at, last_used_at, expires_at, company_id)
         select gen_random_uuid(), id, sha256('{SECRET}'), now(), now(), now() + interval '1 day', company_id from customers returning id"
    ));
    database.execute("analyze customer_tokens");
    ids.iter().map(|id| format!("{id}|{SECRET}")).collect()
}
