//! Kinds of records that can be referenced, for code that learns the kind only at run time.

use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, TypedId, read_id};
use crate::resources::kind::queries;
use crate::resources::operation::plural_path;
use crate::resources::{Operation, Resource, ResourceDescriptor};

/// A kind of record that other records may reference.
#[derive(Clone, Debug)]
pub struct Referable {
    /// The name, unique among all kinds: `fleet/orders`.
    pub name: String,
    /// The prefix of its ids, before the `_`.
    pub prefix: &'static str,
    pub(super) table: &'static str,
    pub(super) discriminator: Option<(&'static str, &'static str)>,
    /// Whether its records can be deleted; a referenced record must then be locked. Records that cannot be deleted may be read
    /// through views, which cannot be locked.
    pub(super) deletable: bool,
}

impl Referable {
    /// The kind with this descriptor, in a namespace that offers these operations.
    pub fn of<R: Resource>(namespace: &str, descriptor: &ResourceDescriptor, operations: &[Operation]) -> Self {
        Self {
            name: format!("{namespace}/{}", plural_path(descriptor.plural)),
            prefix: R::Id::PREFIX,
            table: R::TABLE,
            discriminator: descriptor.discriminator,
            deletable: operations.contains(&Operation::Delete),
        }
    }

    /// Parses an id in any of its forms. Also returns it in the form that responses show.
    pub fn read(&self, text: &str) -> Option<(Uuid, String)> {
        read_id(self.prefix, text)
    }

    /// Whether the company has this record. A deletable record is locked until the transaction ends.
    pub async fn lock_shared(&self, conn: &mut Connection, company: CompanyId, id: Uuid) -> Result<bool, sqlx::Error> {
        queries::lock_referable(conn, self, company, id).await
    }
}
