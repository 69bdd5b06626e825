//! Kinds of records that can be named, for those who learn only while the program runs which one they name.

use sqlx::PgConnection;
use uuid::Uuid;

use crate::kernel::ids::{CompanyId, TypedId, read_id};
use crate::resources::{Operation, Resource, Terms, plural_path, queries};

/// A kind of record that others may name.
#[derive(Clone, Debug)]
pub struct Referable {
    /// Its name among all kinds: `fleet/orders`.
    pub name: String,
    /// The word before the `_` of its ids.
    pub prefix: &'static str,
    pub(super) table: &'static str,
    pub(super) part: Option<(&'static str, &'static str)>,
    /// Its records can be deleted, so one that is named has to be held. What only comes and stays is read through views that cannot be locked.
    pub(super) deletable: bool,
}

impl Referable {
    /// The kind with these terms, in a namespace that offers these operations.
    pub fn of<R: Resource>(namespace: &str, terms: &Terms, operations: &[Operation]) -> Self {
        Self {
            name: format!("{namespace}/{}", plural_path(terms.plural)),
            prefix: R::Id::PREFIX,
            table: R::TABLE,
            part: terms.part,
            deletable: operations.contains(&Operation::Delete),
        }
    }

    /// Reads an id in any of its forms; gives it in the form that answers show, too.
    pub fn read(&self, text: &str) -> Option<(Uuid, String)> {
        read_id(self.prefix, text)
    }

    /// Whether the company has this record, which then stays until the transaction ends.
    pub async fn hold(&self, conn: &mut PgConnection, company: CompanyId, id: Uuid) -> Result<bool, sqlx::Error> {
        queries::hold_referable(conn, self, company, id).await
    }
}
