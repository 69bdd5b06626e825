//! The service as a process of its own, which a story can kill.

use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

use crate::support::World;
use crate::support::receiver::authority;

/// A running service on the database of a world; it is killed with this value.
pub struct Service(Child);

impl Service {
    /// Starts it; it delivers to loopback.
    pub fn start(world: &World) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_portico"))
            .arg("serve")
            .env("PORTICO_ENVIRONMENT", "production")
            .env("PORTICO_APPLICATION_KEY", &world.application_key_setting)
            .env("PORTICO_DATABASE__URL", &world.database)
            .env("PORTICO_HTTP__LISTEN", "127.0.0.1:0")
            .env("PORTICO_WEBHOOKS__ALLOWED_NETWORKS", "127.0.0.0/8")
            .env("PORTICO_WEBHOOKS__EXTRA_ROOT_CERTIFICATES", authority().certificate_path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self(child)
    }

    /// Kills it, as a power cut does.
    pub async fn kill(mut self) {
        self.0.kill().await.unwrap();
    }

    /// Asks it to stop and waits until it has.
    pub async fn stop(mut self) {
        let id = i32::try_from(self.0.id().unwrap()).unwrap();
        kill(Pid::from_raw(id), Signal::SIGTERM).unwrap();
        assert!(self.0.wait().await.unwrap().success());
    }
}
