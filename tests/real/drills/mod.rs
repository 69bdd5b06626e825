//! What happens when something around the service breaks: each story breaks one thing on loopback, for seconds, and says what must hold.

mod blackholed_connections;
mod clock_step;
mod crowds;
mod failover;
mod full_disk;
mod killed_instance;
#[cfg(target_os = "linux")]
mod little_memory;
mod load;
mod long_reader;
mod point_in_time;
mod refused_connections;
mod restarts;
mod rolling_restart;
mod rolling_upgrade;
mod silent_nameserver;
mod slow_database;
mod standby;
mod stopped_database;
mod used_up_connections;
