//! References to other records.

use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::kernel::ids::{AnyId, InvalidId, TypedId};
use crate::resources::field_type::samples::sample_id;
use crate::resources::{FieldType, FilterForm, Input};

/// Another record: its UUID or TypeID, or an object with an `id`, which is how responses show records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ReferenceForm", bound = "")]
pub struct Reference<I: TypedId>(pub I);

#[derive(Deserialize)]
#[serde(untagged, expecting = "an id, or an object with an id")]
enum ReferenceForm {
    Id(String),
    Object { id: String },
}

impl<I: TypedId> TryFrom<ReferenceForm> for Reference<I> {
    type Error = InvalidId;

    fn try_from(form: ReferenceForm) -> Result<Self, InvalidId> {
        let (ReferenceForm::Id(id) | ReferenceForm::Object { id }) = form;
        id.parse().map(Self)
    }
}

impl<I: TypedId> FieldType for Reference<I> {
    type Column = I;

    fn into_column(self) -> I {
        self.0
    }

    fn show(column: &I) -> Value {
        column.to_string().into()
    }

    fn schema() -> Value {
        I::json_schema()
    }

    fn sample() -> Value {
        json!(sample_id::<I>())
    }

    const FILTER: Option<FilterForm> = Some(FilterForm::id::<I>());

    fn input() -> Input {
        Input::Record(I::PREFIX)
    }
}

// A record of any kind. A resource that knows the kind shows the id in the form of that kind instead.
crate::field_type!(AnyId => Uuid, json!({ "type": "string" }), filtered by FilterForm::ANY_ID);

/// The error message for a record of this kind that does not exist.
pub fn no_such(kind: &str) -> String {
    format!("There is no such {}.", kind.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ids::DriverId;

    #[test]
    fn a_reference_is_an_id_in_any_of_its_forms() {
        let id = DriverId::from(Uuid::from_u128(7));
        let read = |value: Value| serde_json::from_value::<Reference<DriverId>>(value);
        for form in [json!(id), json!(id.uuid()), json!({"id": id}), json!({"id": id.uuid(), "name": "Ada"})] {
            assert_eq!(read(form.clone()).unwrap(), Reference(id), "{form}");
        }
        for form in [json!("order_01h455vb4pex5vsknk084sn02q"), json!(7), json!({}), json!({"id": null}), json!(true)] {
            assert!(read(form.clone()).is_err(), "{form}");
        }
    }
}
