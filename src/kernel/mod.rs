//! Infrastructure without business logic, used by every other module: time, ids, secrets, problems, database, lifecycle.

pub mod client_address;
pub mod clock;
pub mod crypto;
pub mod daily_partitions;
pub mod database;
pub mod dedicated_connection;
pub mod error_chain;
pub mod group_commit;
pub mod http_server;
pub mod ids;
pub mod json;
pub mod json_schema;
pub mod lifecycle;
pub mod logging;
pub mod middleware;
pub mod migrations;
pub mod open_files;
pub mod openapi;
pub mod password_hashing;
pub mod problem;
pub mod rate_limit;
pub mod request_id;
pub mod settings;
pub mod template;
pub mod terminal;
pub mod ttl_cache;
