//! A record of a declared kind, as a resource.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use sqlx::types::Json;

use crate::callers::Area;
use crate::declared::{Declaration, DeclaredState};
use crate::events::EventName;
use crate::kernel::ids::DeclaredId;
use crate::kernel::json::Members;
use crate::kernel::json_schema::SchemaViolation;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::resources::{Change, Editable, New, PublishesEvents, Record, RecordTransaction, Resource, ResourceDescriptor};

crate::columns! {
    /// The columns of a declared record.
    pub struct DeclaredRecord {
        /// The kind that the record belongs to.
        pub kind: String,
        /// The version of the kind's schema under which the record was last written.
        pub schema_version: i32,
        /// The fields.
        pub data: Json<Map<String, Value>>,
    }
}

impl Resource for DeclaredRecord {
    type Id = DeclaredId;
    type State = DeclaredState;

    const SINGULAR: &'static str = "record";
    const PLURAL: &'static str = "records";
    const AREA: Area = Area::Business;
    const TABLE: &'static str = "declared_records";

    fn descriptor(state: &DeclaredState) -> ResourceDescriptor {
        state.declaration.descriptor
    }

    fn shown(&self) -> Map<String, Value> {
        self.data.0.clone()
    }
}

impl PublishesEvents for DeclaredRecord {
    fn events_in(state: &DeclaredState, change: &Change<'_, Self>) -> Vec<EventName> {
        let declaration = &state.declaration;
        let became = declaration.becomes.iter().filter_map(|(member, events)| {
            let value = change.newly(|record| record.data.get(member).cloned())?;
            events.get(value.as_str()?).cloned()
        });
        // Several fields may map to the same event.
        let became: BTreeSet<EventName> = became.collect();
        let own = match change {
            Change::Created(_) => "created",
            Change::Updated(..) => "updated",
            Change::Deleted(_) => "deleted",
        };
        became.into_iter().chain([declaration.event(own)]).collect()
    }
}

impl Editable for DeclaredRecord {
    type Body = Members;

    async fn create(
        transaction: &mut RecordTransaction<DeclaredState>,
        _: DeclaredId,
        Members(body): Members,
    ) -> Result<New<Self>, Problem> {
        let mut data = transaction.state.declaration.defaults.clone();
        data.extend(body);
        Ok(Self::holding(transaction, &Map::new(), data).await?.into())
    }

    async fn change(
        transaction: &mut RecordTransaction<DeclaredState>,
        before: &Record<Self>,
        Members(body): Members,
    ) -> Result<Self, Problem> {
        let mut data = before.fields.data.0.clone();
        data.extend(body);
        let after = Self::holding(transaction, &before.fields.data, data).await?;
        // A newer schema version alone is not a change.
        Ok(if after.data == before.fields.data { before.fields.clone() } else { after })
    }
}

impl DeclaredRecord {
    /// Builds a record with these fields after validating them. Takes a shared lock on records that are newly referenced compared
    /// to `before`.
    async fn holding(
        transaction: &mut RecordTransaction<DeclaredState>,
        before: &Map<String, Value>,
        mut data: Map<String, Value>,
    ) -> Result<Self, Problem> {
        let declaration = transaction.state.declaration.clone();
        refuse(declaration.check(&data))?;
        lock_references(transaction, &declaration, before, &mut data).await?;
        Ok(Self { kind: declaration.kind.clone(), schema_version: declaration.version, data: Json(data) })
    }
}

fn refuse(unfit: Vec<SchemaViolation>) -> Result<(), Problem> {
    let mut errors = FieldErrors::default();
    for unfit in unfit {
        if unfit.path.is_empty() {
            return Err(Problem::new(ProblemCode::BodyInvalid).detail(unfit.sentence()));
        }
        errors.add(&unfit.path, unfit.sentence());
    }
    errors.finish()
}

/// Checks that newly referenced records exist, and takes shared locks on them until the commit. Stores their ids in the form that
/// responses show.
async fn lock_references(
    transaction: &mut RecordTransaction<DeclaredState>,
    declaration: &Declaration,
    before: &Map<String, Value>,
    data: &mut Map<String, Value>,
) -> Result<(), Problem> {
    let (mut missing, company) = (FieldErrors::default(), transaction.caller.company);
    for (member, kind) in &declaration.references {
        let Some(Value::String(text)) = data.get(member).filter(|value| before.get(member) != Some(*value)) else { continue };
        match kind.read(text) {
            Some((id, shown)) if kind.lock_shared(transaction.conn(), company, id).await? => {
                drop(data.insert(member.clone(), shown.into()))
            }
            _ => missing.add(member, format!("There is no such record of {}.", kind.name)),
        }
    }
    missing.finish()
}
