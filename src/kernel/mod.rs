//! Infrastructure without business logic, used by every other module: time, ids, secrets, problems, database, lifecycle.

pub mod client_address;
pub mod clock;
pub mod crypto;
pub mod database;
pub mod group_commit;
pub mod ids;
pub mod json;
pub mod json_schema;
pub mod kept_connection;
pub mod lifecycle;
pub mod listening;
pub mod openapi;
pub mod password_hashing;
pub mod problem;
pub mod rate_limit;
pub mod recent;
pub mod request;
pub mod secret_digest;
pub mod secrets;
pub mod settings;
pub mod telemetry;
pub mod template;
pub mod throttle;
