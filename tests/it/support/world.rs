//! The service under test, one for each story.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Once};

use chrono::{DateTime, TimeDelta};
use portico::app::{self, AppState, Dependencies, Process};
use portico::callers::{Caller, Scope};
use portico::companies::{self, Companies};
use portico::config::{Config, Environment};
use portico::developers::{ApiKeyBody, ApiKeyRecord, SomeScopes};
use portico::kernel::clock::Clock;
use portico::kernel::crypto::ApplicationKey;
use portico::kernel::database::{self, Pool, Transaction};
use portico::kernel::ids::{CompanyId, KeyId, StoreId};
use portico::kernel::lifecycle::Lifecycle;
use portico::kernel::password_hashing::PasswordHashing;
use portico::kernel::{http_server, open_files};
use portico::providers::mailbox::{CapturedMessage, Mailbox};
use portico::resources::{Line, operations};
use portico::storefront::{self, StoreBody, StoreRecord, Stores};
use portico::webhooks::Resolver;
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::support::Answer;
use crate::support::database as databases;
use crate::support::log;
use crate::support::pooler;
use crate::support::receiver;
use crate::support::request::{self, Request};
use crate::support::waiting::until;

/// The time at which every story begins.
const BEGINNING: i64 = 1_779_358_500;
/// On the server of all stories, where many others run at the same time, a request waits longer than an operator would let it: a story that means
/// the limits sets them, or has a server of its own. Lists are settled by the second one, so more would change them.
const PATIENCE: [(&str, &str); 2] = [("database.acquire_timeout", "1m"), ("database.statement_timeout", "15s")];

/// A running service with its mocks, one company and one store: one cell of an instance.
pub struct World {
    /// The URL of the database.
    pub database: String,
    pub pool: Pool,
    instance: Arc<Instance>,
    pub state: AppState,
    pub company: CompanyId,
    pub store: StoreId,
    pub store_key: String,
    /// The company's API key, with every scope.
    pub api_key: String,
    pub address: SocketAddr,
    http: reqwest::Client,
    clients: AtomicU32,
    /// Whether events are fanned out by themselves.
    pub fans_out: Once,
}

/// What all cells of an instance share.
pub struct Instance {
    /// The text of the configuration file.
    file: String,
    changes: Vec<(String, String)>,
    pub clock: Clock,
    pub application_key: ApplicationKey,
    /// The application key as the setting contains it.
    pub application_key_setting: String,
    /// The keys that it replaces, likewise.
    previous_keys: Vec<String>,
    config: Config,
    process: Process,
    /// The name resolution of endpoints.
    pub resolver: Resolver,
    /// The threads that hash passwords.
    pub hashing: PasswordHashing,
    /// The background tasks of the service.
    pub lifecycle: Lifecycle,
    mailbox: Mailbox,
}

impl Deref for World {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        &self.instance
    }
}

/// The company and store that the service works for.
struct Tenant {
    company: CompanyId,
    store: StoreId,
    store_key: String,
    api_key: String,
}

impl Tenant {
    async fn create(pool: &Pool, clock: &Clock) -> Self {
        let company = companies::create_company(&mut pool.acquire().await.unwrap(), "Acme", clock.now()).await.unwrap();
        let (store, store_key) = create_store(pool, clock, company, "Acme Shop").await;
        let (_, api_key) = create_api_key(pool, clock, company, "test", &Scope::ALL).await;
        Self { company, store, store_key, api_key }
    }
}

/// Creates a store and its key as the commands do: in another process, so that this one does not forget what it has cached.
async fn create_store(pool: &Pool, clock: &Clock, company: CompanyId, name: &str) -> (StoreId, String) {
    let (caller, stores) = (Caller::command_line(company), Stores::new(pool.clone(), clock.clone()));
    let body = StoreBody::named(line(name));
    let store = operations::create::<StoreRecord>(&stores, &caller, body).await.unwrap().record.id;
    let conn = &mut pool.acquire().await.unwrap();
    let (_, key) = storefront::create_store_key(conn, &caller, store, clock.now()).await.unwrap().unwrap();
    (store, key.reveal().to_owned())
}

/// Creates an API key, likewise.
async fn create_api_key(pool: &Pool, clock: &Clock, company: CompanyId, name: &str, scopes: &[Scope]) -> (KeyId, String) {
    let companies = Companies::new(pool.clone(), clock.clone(), Lifecycle::default());
    let body = ApiKeyBody::of(line(name), SomeScopes::try_from(scopes.to_vec()).unwrap());
    let created = operations::create::<ApiKeyRecord>(&companies, &Caller::command_line(company), body).await.unwrap();
    (created.record.id, created.members["key"].as_str().unwrap().to_owned())
}

fn line(name: &str) -> Line<255> {
    Line::try_from(name.to_owned()).unwrap()
}

impl Instance {
    /// Serves the cell that this database is.
    fn serve(self: Arc<Self>, database: &str, tenant: Tenant) -> World {
        let settings = pooler::in_front_of(database, &self.config.database);
        let pool = database::pool(&database.parse().unwrap(), &settings);
        let state = AppState::new(&self.process, pool.clone());
        let listener = http_server::listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let (router, stopping) = (app::router(state.clone(), &self.config), self.lifecycle.stopping().clone());
        let answering = http_server::serve(listener, router, self.config.http.limits(), stopping);
        self.lifecycle.spawn(async move { answering.await.unwrap().end().await });

        let Tenant { company, store, store_key, api_key } = tenant;
        World {
            database: database.to_owned(),
            pool,
            instance: self,
            state,
            company,
            store,
            store_key,
            api_key,
            address,
            http: request::client(),
            clients: AtomicU32::new(0),
            fans_out: Once::new(),
        }
    }
}

impl World {
    /// A world with the default settings.
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    /// A world with some settings changed.
    pub async fn with(changes: &[(&str, &str)]) -> Self {
        Self::on(&databases::fresh().await, changes).await
    }

    /// A world on a database of the story's own, which has every migration.
    pub async fn on(database: &str, changes: &[(&str, &str)]) -> Self {
        Self::begin(database, "", changes, Resolver::fixed()).await
    }

    /// A world with a configuration file of this text, and some settings changed.
    pub async fn with_file(file: &str, changes: &[(&str, &str)]) -> Self {
        Self::begin(&databases::fresh().await, file, changes, Resolver::fixed()).await
    }

    /// A world with a resolver of the story's own.
    pub async fn resolving_by(resolver: Resolver) -> Self {
        Self::begin(&databases::fresh().await, "", &[], resolver).await
    }

    async fn begin(database: &str, file: &str, changes: &[(&str, &str)], resolver: Resolver) -> Self {
        log::start();
        let clock = Clock::standing_at(DateTime::from_timestamp(BEGINNING, 0).unwrap());
        let application_key = ApplicationKey::generate().expose_secret().to_owned();
        let pool = databases::pool(database);
        let tenant = Tenant::create(&pool, &clock).await;
        pool.close().await;
        Self::start(database, (file, changes), clock, resolver, (application_key, &[]), tenant)
    }

    /// A cell beside this one: the same instance on a database of its own, with a company and a store of its own.
    pub async fn in_another_cell(&self) -> Self {
        self.in_cell_at(&databases::fresh().await).await
    }

    /// A cell beside this one on this database, which has every migration.
    pub async fn in_cell_at(&self, database: &str) -> Self {
        let pool = databases::pool(database);
        // As `portico migrate` does.
        storefront::number_tokens_of(&pool, &"b".parse().unwrap()).await.unwrap();
        let tenant = Tenant::create(&pool, &self.clock).await;
        pool.close().await;
        Arc::clone(&self.instance).serve(database, tenant)
    }

    /// Another instance of this service, with the same database, settings, clock, names and keys, but its own memory. It also
    /// represents the service after a restart.
    pub fn another_instance(&self) -> Self {
        let changes: Vec<_> = self.changes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        self.reconfigured(&self.file, &changes)
    }

    /// The service after a restart with another configuration file and other settings.
    pub fn reconfigured(&self, file: &str, changes: &[(&str, &str)]) -> Self {
        self.restarted(&self.database, (file, changes), (self.application_key_setting.clone(), &self.previous_keys))
    }

    /// The service after a restart on another database, which has what this one had.
    pub fn moved_to(&self, database: &str) -> Self {
        let changes: Vec<_> = self.changes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        self.restarted(database, (&self.file, &changes), (self.application_key_setting.clone(), &self.previous_keys))
    }

    /// The service after a restart with this application key, which replaces the others.
    pub fn rekeyed(&self, key: &str, previous: &[&str]) -> Self {
        let changes: Vec<_> = self.changes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let previous: Vec<_> = previous.iter().map(|key| (*key).to_owned()).collect();
        self.restarted(&self.database, (&self.file, &changes), (key.to_owned(), &previous))
    }

    fn restarted(&self, database: &str, settings: (&str, &[(&str, &str)]), keys: (String, &[String])) -> Self {
        let tenant = Tenant { company: self.company, store: self.store, store_key: self.store_key.clone(), api_key: self.api_key.clone() };
        let (clock, resolver) = (self.clock.clone(), self.resolver.clone());
        let other = Self::start(database, settings, clock, resolver, keys, tenant);
        // Its clients have other addresses.
        other.clients.store(self.clients.load(Ordering::Relaxed) + 0x1_0000, Ordering::Relaxed);
        other
    }

    fn start(
        database: &str,
        (file, changes): (&str, &[(&str, &str)]),
        clock: Clock,
        resolver: Resolver,
        (application_key_setting, previous_keys): (String, &[String]),
        tenant: Tenant,
    ) -> Self {
        let previous: Vec<_> = previous_keys.iter().map(|key| key.as_str().into()).collect();
        let application_key = ApplicationKey::parse(&application_key_setting.as_str().into()).unwrap().with_previous(&previous).unwrap();
        // Both ends of every connection are in this process, which needs two descriptors per connection.
        open_files::raise_limit().unwrap();
        let usual = [
            ("environment", "development"),
            // Stories set the client address of a request, as a proxy does.
            ("http.trusted_proxies", "127.0.0.1/32"),
            // Subscribers listen on loopback, with certificates of the tests' own authority.
            ("webhooks.allowed_networks", "127.0.0.0/8"),
            ("storefront.allowed_networks.registration_hooks", "127.0.0.0/8"),
            ("storefront.allowed_networks.identity_providers", "127.0.0.0/8"),
            ("storefront.allowed_networks.message_providers", "127.0.0.0/8"),
            ("storefront.allowed_networks.mail_servers", "127.0.0.0/8"),
            ("webhooks.extra_root_certificates", receiver::authority().certificate_path().to_str().unwrap()),
        ];
        let patience: &[(&str, &str)] = if databases::is_of_all(database) { &PATIENCE } else { &[] };
        let config = Config::with_file(file, &[&usual, patience, changes].concat()).unwrap();
        let mailbox = Mailbox::default();
        // Many stories run at the same time, and each thread has 19 MiB.
        let hashing = PasswordHashing::with_threads(const { NonZeroUsize::new(2).unwrap() });
        let dependencies = Dependencies {
            clock: clock.clone(),
            application_key: application_key.clone(),
            resolver: resolver.clone(),
            hashing: hashing.clone(),
            lifecycle: Lifecycle::default(),
            mailbox: (config.environment() == Environment::Development).then(|| mailbox.clone()),
        };
        let lifecycle = dependencies.lifecycle.clone();
        let instance = Instance {
            file: file.to_owned(),
            changes: changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            clock,
            application_key,
            application_key_setting,
            previous_keys: previous_keys.to_vec(),
            process: Process::new(&config, dependencies).unwrap(),
            config,
            resolver,
            hashing,
            lifecycle,
            mailbox,
        };
        Arc::new(instance).serve(database, tenant)
    }

    /// Advances the clock.
    pub fn pass(&self, time: TimeDelta) {
        self.clock.advance(time);
    }

    /// A request without a key, from an address that no other request has.
    pub fn request(&self, method: Method, path: &str) -> Request {
        let client = self.clients.fetch_add(1, Ordering::Relaxed) + 1;
        let [_, a, b, c] = client.to_be_bytes();
        let request = self.http.request(method, format!("http://{}{path}", self.address));
        Request::new(request).from(&format!("9.{a}.{b}.{c}"))
    }

    /// A POST request of the store's app.
    pub fn storefront(&self, path: &str) -> Request {
        self.request(Method::POST, &format!("/storefront/v1/{path}")).key(&self.store_key)
    }

    /// A GET request of the store's app.
    pub fn storefront_get(&self, path: &str) -> Request {
        self.request(Method::GET, &format!("/storefront/v1/{path}")).key(&self.store_key)
    }

    /// A request of the company's own systems.
    pub fn api(&self, method: Method, path: &str) -> Request {
        self.request(method, path).key(&self.api_key)
    }

    /// Creates another company and a key with the given scopes; returns its id and the key.
    pub async fn another_company(&self, scopes: &[Scope]) -> (CompanyId, String) {
        let mut conn = self.pool.acquire().await.unwrap();
        let company = companies::create_company(&mut conn, "Other", self.clock.now()).await.unwrap();
        drop(conn);
        (company, self.key_of(company, scopes).await)
    }

    /// Creates another key of a company. One without scopes cannot be created: it stands for one whose scopes this version does not know.
    pub async fn key_of(&self, company: CompanyId, scopes: &[Scope]) -> String {
        let known = if scopes.is_empty() { &[Scope::Read] } else { scopes };
        let (id, key) = create_api_key(&self.pool, &self.clock, company, "another", known).await;
        if scopes.is_empty() {
            sqlx::query("update api_keys set scopes = '{}' where id = $1").bind(id.uuid()).execute(&self.pool).await.unwrap();
        }
        key
    }

    /// The one address from which an office key may be used.
    pub const OFFICE: &str = "203.0.113.9";

    /// Creates an API key with every scope that may be used from the office alone, for four hours.
    pub async fn office_key(&self) -> String {
        let end = self.clock.now() + TimeDelta::hours(4);
        let body = json!({ "name": "Office", "scopes": ["admin"], "allowed_networks": [Self::OFFICE], "expires_at": end });
        let made = self.api(Method::POST, "/developers/int/v1/api-keys").json(&body).send().await.ok(201);
        made["api_key"]["key"].as_str().unwrap().to_owned()
    }

    /// Creates another store of the company; returns its id and key.
    pub async fn another_store(&self) -> (StoreId, String) {
        create_store(&self.pool, &self.clock, self.company, "Acme Outlet").await
    }

    /// Creates a store of another company and a key of it.
    pub async fn store_of(&self, company: CompanyId) -> (StoreId, String) {
        create_store(&self.pool, &self.clock, company, "Other Shop").await
    }

    /// Changes the store.
    pub async fn change_store(&self, body: Value) -> Answer {
        self.api(Method::PUT, &format!("/storefront/int/v1/stores/{}", self.store)).json(&body).send().await
    }

    /// Every text and mail, newest first.
    pub fn messages(&self) -> Vec<CapturedMessage> {
        self.mailbox.messages()
    }

    /// A transaction that holds what it has locked for as long as the story likes. The server ends those of the service that do nothing for five
    /// seconds, which are few on a busy machine.
    pub async fn hold(&self) -> Transaction<'static> {
        let mut transaction = self.pool.begin().await.unwrap();
        sqlx::query("set local idle_in_transaction_session_timeout = 0").execute(&mut *transaction).await.unwrap();
        transaction
    }

    /// The last code that was sent.
    pub fn last_code(&self) -> String {
        self.messages().into_iter().find_map(|message| message.code).expect("a code was sent")
    }

    /// Runs a query that returns one number.
    pub async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.pool).await.unwrap()
    }

    /// From now on, every transaction that publishes an event fails when it commits, after all has been written.
    pub async fn refuse_events(&self) {
        for sql in [
            "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$",
            "create constraint trigger refuse after insert on events deferrable initially deferred for each row execute function refuse()",
        ] {
            sqlx::query(sql).execute(&self.pool).await.unwrap();
        }
    }

    /// Ends [`World::refuse_events`].
    pub async fn accept_events(&self) {
        sqlx::query("drop function refuse() cascade").execute(&self.pool).await.unwrap();
    }

    /// From now on, every statement that deletes from this table fails.
    pub async fn refuse_deletes(&self, table: &str) {
        for sql in [
            "create or replace function keep() returns trigger language plpgsql as $$ begin raise exception 'kept'; end $$".to_owned(),
            format!("create trigger keep before delete on {table} for each statement execute function keep()"),
        ] {
            sqlx::query(AssertSqlSafe(sql)).execute(&self.pool).await.unwrap();
        }
    }

    /// Ends [`World::refuse_deletes`].
    pub async fn accept_deletes(&self) {
        sqlx::query("drop function keep() cascade").execute(&self.pool).await.unwrap();
    }

    /// The number of transactions in this world that wait for a lock.
    pub async fn waiting_for_a_lock(&self) -> i64 {
        self.count("select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'").await
    }

    /// Returns once a transaction waits for a lock.
    pub async fn somebody_waits(&self) {
        until("a transaction waits for a lock", async || self.waiting_for_a_lock().await > 0).await;
    }
}
