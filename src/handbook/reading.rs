//! How the OpenAPI document is read.

use serde_json::Value;

use crate::handbook::contents::{
    Answer, Body, Chapter, Contents, Credential, EventEntry, EventGroup, Operation, Parameter, Place, Refusal, Section,
};
use crate::handbook::fields::Field;
use crate::handbook::sample::{Extent, sample};
use crate::kernel::problem::ProblemCode;
use crate::resources::label;

const SECTIONS: [(&str, &str, &str); 4] = [
    ("storefront", "Storefront", "What a store's apps call: sign-in, the customer's own account, cards, sockets. With a store key."),
    ("resources", "Resources", "Orders, drivers, stores and every other kind of record, declared ones included. With an API key."),
    ("hub", "Hub", "Webhooks, deliveries, events and API keys: what subscribers and publishers call. With an API key."),
    ("gateways", "Gateways", "Payment gateways, their callbacks, and the payments that follow from them."),
];

/// Where a path is told: the section, the name and the title of the chapter, and the kind of record.
type Shelf = (&'static str, String, String, Option<(String, String)>);

fn shelf(path: &str) -> Shelf {
    let parts: Vec<_> = path.split('/').skip(1).collect();
    match parts[..] {
        ["storefront", "v1", kind, ..] => ("storefront", kind.to_owned(), label(kind), None),
        ["socket", ..] => ("storefront", "socket-server".to_owned(), "Socket server".to_owned(), None),
        ["webhooks", ..] => ("gateways", "receiving".to_owned(), "Receiving callbacks".to_owned(), None),
        [namespace, "int", "v1", plural, ..] => {
            let (section, name) = match namespace {
                "developers" => ("hub", plural.to_owned()),
                "ledger" => ("gateways", plural.to_owned()),
                _ => ("resources", format!("{namespace}/{plural}")),
            };
            (section, name, label(&plural.replace('-', "_")), Some((namespace.to_owned(), plural.to_owned())))
        }
        _ => ("hub", "more".to_owned(), "More".to_owned(), None),
    }
}

impl Contents {
    pub(super) fn read(document: &Value) -> Self {
        let mut sections: Vec<_> =
            SECTIONS.iter().map(|(name, title, about)| Section { name, title, about, chapters: Vec::new() }).collect();
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            let (section, name, title, kind) = shelf(path);
            let section = sections.iter_mut().find(|known| known.name == section).expect("every shelf is in a section");
            let chapters = &mut section.chapters;
            let index = chapters.iter().position(|chapter| chapter.name == name).unwrap_or_else(|| {
                chapters.push(Chapter { name, title, kind, operations: Vec::new() });
                chapters.len() - 1
            });
            let operations = item.as_object().into_iter().flatten();
            chapters[index].operations.extend(operations.map(|(method, operation)| Operation::read(document, method, path, operation)));
        }
        let mut events: Vec<EventGroup> = Vec::new();
        for (name, item) in document["webhooks"].as_object().into_iter().flatten() {
            let group = name.split('.').next().unwrap_or_default();
            let entry = EventEntry::read(document, name, &item["post"]);
            match events.iter_mut().find(|known| known.name == group) {
                Some(known) => known.events.push(entry),
                None => events.push(EventGroup { name: group.to_owned(), events: vec![entry] }),
            }
        }
        Self { sections, events }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Operation {
    fn read(document: &Value, method: &str, path: &str, operation: &Value) -> Self {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let mut parameters: Vec<_> = parameters.map(|parameter| Parameter::read(document, parameter)).collect();
        parameters.sort_by_key(|parameter| parameter.place as u8);
        let (mut answers, mut refusals) = (Vec::new(), Vec::new());
        for (status, response) in operation["responses"].as_object().into_iter().flatten() {
            match status.starts_with(['4', '5']) {
                true => refusals.extend(codes(&response["description"])),
                false => answers.push(Answer::read(document, status, response)),
            }
        }
        refusals.sort_by_key(|refusal| refusal.code.status());
        Self {
            id: operation["operationId"].as_str().map_or_else(|| derived_id(method, path), str::to_owned),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: text(&operation["summary"]),
            description: text(&operation["description"]),
            credentials: Credential::read(&operation["security"]),
            parameters,
            body: Some(&operation["requestBody"]).filter(|body| body.is_object()).map(|body| Body::read(document, body)),
            answers,
            refusals,
        }
    }
}

/// The name of an operation that has none of its own: `post_developers_webhooks_enable`.
fn derived_id(method: &str, path: &str) -> String {
    let words = path.split('/').filter(|part| !part.is_empty() && !matches!(*part, "int" | "v1"));
    let words = words.map(|part| part.trim_matches(['{', '}']).replace('-', "_"));
    [method.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join("_")
}

/// The problems that the description of a response names: `` `code`: sentence ``.
fn codes(description: &Value) -> impl Iterator<Item = Refusal> {
    let sentences = text(description);
    let is_named = move |code: &&ProblemCode| sentences.contains(&format!("`{}`: ", code.as_str()));
    ProblemCode::ALL.iter().filter(is_named).map(|code| Refusal { code: *code })
}

impl Credential {
    fn read(security: &Value) -> Vec<Self> {
        let Some(schemes) = security.as_array() else { return vec![Self::ApiKey] };
        let names = schemes.first().and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str());
        let known = |name| match name {
            "api_key" => Some(Self::ApiKey),
            "store_key" => Some(Self::StoreKey),
            "customer_token" => Some(Self::CustomerToken),
            "socket_signature" => Some(Self::SocketSignature),
            _ => None,
        };
        names.filter_map(known).collect()
    }
}

impl Parameter {
    fn read(document: &Value, parameter: &Value) -> Self {
        let (name, schema) = (text(&parameter["name"]), &parameter["schema"]);
        let mut field = Field::one(document, &name, schema, parameter["required"] == true);
        field.sentence = text(&parameter["description"]);
        let place = match parameter["in"].as_str() {
            Some("path") => Place::Path,
            Some("header") => Place::Header,
            _ => Place::Query,
        };
        let sample = sample(document, schema, &name, Extent::Request);
        let sample = match (place, name.as_str()) {
            (Place::Path, "name") => "order.created".to_owned(),
            (Place::Path, "provider") => "acme-id".to_owned(),
            (Place::Path, _) => "01890a5d-ac96-774b-bcce-b302099a8057".to_owned(),
            _ => sample.as_str().map_or_else(|| sample.to_string(), str::to_owned),
        };
        Self { place, field, sample }
    }
}

impl Body {
    fn read(document: &Value, body: &Value) -> Self {
        let (form, json) = (&body["content"]["application/x-www-form-urlencoded"], &body["content"]["application/json"]);
        let is_form = form.is_object();
        let content = if is_form { form } else { json };
        let fields = Field::members_of(document, &content["schema"]);
        let sample = sample(document, &content["schema"], "", Extent::Request);
        Self { sentence: text(&body["description"]), fields, sample, is_form }
    }
}

impl Answer {
    fn read(document: &Value, status: &str, response: &Value) -> Self {
        let schema = &response["content"]["application/json"]["schema"];
        Self {
            status: status.to_owned(),
            sentence: text(&response["description"]),
            fields: Field::members_of(document, schema),
            sample: schema.is_object().then(|| sample(document, schema, "", Extent::Answer)),
        }
    }
}

impl EventEntry {
    fn read(document: &Value, name: &str, delivery: &Value) -> Self {
        let content = &delivery["requestBody"]["content"]["application/json"];
        let data = &content["schema"]["properties"]["data"];
        Self {
            name: name.to_owned(),
            meaning: text(&delivery["summary"]),
            fields: Field::members_of(document, data),
            sample: content["example"].clone(),
        }
    }
}
