//! `http.admin_listen`: where the metrics are.

use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// The port that exporters of metrics usually have.
const PORT: u16 = 9464;

/// Whether and where the metrics are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminListen {
    /// Nowhere.
    Off,
    /// At this address.
    At(SocketAddr),
}

impl Default for AdminListen {
    /// At port 9464 of this machine.
    fn default() -> Self {
        Self::At((Ipv4Addr::LOCALHOST, PORT).into())
    }
}

impl FromStr for AdminListen {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            _ => text.parse().map(Self::At).map_err(|_| "http.admin_listen must be an address with a port, or \"off\""),
        }
    }
}
