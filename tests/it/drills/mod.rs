//! What happens when something around the service breaks: each story breaks one thing on loopback, for seconds, and says what must hold.

mod blackholed_connections;
mod failover;
mod load;
mod refused_connections;
mod rolling_restart;
mod stopped_database;
