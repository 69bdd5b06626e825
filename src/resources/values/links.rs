//! References to records that must exist.

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::kernel::ids::{CompanyId, TypedId};
use crate::resources::{Parsed, Reference, Resource, Terms, queries};

/// A record of the kind `R`, written like every [`Reference`]. The request is rejected unless the record exists and belongs to the
/// same company.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<R: Resource>(pub R::Id);

/// The error message for a record of this kind that does not exist.
pub fn no_such(kind: &str) -> String {
    format!("There is no such {}.", kind.replace('_', " "))
}

impl<'de, R: Resource> Deserialize<'de> for Link<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Reference::deserialize(deserializer).map(|Reference(id)| Self(id))
    }
}

impl<R: Resource> Parsed for Link<R> {
    type Kept = R::Id;

    fn keep(self) -> R::Id {
        self.0
    }

    fn show(kept: &R::Id) -> Value {
        kept.to_string().into()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": format!("^{}_", R::Id::PREFIX) })
    }

    async fn find_missing(kept: &R::Id, conn: &mut PgConnection, company: CompanyId) -> Result<Option<&'static str>, sqlx::Error> {
        let found = queries::hold::<R>(conn, &Terms::of::<R>(), company, *kept).await?;
        Ok(found.is_none().then_some(R::SINGULAR))
    }
}
