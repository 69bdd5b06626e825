//! The documentation of each route, as OpenAPI Operation Objects.

use serde_json::{Map, Value, json};

use crate::companies::Scope;
use crate::kernel::ids::TypedId;
use crate::kernel::openapi::{header, json_content, parameter, path_parameter, reference, refusals, request_body};
use crate::kernel::problem::ProblemCode;
use crate::resources::{Described, Operation, Parameters, Resource, Terms, plural_path};

/// A kind of record, as far as its documentation needs it.
pub(super) struct Kind {
    namespace: String,
    terms: Terms,
    prefix: &'static str,
    reading: Scope,
    writing: Scope,
    members: Vec<Described>,
}

impl Kind {
    pub(super) fn of<R: Resource>(namespace: &str, terms: Terms, members: Vec<Described>) -> Self {
        Self { namespace: namespace.to_owned(), terms, prefix: R::Id::PREFIX, reading: R::READING, writing: R::WRITING, members }
    }

    /// The paths of the list and of one record.
    pub(super) fn paths(&self) -> (String, String) {
        let plural = plural_path(self.terms.plural);
        (format!("/{plural}"), format!("/{plural}/{{uuid}}"))
    }

    pub(super) fn list(&self) -> Value {
        let many = json!({ "type": "array", "items": reference(&self.name()) });
        let meta = json!({ "type": "object", "properties": { "per_page": { "type": "integer" }, "next": { "type": ["string", "null"] } } });
        let answer = json!({ "type": "object", "properties": { self.terms.plural: many, "meta": meta } });
        let mut operation = self.operation("List", self.terms.plural, self.reading, 200, answer, &[]);
        operation["parameters"] = self.list_parameters().into();
        operation
    }

    pub(super) fn find(&self) -> Value {
        let mut operation = self.operation("Find", self.terms.singular, self.reading, 200, self.wrapped(), &[ProblemCode::RecordNotFound]);
        operation["parameters"] = json!([uuid_parameter()]);
        operation
    }

    pub(super) fn create(&self) -> Value {
        let refused = [ProblemCode::JsonInvalid, ProblemCode::MediaTypeUnsupported, ProblemCode::BodyInvalid];
        let mut operation = self.operation("Create", self.terms.singular, self.writing, 201, self.wrapped(), &refused);
        let needed: Vec<_> = self.members.iter().filter(|member| member.needed).map(|member| &member.name).collect();
        let mut body = reference(&self.body_name());
        if !needed.is_empty() {
            body = json!({ "allOf": [body], "required": needed });
        }
        operation["requestBody"] = request_body("The record, bare or wrapped in the name of its kind.", body);
        operation
    }

    pub(super) fn change(&self) -> Value {
        let refused = [
            ProblemCode::JsonInvalid,
            ProblemCode::RecordNotFound,
            ProblemCode::RecordChanged,
            ProblemCode::MediaTypeUnsupported,
            ProblemCode::BodyInvalid,
        ];
        let mut operation = self.operation("Change", self.terms.singular, self.writing, 200, self.wrapped(), &refused);
        operation["parameters"] = json!([uuid_parameter(), if_match()]);
        operation["requestBody"] = request_body("The members that change.", reference(&self.body_name()));
        operation
    }

    pub(super) fn delete(&self) -> Value {
        let refused = [ProblemCode::RecordNotFound, ProblemCode::RecordInUse, ProblemCode::RecordChanged];
        let mut operation = self.operation("Delete", self.terms.singular, self.writing, 200, self.wrapped(), &refused);
        operation["parameters"] = json!([uuid_parameter(), if_match()]);
        operation
    }

    fn operation(&self, verb: &str, object: &str, scope: Scope, status: u16, answer: Value, refused: &[ProblemCode]) -> Value {
        let mut responses = Map::from_iter([(status.to_string(), json_content("Done.", answer))]);
        responses.extend(problems(refused));
        json!({
            "tags": [self.namespace],
            "operationId": format!("{}_{}_{object}", verb.to_lowercase(), self.namespace),
            "summary": format!("{verb} {}.", object.replace('_', " ")),
            "description": format!("Needs the scope `{scope}`."),
            "responses": responses,
        })
    }

    fn list_parameters(&self) -> Vec<Value> {
        let instant = json!({ "type": "string", "format": "date-time" });
        let mut parameters = vec![
            parameter("limit", "Records a page.", json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 25 })),
            parameter("after", "Where the last page ended: its `meta.next`.", json!({ "type": "string" })),
            parameter("sort", "Which end comes first.", json!({ "enum": ["created_at", "-created_at"], "default": "-created_at" })),
            parameter("created_after", "Only what is younger.", instant.clone()),
            parameter("created_before", "Only what is older.", instant),
        ];
        if !self.terms.searched.is_empty() {
            let sentence = format!("Only what has this in {}.", self.terms.searched.join(", "));
            parameters.push(parameter("query", &sentence, json!({ "type": "string" })));
        }
        parameters.extend(self.terms.filters.iter().map(|filter| {
            let sentence = format!("Only what has this {}: {}.", filter.name, filter.expected());
            parameter(filter.name, &sentence, filter.schema())
        }));
        parameters
    }

    /// The name of the record's schema. It contains the namespace, because two namespaces may have records of the same name.
    fn name(&self) -> String {
        format!("{}.{}", self.namespace, self.terms.singular)
    }

    fn body_name(&self) -> String {
        format!("{}.body", self.name())
    }

    fn wrapped(&self) -> Value {
        json!({ "type": "object", "properties": { self.terms.singular: reference(&self.name()) } })
    }

    /// The schema of the record, and of the request body if there is one.
    pub(super) fn schemas(&self, operations: &[Operation]) -> Map<String, Value> {
        let id = json!({ "type": "string", "pattern": format!("^{}_", self.prefix), "readOnly": true });
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
            if member.sent {
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

/// The operation of a route beside the five, with the query parameters it takes.
pub(super) fn beside(namespace: &str, path: &str, sentence: &str, asked: Parameters) -> Value {
    let mut operation = json!({ "tags": [namespace], "summary": sentence, "responses": problems(&[ProblemCode::RecordNotFound]) });
    operation["responses"]["2XX"] = json!({ "description": "Done." });
    let mut parameters: Vec<_> = asked.iter().map(|(name, sentence)| parameter(name, sentence, json!({ "type": "string" }))).collect();
    if path.contains("{uuid}") {
        parameters.push(uuid_parameter());
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    operation
}

/// The errors of an operation and those that every operation has, by status code.
fn problems(refused: &[ProblemCode]) -> Map<String, Value> {
    let everywhere = [ProblemCode::ApiKeyInvalid, ProblemCode::ScopeMissing, ProblemCode::ParameterInvalid];
    refusals(refused.iter().copied().chain(everywhere))
}

fn uuid_parameter() -> Value {
    path_parameter("uuid", "The record's UUID or id.")
}

fn if_match() -> Value {
    header("If-Match", "The `ETag` of the version that was read; another one is not changed.")
}
