//! Name resolution: the system's resolver, or a table that tests fill.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Resolves host names to addresses. `Targets` checks the addresses, whichever resolver returned them.
#[derive(Clone, Debug)]
pub enum Names {
    /// The system's resolver.
    System,
    /// A table filled by [`Names::point`]; clones share it.
    Table(Arc<Mutex<HashMap<String, Vec<IpAddr>>>>),
}

impl Names {
    /// An empty table: names are unknown until [`Names::point`] adds them.
    pub fn table() -> Self {
        Self::Table(Arc::default())
    }

    /// Sets the addresses of `name`. Has no effect on the system's resolver.
    pub fn point(&self, name: &str, addresses: &[IpAddr]) {
        if let Self::Table(table) = self {
            table.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), addresses.to_vec());
        }
    }

    pub(super) async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match self {
            Self::System => Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()),
            Self::Table(table) => {
                let known = table.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
                known.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the table does not know this name"))
            }
        }
    }
}
