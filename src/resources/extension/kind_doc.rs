//! What is told about a kind of record: its names, fields and permissions, and the documentation of its routes as OpenAPI Operation
//! Objects.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::callers::Permissions;
use crate::kernel::ids::TypedId;
use crate::kernel::openapi::{OperationDoc, parameter, reference};
use crate::kernel::problem::ProblemCode;
use crate::resources::cursor::Direction;
use crate::resources::extension::base_path;
use crate::resources::kind::queries::MAX_SCANNED_RECORDS;
use crate::resources::operation::plural_path;
use crate::resources::{FieldDoc, Filter, Operation, Referable, Resource, ResourceDescriptor};

/// The field that says who of the company's own customers a record is for.
const OWNER: &str = "owner";

/// A kind of record, for documentation and for programs that draw lists and forms of it.
#[derive(Clone, Debug)]
pub struct KindDoc {
    /// The namespace of its routes: `fleet`.
    pub namespace: String,
    /// Its names, and the parameters of its lists.
    pub descriptor: ResourceDescriptor,
    /// The kind, for records that reference it.
    pub referable: Referable,
    /// What listing and finding need.
    pub reading: Permissions,
    /// What creating and changing need.
    pub writing: Permissions,
    /// What deleting needs.
    pub deleting: Permissions,
    /// Whether the response to the creation contains a secret.
    pub shows_secret: bool,
    /// Its fields, without those that every record has.
    pub members: Vec<FieldDoc>,
    /// What can be done beside listing and finding.
    pub operations: Vec<Operation>,
    /// Whether it is told as to a caller who is restricted to one owner: [`KindDoc::within_owner`].
    pub is_within_owner: bool,
    /// Whether such a caller reaches its records.
    has_owners: bool,
    id: Value,
    refusals: &'static [ProblemCode],
    /// What a search does not find at once.
    search_limit: String,
}

impl KindDoc {
    pub(super) fn of<R: Resource>(
        namespace: &str,
        descriptor: ResourceDescriptor,
        members: Vec<FieldDoc>,
        operations: &[Operation],
    ) -> Self {
        Self {
            namespace: namespace.to_owned(),
            descriptor,
            referable: Referable::of::<R>(namespace, &descriptor, operations),
            reading: R::reading(),
            writing: R::writing(),
            deleting: R::deleting(),
            shows_secret: R::SHOWS_SECRET,
            members,
            operations: operations.to_vec(),
            is_within_owner: false,
            has_owners: R::OWNED.is_some(),
            id: R::Id::json_schema(),
            refusals: R::REFUSALS,
            search_limit: search_limit::<R>(&descriptor),
        }
    }

    /// The kind as a caller who is restricted to one owner knows it: without the field that says so. `None` if it is out of their reach.
    pub fn within_owner(&self) -> Option<Self> {
        let mut kind = self.clone();
        kind.members.retain(|member| member.name != OWNER);
        kind.is_within_owner = true;
        self.has_owners.then_some(kind)
    }

    /// The query parameters that a list can be filtered by.
    pub fn filters(&self) -> impl Iterator<Item = &'static Filter> {
        let hides_owner = self.is_within_owner;
        self.descriptor.filters.iter().filter(move |filter| !(hides_owner && filter.name == OWNER))
    }

    /// The path of the list, below the namespace's routes: `tracking-numbers`.
    pub fn path(&self) -> String {
        plural_path(self.descriptor.plural)
    }

    /// The path of the list: `/fleet/int/v1/tracking-numbers`.
    pub fn list_path(&self) -> String {
        format!("{}/{}", base_path(&self.namespace), self.path())
    }

    /// The path of the record `id`: `/fleet/int/v1/orders/order_…`.
    pub fn record_path(&self, id: &str) -> String {
        format!("{}/{id}", self.list_path())
    }

    /// The paths of the list and of one record, below the namespace's routes.
    pub(super) fn paths(&self) -> (String, String) {
        let plural = self.path();
        (format!("/{plural}"), format!("/{plural}/{{uuid}}"))
    }

    pub(super) fn list(&self) -> OperationDoc {
        let many = json!({ "type": "array", "items": reference(&self.name()) });
        let meta = json!({ "type": "object", "properties": { "per_page": { "type": "integer" }, "next": { "type": ["string", "null"] } } });
        let page = json!({ "type": "object", "properties": { self.descriptor.plural: many, "meta": meta } });
        let doc = self.operation("List", self.descriptor.plural, self.reading).answering(StatusCode::OK, page);
        self.list_parameters().into_iter().fold(doc, OperationDoc::taking)
    }

    pub(super) fn find(&self) -> OperationDoc {
        with_id(self.operation("Find", self.descriptor.singular, self.reading)).showing(StatusCode::OK, self.descriptor.singular)
    }

    pub(super) fn create(&self) -> OperationDoc {
        let needed: Vec<_> = self.members.iter().filter(|member| member.required).map(|member| &member.name).collect();
        let mut body = reference(&self.body_name());
        if !needed.is_empty() {
            body = json!({ "allOf": [body], "required": needed });
        }
        self.operation("Create", self.descriptor.singular, self.writing)
            .taking_body_explained("The record, either bare or wrapped in an object under the name of its type.", body)
            .showing(StatusCode::CREATED, self.descriptor.singular)
            .refusing(self.refusals)
    }

    pub(super) fn change(&self) -> OperationDoc {
        with_version(self.operation("Change", self.descriptor.singular, self.writing))
            .taking_body_explained("The fields to change.", reference(&self.body_name()))
            .showing(StatusCode::OK, self.descriptor.singular)
            .refusing(self.refusals)
    }

    pub(super) fn delete(&self) -> OperationDoc {
        with_version(self.operation("Delete", self.descriptor.singular, self.deleting))
            .showing(StatusCode::OK, self.descriptor.singular)
            .refusing(&[ProblemCode::RecordInUse])
    }

    fn operation(&self, verb: &str, object: &str, permissions: Permissions) -> OperationDoc {
        OperationDoc::new(format!("{verb} {}.", object.replace('_', " ")))
            .explained(requirement(permissions))
            .identified(format!("{}_{}_{object}", verb.to_lowercase(), self.namespace))
            .refusing(EVERYWHERE)
    }

    fn list_parameters(&self) -> Vec<Value> {
        let instant = json!({ "type": "string", "format": "date-time" });
        let by_reading = format!("No index helps: unless it is sorted by the last change, {}", read_in_part());
        let mut parameters = vec![
            parameter(
                "limit",
                "The number of records per page.",
                json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 25 }),
            ),
            parameter("after", "The cursor of the page: `meta.next` of the previous page.", json!({ "type": "string" })),
            parameter(
                "sort",
                "The order: newest first (`-created_at`), oldest first (`created_at`), or by the last change: latest first (`-updated_at`), \
                 latest last (`updated_at`). No index helps with the last two.",
                json!({ "enum": Direction::names(), "default": "-created_at" }),
            ),
            parameter(
                "follow",
                "For clients that ask again and again: `meta.next` is never null, and no record is missed that is created or, with \
                 `sort=updated_at`, changed. Records of the last minute come again. `sort` is `created_at` by default, or `updated_at`.",
                json!({ "type": "boolean", "default": false }),
            ),
            parameter("created_after", "Only records created after this instant.", instant.clone()),
            parameter("created_before", "Only records created before this instant.", instant.clone()),
            parameter(
                "updated_after",
                &format!("Only records changed after this instant, or created and not changed. {by_reading}"),
                instant.clone(),
            ),
            parameter("updated_before", &format!("Only records last changed before this instant. {by_reading}"), instant),
        ];
        if !self.descriptor.search_fields.is_empty() {
            let sentence = format!(
                "Only records that contain this text, ignoring case and accents, in {}. {}",
                self.descriptor.search_fields.join(" or "),
                self.search_limit,
            );
            parameters.push(parameter("query", &sentence, json!({ "type": "string" })));
        }
        parameters.extend(self.descriptor.filters.iter().map(|filter| {
            let sentence = format!("Only records with this {}: {}.{}", filter.name, filter.expected(), filter.more());
            parameter(filter.name, &sentence, filter.schema())
        }));
        parameters
    }

    /// The name of the record's schema. It contains the namespace, because two namespaces may have records of the same name.
    fn name(&self) -> String {
        format!("{}.{}", self.namespace, self.descriptor.singular)
    }

    fn body_name(&self) -> String {
        format!("{}.body", self.name())
    }

    /// The schema of the record, and of the request body if there is one.
    pub(super) fn schemas(&self) -> Map<String, Value> {
        let mut id = self.id.clone();
        id["readOnly"] = true.into();
        let instant = json!({ "type": "string", "format": "date-time", "readOnly": true });
        let mut shown = Map::from_iter([
            ("id".to_owned(), id),
            ("uuid".to_owned(), json!({ "type": "string", "format": "uuid", "readOnly": true })),
            ("meta".to_owned(), json!({ "type": "object" })),
            ("created_at".to_owned(), instant.clone()),
            ("updated_at".to_owned(), instant),
        ]);
        let mut sent = Map::new();
        for member in &self.members {
            let mut schema = member.schema.clone();
            if !member.sentence.is_empty() {
                schema["description"] = member.sentence.as_ref().into();
            }
            if member.writable {
                sent.insert(member.name.to_string(), schema.clone());
            } else {
                schema["readOnly"] = true.into();
            }
            shown.insert(member.name.to_string(), schema);
        }
        let mut schemas = Map::from_iter([(self.name(), json!({ "type": "object", "properties": shown }))]);
        if self.operations.iter().any(|operation| *operation != Operation::Delete) {
            let mut body = json!({ "type": "object", "properties": sent });
            if !self.members.is_empty() {
                body["additionalProperties"] = false.into();
            }
            schemas.insert(self.body_name(), body);
        }
        schemas
    }
}

/// What a caller needs, as sentences: an API key its scopes, and an operator a role that reaches each area.
fn requirement(permissions: Permissions) -> String {
    let scopes: Vec<_> = permissions.scopes().iter().map(|scope| format!("`{scope}`")).collect();
    let noun = if scopes.len() == 1 { "scope" } else { "scopes" };
    let beyond = permissions.beyond().map(|(area, scope)| format!(" An operator's role needs `{scope}` for {} too.", area.name()));
    format!("Requires the {noun} {}.{}", scopes.join(" and "), beyond.collect::<String>())
}

/// The refusals that every route of an extension has.
const EVERYWHERE: &[ProblemCode] = &[
    ProblemCode::ApiKeyInvalid,
    ProblemCode::ScopeMissing,
    ProblemCode::CompanySuspended,
    ProblemCode::CompanyMoving,
    ProblemCode::AddressForbidden,
    ProblemCode::ParameterInvalid,
    ProblemCode::RateLimited,
];

/// Completes the description of a route beside the five.
pub(super) fn beside_the_five(doc: OperationDoc, path: &str) -> OperationDoc {
    let doc = doc.refusing(EVERYWHERE);
    match path {
        _ if path.contains("{uuid}") => with_id(doc),
        _ if path.contains('{') => doc.refusing(&[ProblemCode::RecordNotFound]),
        _ => doc,
    }
}

fn with_id(doc: OperationDoc) -> OperationDoc {
    doc.at("uuid", "The UUID or the id of the record.").refusing(&[ProblemCode::RecordNotFound])
}

fn with_version(doc: OperationDoc) -> OperationDoc {
    let sentence = "The `ETag` of the version that was read. The request is refused if the record has changed since.";
    with_id(doc).taking_header("If-Match", sentence).refusing(&[ProblemCode::RecordChanged])
}

/// What is done where no index helps.
fn read_in_part() -> String {
    format!(
        "a page is searched for in at most {MAX_SCANNED_RECORDS} of the records that the other parameters leave, and may be short or empty \
         although more records match: `meta.next` continues behind those that were read."
    )
}

/// What the parameter `query` does not find at once, as sentences.
fn search_limit<R: Resource>(descriptor: &ResourceDescriptor) -> String {
    let unindexed = read_in_part();
    let within = R::SEARCH_WITHIN.and_then(|column| descriptor.filters.iter().find(|filter| filter.column == column));
    match within {
        Some(filter) => format!("It is only supported together with `{}`. No index helps: {unindexed}", filter.name),
        None if R::SEARCH_INDEX => format!("A text without three letters or digits in a row is not in the index: {unindexed}"),
        None => format!("No index helps: {unindexed}"),
    }
}
