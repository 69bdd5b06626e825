//! A record of a declared kind, as a resource.

use std::future::{Future, ready};

use serde_json::{Map, Value};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::declared::declaration::Declaration;
use crate::declared::{DeclaredRoom, queries};
use crate::events::EventName;
use crate::kernel::ids::{DeclaredId, read_id};
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Announced, Change, Edit, Editable, New, Record, Resource, Terms};

crate::columns! {
    /// What is kept of a declared record.
    pub struct DeclaredRecord {
        /// Whose kind it is.
        pub kind: String,
        /// Its members.
        pub data: Json<Map<String, Value>>,
    }
}

impl Resource for DeclaredRecord {
    type Id = DeclaredId;
    type Room = DeclaredRoom;

    const SINGULAR: &'static str = "record";
    const PLURAL: &'static str = "records";
    const TABLE: &'static str = "declared_records";

    fn terms(room: &DeclaredRoom) -> Terms {
        room.declaration.terms()
    }

    fn present(
        _: &mut PgConnection,
        records: &[Record<Self>],
    ) -> impl Future<Output = Result<Vec<Map<String, Value>>, sqlx::Error>> + Send {
        ready(Ok(records.iter().map(|record| record.fields.data.0.clone()).collect()))
    }
}

impl Announced for DeclaredRecord {
    fn events_in(room: &DeclaredRoom, change: &Change<'_, Self>) -> Vec<EventName> {
        let declaration = room.declaration;
        match change {
            Change::Created(_) => vec![declaration.event("created")],
            Change::Deleted(_) => vec![declaration.event("deleted")],
            Change::Updated(before, after) => {
                let became = declaration.becomes.iter().filter_map(|(member, events)| {
                    let value = after.fields.data.get(member).filter(|value| before.fields.data.get(member) != Some(*value))?;
                    events.get(value.as_str()?).cloned()
                });
                became.chain([declaration.event("updated")]).collect()
            }
        }
    }
}

impl Declaration {
    /// `stock_item.created`
    pub(super) fn event(&self, action: &str) -> EventName {
        format!("{}.{action}", self.singular).parse().expect("a singular was checked to be a word")
    }
}

impl Editable for DeclaredRecord {
    type Body = Map<String, Value>;

    async fn create(edit: &mut Edit<DeclaredRoom>, _: DeclaredId, body: Map<String, Value>) -> Result<New<Self>, Problem> {
        let declaration = edit.room.declaration;
        let mut data = declaration.defaults();
        data.extend(body);
        check(edit, declaration, &Map::new(), &mut data).await?;
        Ok(Self { kind: declaration.kind.clone(), data: Json(data) }.into())
    }

    async fn change(edit: &mut Edit<DeclaredRoom>, before: &Record<Self>, body: Map<String, Value>) -> Result<Self, Problem> {
        let declaration = edit.room.declaration;
        let mut data = before.fields.data.0.clone();
        data.extend(body);
        check(edit, declaration, &before.fields.data, &mut data).await?;
        Ok(Self { kind: declaration.kind.clone(), data: Json(data) })
    }
}

/// The members fit the schema, and what they newly refer to is there. References are written as answers show ids.
async fn check(
    edit: &mut Edit<DeclaredRoom>,
    declaration: &Declaration,
    before: &Map<String, Value>,
    data: &mut Map<String, Value>,
) -> Result<(), Problem> {
    let mut errors = FieldErrors::default();
    for unfit in declaration.check(data) {
        errors.add(&unfit.path, format!("{}: {}.", unfit.path, unfit.reason));
    }
    errors.finish()?;
    for (member, target) in &declaration.references {
        let Some(Value::String(text)) = data.get(member).filter(|value| before.get(member) != Some(*value)) else { continue };
        let missing = || FieldErrors::one(member, format!("There is no such record of {}.", target.kind));
        let (id, shown) = read_id(target.prefix, text).ok_or_else(missing)?;
        let company = edit.company;
        if !queries::is_there(edit.conn(), company, target, id).await? {
            return Err(missing());
        }
        data.insert(member.clone(), shown.into());
    }
    Ok(())
}
