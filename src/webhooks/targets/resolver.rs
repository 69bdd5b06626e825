//! The resolver of endpoint names: name servers, or a fixed table for tests.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use crate::kernel::ids::CompanyId;
use crate::webhooks::targets::look_ups::LookUps;
use crate::webhooks::targets::nameservers::{Files, Nameservers};

/// Resolves names to addresses. `Targets` checks every address, whatever its source.
#[derive(Clone, Debug)]
pub enum Resolver {
    /// The name servers of the system, or another one.
    Nameservers(LookUps),
    /// A table, changed by [`Resolver::insert`]. Clones share it.
    Fixed(Arc<Mutex<HashMap<String, Vec<IpAddr>>>>),
}

impl Resolver {
    /// Resolves names as the system does, by `/etc/hosts` and the name servers of `/etc/resolv.conf`.
    pub fn system() -> Self {
        Self::Nameservers(LookUps::new(Nameservers::of(Files::of_the_system())))
    }

    /// Asks this name server over UDP, for tests.
    pub fn asking(server: SocketAddr) -> Self {
        Self::Nameservers(LookUps::new(Nameservers::at(server)))
    }

    /// An empty table: a name is unknown until [`Resolver::insert`] adds it.
    pub fn fixed() -> Self {
        Self::Fixed(Arc::default())
    }

    /// Sets the addresses of `name` in the table. Has no effect on name servers.
    pub fn insert(&self, name: &str, addresses: &[IpAddr]) {
        if let Self::Fixed(table) = self {
            table.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), addresses.to_vec());
        }
    }

    /// The addresses of a name; `company` is the one that it is looked up for. A name that does not exist gets
    /// [`io::ErrorKind::NotFound`], and one that is not answered within five seconds [`io::ErrorKind::TimedOut`].
    pub async fn look_up(&self, company: Option<CompanyId>, name: &str) -> io::Result<Vec<IpAddr>> {
        match self {
            Self::Nameservers(look_ups) => look_ups.look_up(company, name).await,
            Self::Fixed(table) => {
                let known = table.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
                known.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name is not in the table"))
            }
        }
    }
}
