//! Where names turn into addresses: the system's resolver, or a table that tests write.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Turns names into addresses. What it says is still checked by `Targets`, whoever says it.
#[derive(Clone, Debug)]
pub enum Names {
    /// The system's resolver.
    System,
    /// A table, changed by [`Names::point`]; clones share it.
    Table(Arc<Mutex<HashMap<String, Vec<IpAddr>>>>),
}

impl Names {
    /// An empty table: no name is known until [`Names::point`] names it.
    pub fn table() -> Self {
        Self::Table(Arc::default())
    }

    /// Lets `name` mean `addresses` from now on; the system's resolver stays as it is.
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
                known.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name is not in the table"))
            }
        }
    }
}
