//! The documentation of each route, as OpenAPI Operation Objects.

use serde_json::{Map, Value, json};

use crate::companies::Scope;
use crate::kernel::ids::TypedId;
use crate::kernel::openapi::{header, json_content, parameter, path_parameter, reference, refusals, request_body};
use crate::kernel::problem::ProblemCode;
use crate::resources::{FieldDoc, Operation, Resource, ResourceDescriptor, plural_path};

/// A kind of record, as far as its documentation needs it.
pub(super) struct Kind {
    namespace: String,
    descriptor: ResourceDescriptor,
    id: Value,
    reading: Scope,
    writing: Scope,
    refusals: &'static [ProblemCode],
    members: Vec<FieldDoc>,
}

impl Kind {
    pub(super) fn of<R: Resource>(namespace: &str, descriptor: ResourceDescriptor, members: Vec<FieldDoc>) -> Self {
        Self {
            namespace: namespace.to_owned(),
            descriptor,
            id: R::Id::json_schema(),
            reading: R::READING,
            writing: R::WRITING,
            refusals: R::REFUSALS,
            members,
        }
    }

    /// The paths of the list and of one record.
    pub(super) fn paths(&self) -> (String, String) {
        let plural = plural_path(self.descriptor.plural);
        (format!("/{plural}"), format!("/{plural}/{{uuid}}"))
    }

    pub(super) fn list(&self) -> Value {
        let many = json!({ "type": "array", "items": reference(&self.name()) });
        let meta = json!({ "type": "object", "properties": { "per_page": { "type": "integer" }, "next": { "type": ["string", "null"] } } });
        let answer = json!({ "type": "object", "properties": { self.descriptor.plural: many, "meta": meta } });
        let mut operation = self.operation("List", self.descriptor.plural, self.reading, 200, answer, &[]);
        operation["parameters"] = self.list_parameters().into();
        operation
    }

    pub(super) fn find(&self) -> Value {
        let mut operation =
            self.operation("Find", self.descriptor.singular, self.reading, 200, self.wrapped(), &[ProblemCode::RecordNotFound]);
        operation["parameters"] = json!([uuid_parameter()]);
        operation
    }

    pub(super) fn create(&self) -> Value {
        let refused = [ProblemCode::JsonInvalid, ProblemCode::BodyTooLarge, ProblemCode::MediaTypeUnsupported, ProblemCode::BodyInvalid];
        let refused = [&refused[..], self.refusals].concat();
        let mut operation = self.operation("Create", self.descriptor.singular, self.writing, 201, self.wrapped(), &refused);
        let needed: Vec<_> = self.members.iter().filter(|member| member.required).map(|member| &member.name).collect();
        let mut body = reference(&self.body_name());
        if !needed.is_empty() {
            body = json!({ "allOf": [body], "required": needed });
        }
        operation["requestBody"] = request_body("The record, either bare or wrapped in an object under the name of its type.", body);
        operation
    }

    pub(super) fn change(&self) -> Value {
        let refused = [
            ProblemCode::JsonInvalid,
            ProblemCode::RecordNotFound,
            ProblemCode::RecordChanged,
            ProblemCode::BodyTooLarge,
            ProblemCode::MediaTypeUnsupported,
            ProblemCode::BodyInvalid,
        ];
        let refused = [&refused[..], self.refusals].concat();
        let mut operation = self.operation("Change", self.descriptor.singular, self.writing, 200, self.wrapped(), &refused);
        operation["parameters"] = json!([uuid_parameter(), if_match()]);
        operation["requestBody"] = request_body("The fields to change.", reference(&self.body_name()));
        operation
    }

    pub(super) fn delete(&self) -> Value {
        let refused = [ProblemCode::RecordNotFound, ProblemCode::RecordInUse, ProblemCode::RecordChanged];
        let mut operation = self.operation("Delete", self.descriptor.singular, self.writing, 200, self.wrapped(), &refused);
        operation["parameters"] = json!([uuid_parameter(), if_match()]);
        operation
    }

    fn operation(&self, verb: &str, object: &str, scope: Scope, status: u16, answer: Value, refused: &[ProblemCode]) -> Value {
        let mut responses = Map::from_iter([(status.to_string(), json_content("Success.", answer))]);
        responses.extend(problems(refused));
        json!({
            "tags": [self.namespace],
            "operationId": format!("{}_{}_{object}", verb.to_lowercase(), self.namespace),
            "summary": format!("{verb} {}.", object.replace('_', " ")),
            "description": format!("Requires the scope `{scope}`."),
            "responses": responses,
        })
    }

    fn list_parameters(&self) -> Vec<Value> {
        let instant = json!({ "type": "string", "format": "date-time" });
        let mut parameters = vec![
            parameter(
                "limit",
                "The number of records per page.",
                json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 25 }),
            ),
            parameter("after", "The cursor of the page: `meta.next` of the previous page.", json!({ "type": "string" })),
            parameter(
                "sort",
                "The order: newest first (`-created_at`) or oldest first (`created_at`).",
                json!({ "enum": ["created_at", "-created_at"], "default": "-created_at" }),
            ),
            parameter("created_after", "Only records created after this instant.", instant.clone()),
            parameter("created_before", "Only records created before this instant.", instant),
        ];
        if !self.descriptor.search_fields.is_empty() {
            let sentence =
                format!("Only records that contain this text, ignoring case, in {}.", self.descriptor.search_fields.join(" or "));
            parameters.push(parameter("query", &sentence, json!({ "type": "string" })));
        }
        parameters.extend(self.descriptor.filters.iter().map(|filter| {
            let sentence = format!("Only records with this {}: {}.", filter.name, filter.expected());
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

    fn wrapped(&self) -> Value {
        json!({ "type": "object", "properties": { self.descriptor.singular: reference(&self.name()) } })
    }

    /// The schema of the record, and of the request body if there is one.
    pub(super) fn schemas(&self, operations: &[Operation]) -> Map<String, Value> {
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
        if operations.iter().any(|operation| *operation != Operation::Delete) {
            let mut body = json!({ "type": "object", "properties": sent });
            if !self.members.is_empty() {
                body["additionalProperties"] = false.into();
            }
            schemas.insert(self.body_name(), body);
        }
        schemas
    }
}

/// The errors of an operation and those that every operation has, by status code.
pub(super) fn problems(refused: &[ProblemCode]) -> Map<String, Value> {
    let everywhere = [
        ProblemCode::ApiKeyInvalid,
        ProblemCode::ScopeMissing,
        ProblemCode::AddressForbidden,
        ProblemCode::ParameterInvalid,
        ProblemCode::RateLimited,
    ];
    refusals(refused.iter().copied().chain(everywhere))
}

pub(super) fn uuid_parameter() -> Value {
    path_parameter("uuid", "The UUID or the id of the record.")
}

fn if_match() -> Value {
    header("If-Match", "The `ETag` of the version that was read. The request is refused if the record has changed since.")
}
