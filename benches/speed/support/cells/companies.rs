//! Companies in cells: some have most of the load, and most have little.

use std::collections::HashMap;
use std::ops::Deref;
use std::time::Duration;

use argon2::password_hash::PasswordHasher;
use argon2::{Algorithm, Argon2, Params, Version};
use futures::stream::{self, StreamExt};
use portico::callers::{Caller as Author, Scope};
use portico::companies::{self as founding, Companies as Keys};
use portico::developers::{ApiKeyBody, ApiKeyRecord, SomeScopes};
use portico::kernel::clock::Clock;
use portico::kernel::database::{Limits, Pool};
use portico::kernel::ids::CompanyId;
use portico::kernel::lifecycle::Lifecycle;
use portico::resources::{Line, operations};
use portico::storefront::{self, StoreBody, StoreRecord, Stores};
use serde_json::{Value, json};

use crate::support::calls::{Caller, address_of, request};
use crate::support::cells::{Cells, Instance, until};
use crate::support::customers;
use crate::support::database::Database;
use crate::support::sink::Sink;

/// What is published.
pub const EVENT: &str = "order.created";
const PASSWORD: &str = "correct horse battery";
/// In each store: enough that none of them gets to the limit of sessions.
const CUSTOMERS: usize = 32;
/// How many are founded at the same time.
const AT_ONCE: usize = 8;
/// The part of a turn by which two turns differ that follow each other: the golden ratio, which spreads any number of turns evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// A company with a store and its keys, as `Authorization` headers have them.
pub struct Founded {
    pub cell: usize,
    pub id: CompanyId,
    pub api_key: String,
    pub store_key: String,
}

/// The companies, that with most load first.
pub struct Companies {
    founded: Vec<Founded>,
    urls: Vec<String>,
    /// Up to which part of all turns it is the turn of each company or of one before it.
    shares: Vec<f64>,
}

impl Deref for Companies {
    type Target = [Founded];

    fn deref(&self) -> &[Founded] {
        &self.founded
    }
}

impl Founded {
    /// The request that publishes this many events.
    pub fn publish(&self, sample: &Value, events: usize) -> Vec<u8> {
        let body = json!({ "events": vec![json!({ "event": EVENT, "data": sample }); events] });
        request("POST", "/developers/int/v1/events", &[("authorization", &self.api_key)], &body.to_string())
    }

    /// The request of a customer who signs in by password, from an address of their own.
    pub fn sign_in(&self, turn: usize) -> Vec<u8> {
        let headers = [("authorization", self.store_key.as_str()), ("x-forwarded-for", &address_of(turn))];
        let body = json!({ "identity": customers::email(turn % CUSTOMERS), "password": PASSWORD });
        request("POST", "/storefront/v1/customers/login", &headers, &body.to_string())
    }
}

impl Companies {
    /// Founds companies in all cells in turns.
    pub fn found(cells: &Cells, count: usize) -> Self {
        Self::founded_in(cells, (0..count).map(|number| number % cells.count()).collect())
    }

    /// Founds companies in the last cell.
    pub fn found_in_last(cells: &Cells, count: usize) -> Self {
        Self::founded_in(cells, vec![cells.count() - 1; count])
    }

    fn founded_in(cells: &Cells, places: Vec<usize>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let time = Duration::from_secs(60);
        let founded = runtime.block_on(async {
            let limits = Limits { connections: AT_ONCE as u32, acquire_timeout: time, statement_timeout: time };
            let pools: Vec<_> = cells.urls.iter().map(|url| Pool::new(url.parse().unwrap(), limits)).collect();
            let founding = places.iter().enumerate().map(|(number, cell)| found(&pools[*cell], *cell, number));
            stream::iter(founding).buffered(AT_ONCE).collect::<Vec<_>>().await
        });
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(19_456, 2, 1, None).unwrap());
        let hash = argon2.hash_password(PASSWORD.as_bytes()).unwrap().to_string();
        for url in &cells.urls {
            // Those of a cell that had companies before stay as they are.
            Database::at(url).execute(&format!(
                "insert into customers (id, store_id, name, email, email_verified_at, password_hash, created_at, updated_at, company_id)
                 select gen_random_uuid(), stores.id, 'Ada Lovelace', format('customer%s@example.com', n), now(), '{hash}', now(), now(), company_id
                 from stores, generate_series(0, {CUSTOMERS} - 1) as n
                 where not exists (select from customers where store_id = stores.id);
                 analyze"
            ));
        }
        // By Zipf's law, the second has half as much as the first, and the third a third.
        let weights = (1..=founded.len()).map(|rank| 1.0 / rank as f64);
        let all: f64 = weights.clone().sum();
        let shares = weights.scan(0.0, |sum, weight| {
            *sum += weight / all;
            Some(*sum)
        });
        Self { shares: shares.collect(), founded, urls: cells.urls.clone() }
    }

    /// The place of the company whose turn this is.
    pub fn whose_turn(&self, turn: usize) -> usize {
        let part = (turn as f64 * GOLDEN).fract();
        self.shares.partition_point(|share| *share < part).min(self.founded.len() - 1)
    }

    /// Subscribes an endpoint of `sink` for each company.
    pub fn subscribe(&self, instance: &Instance, sink: &Sink) {
        let mut caller = Caller::connect(instance.address);
        for (company, url) in self.founded.iter().zip(sink.urls.iter().cycle()) {
            let body = json!({ "url": url, "events": [EVENT] }).to_string();
            caller.ask(201, &request("POST", "/developers/int/v1/webhooks", &[("authorization", &company.api_key)], &body));
        }
    }

    /// Waits until this many attempts are recorded in all cells.
    pub fn await_attempts(&self, count: usize) {
        let mut cells: Vec<_> = self.urls.iter().map(|url| Database::at(url)).collect();
        until("every attempt is recorded", || {
            cells.iter_mut().map(|cell| cell.number("select count(*) from attempts")).sum::<i64>() >= count as i64
        });
    }

    /// The companies of each cell.
    pub fn by_cell(&self) -> HashMap<usize, Vec<&Founded>> {
        let mut cells = HashMap::<_, Vec<_>>::new();
        for company in &self.founded {
            cells.entry(company.cell).or_default().push(company);
        }
        cells
    }
}

async fn found(pool: &Pool, cell: usize, number: usize) -> Founded {
    let (clock, line) = (Clock::System, |name: &str| Line::try_from(name.to_owned()).unwrap());
    let id = founding::create_company(&mut pool.acquire().await.unwrap(), &format!("Company {number}"), clock.now()).await.unwrap();
    let (author, scopes) = (Author::command_line(id), SomeScopes::try_from(Scope::ALL.to_vec()).unwrap());
    let keys = Keys::new(pool.clone(), clock.clone(), Lifecycle::default());
    let key = operations::create::<ApiKeyRecord>(&keys, &author, ApiKeyBody::of(line("simulation"), scopes)).await.unwrap();
    let stores = Stores::new(pool.clone(), clock.clone());
    let store = operations::create::<StoreRecord>(&stores, &author, StoreBody::named(line("Shop"))).await.unwrap().record.id;
    let conn = &mut pool.acquire().await.unwrap();
    let (_, store_key) = storefront::create_store_key(conn, &author, store, clock.now()).await.unwrap().unwrap();
    let api_key = format!("Bearer {}", key.members["key"].as_str().unwrap());
    Founded { cell, id, api_key, store_key: format!("Bearer {}", store_key.reveal()) }
}
