//! Where names turn into addresses: the system's resolver, or a table that tests write.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};

use crate::webhooks::targets::look_ups::{LookUps, Resolver};

/// Turns names into addresses. What it says is still checked by `Targets`, whoever says it.
#[derive(Clone, Debug)]
pub enum Names {
    /// A resolver that blocks.
    Resolver(LookUps),
    /// A table, changed by [`Names::point`]; clones share it.
    Table(Arc<Mutex<HashMap<String, Vec<IpAddr>>>>),
}

impl Names {
    /// The system's resolver.
    pub fn system() -> Self {
        Self::by(|name| Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
    }

    /// Another one.
    pub fn by(resolver: Resolver) -> Self {
        Self::Resolver(LookUps::by(resolver))
    }

    /// An empty table: no name is known until [`Names::point`] names it.
    pub fn table() -> Self {
        Self::Table(Arc::default())
    }

    /// Lets `name` mean `addresses` from now on; a resolver stays as it is.
    pub fn point(&self, name: &str, addresses: &[IpAddr]) {
        if let Self::Table(table) = self {
            table.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), addresses.to_vec());
        }
    }

    /// The addresses of a name.
    pub async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match self {
            Self::Resolver(look_ups) => look_ups.look_up(name).await,
            Self::Table(table) => {
                let known = table.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
                known.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name is not in the table"))
            }
        }
    }
}
