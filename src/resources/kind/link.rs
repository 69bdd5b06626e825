//! References to records that must exist.

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, TypedId};
use crate::resources::field_type::samples::sample_id;
use crate::resources::kind::queries;
use crate::resources::{FieldType, FilterForm, Input, Reference, Resource, ResourceDescriptor};

/// A record of the kind `R`, written like every [`Reference`]. The request is rejected unless the record exists and belongs to the
/// same company.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<R: Resource>(pub R::Id);

impl<'de, R: Resource> Deserialize<'de> for Link<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Reference::deserialize(deserializer).map(|Reference(id)| Self(id))
    }
}

impl<R: Resource> FieldType for Link<R> {
    type Column = R::Id;

    fn into_column(self) -> R::Id {
        self.0
    }

    fn show(column: &R::Id) -> Value {
        column.to_string().into()
    }

    fn schema() -> Value {
        R::Id::json_schema()
    }

    fn sample() -> Value {
        json!(sample_id::<R::Id>())
    }

    const FILTER: Option<FilterForm> = Some(FilterForm::id::<R::Id>());

    fn input() -> Input {
        Input::Record(R::Id::PREFIX)
    }

    async fn find_missing(column: &R::Id, conn: &mut Connection, company: CompanyId) -> Result<Option<&'static str>, sqlx::Error> {
        let found = queries::lock_shared::<R>(conn, &ResourceDescriptor::of::<R>(), company.into(), *column).await?;
        Ok(found.is_none().then_some(R::SINGULAR))
    }
}
