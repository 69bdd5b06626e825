//! What happens when something around the service breaks: each story breaks one thing on loopback, for seconds, and says what must hold.

mod blackholed_connections;
mod crowds;
mod failover;
mod load;
mod long_reader;
mod refused_connections;
mod rolling_restart;
mod rolling_upgrade;
mod silent_nameserver;
mod stopped_database;
