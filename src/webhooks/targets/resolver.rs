//! The resolver of endpoint names: the system's resolver, another blocking function, or a fixed table for tests.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};

use crate::webhooks::targets::look_ups::{BlockingResolver, LookUps};

/// Resolves names to addresses. `Targets` checks every address, whatever its source.
#[derive(Clone, Debug)]
pub enum Resolver {
    /// A function that blocks.
    Blocking(LookUps),
    /// A table, changed by [`Resolver::insert`]. Clones share it.
    Fixed(Arc<Mutex<HashMap<String, Vec<IpAddr>>>>),
}

impl Resolver {
    /// The system's resolver.
    pub fn system() -> Self {
        Self::blocking(|name| Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
    }

    /// Runs the function on threads for blocking work. Concurrent look-ups of one name share a call.
    pub fn blocking(resolver: BlockingResolver) -> Self {
        Self::Blocking(LookUps::new(resolver))
    }

    /// An empty table: a name is unknown until [`Resolver::insert`] adds it.
    pub fn fixed() -> Self {
        Self::Fixed(Arc::default())
    }

    /// Sets the addresses of `name` in the table. Has no effect on a blocking resolver.
    pub fn insert(&self, name: &str, addresses: &[IpAddr]) {
        if let Self::Fixed(table) = self {
            table.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), addresses.to_vec());
        }
    }

    /// The addresses of a name. A name that is not in the table gets [`io::ErrorKind::NotFound`].
    pub async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match self {
            Self::Blocking(look_ups) => look_ups.look_up(name).await,
            Self::Fixed(table) => {
                let known = table.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
                known.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name is not in the table"))
            }
        }
    }
}
