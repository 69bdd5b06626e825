//! All operations as a collection for [Bruno](https://www.usebruno.com), a client whose requests are plain text files.
//!
//! A folder per section has a folder per chapter, which has a file per operation. The environment `portico` has the address of the
//! service and the name of an identity provider; keys and tokens are secret variables, which Bruno keeps outside of the files.

use std::path::PathBuf;

use crate::handbook::{Chapter, Contents, Credential, Operation, Place, Section};

/// The variables that are secret.
const SECRETS: [&str; 5] = ["api_key", "store_key", "customer_token", "socket_timestamp", "socket_signature"];

/// The files of the collection with their contents. `base` is the address of the service: `https://portico.example`.
pub fn collection(contents: &Contents, base: &str) -> Vec<(PathBuf, String)> {
    let name = "{\n  \"version\": \"1\",\n  \"name\": \"Portico\",\n  \"type\": \"collection\"\n}\n";
    let secrets = SECRETS.join(",\n  ");
    let environment = format!("vars {{\n  base_url: {base}\n  provider: acme-id\n}}\nvars:secret [\n  {secrets}\n]\n");
    let mut files = vec![("bruno.json".into(), name.to_owned()), ("environments/portico.bru".into(), environment)];
    for section in &contents.sections {
        for chapter in &section.chapters {
            let requests = chapter.operations.iter().zip(1..);
            files.extend(requests.map(|(operation, number)| (path(section, chapter, operation), request(operation, number))));
        }
    }
    files
}

fn path(section: &Section, chapter: &Chapter, operation: &Operation) -> PathBuf {
    let file = operation.heading().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-')).collect::<String>();
    // Two operations may have the same summary.
    let alone = chapter.operations.iter().filter(|other| other.heading() == operation.heading()).count() == 1;
    let file = if alone { file } else { operation.id.clone() };
    [section.name, &chapter.name, &format!("{file}.bru")].iter().collect()
}

/// Whether the parameter is a whole segment of the path, as Bruno knows them. One that is a part of a segment is a variable.
fn is_segment(operation: &Operation, parameter: &str) -> bool {
    operation.path.split('/').any(|segment| segment == format!("{{{parameter}}}"))
}

fn request(operation: &Operation, number: usize) -> String {
    let (method, mut url) = (operation.method.to_lowercase(), format!("{{{{base_url}}}}{}", operation.path));
    let of = |place: Place| operation.parameters.iter().filter(move |parameter| parameter.place == place);
    for parameter in of(Place::Path) {
        let name = &parameter.field.name;
        let shown = if is_segment(operation, name) { format!(":{name}") } else { format!("{{{{{name}}}}}") };
        url = url.replace(&format!("{{{name}}}"), &shown);
    }
    let body = match &operation.body {
        Some(body) if body.is_form => "formUrlEncoded",
        Some(_) => "json",
        None => "none",
    };
    let bearer = operation.credentials.iter().find_map(|credential| match credential {
        Credential::ApiKey => Some("api_key"),
        Credential::StoreKey => Some("store_key"),
        _ => None,
    });
    let auth = if bearer.is_some() { "bearer" } else { "none" };
    let mut blocks = vec![
        format!("meta {{\n  name: {}\n  type: http\n  seq: {number}\n}}", operation.heading()),
        format!("{method} {{\n  url: {url}\n  body: {body}\n  auth: {auth}\n}}"),
    ];
    let block = |name: &str, lines: Vec<String>| (!lines.is_empty()).then(|| format!("{name} {{\n  {}\n}}", lines.join("\n  ")));
    // What is not needed is offered, but switched off by the tilde.
    let query = of(Place::Query).map(|parameter| {
        let switch = if parameter.field.required { "" } else { "~" };
        format!("{switch}{}: {}", parameter.field.name, parameter.sample)
    });
    blocks.extend(block("params:query", query.collect()));
    let in_path = of(Place::Path).filter(|parameter| is_segment(operation, &parameter.field.name));
    let in_path = in_path.map(|parameter| format!("{}: {}", parameter.field.name, parameter.sample));
    blocks.extend(block("params:path", in_path.collect()));
    let headers = operation.credentials.iter().flat_map(|credential| match credential {
        Credential::CustomerToken => vec!["Customer-Token: {{customer_token}}".to_owned()],
        Credential::SocketSignature => {
            vec!["X-Socket-Timestamp: {{socket_timestamp}}".to_owned(), "X-Socket-Signature: {{socket_signature}}".to_owned()]
        }
        _ => Vec::new(),
    });
    blocks.extend(block("headers", headers.collect()));
    blocks.extend(bearer.map(|key| format!("auth:bearer {{\n  token: {{{{{key}}}}}\n}}")));
    if let Some(body) = &operation.body {
        blocks.extend(block("body:form-urlencoded", body.form().map(|(name, value)| format!("{name}: {value}")).collect()));
    }
    if let Some(body) = operation.body.as_ref().filter(|body| !body.is_form) {
        let json = format!("{:#}", body.sample).replace('\n', "\n  ");
        blocks.push(format!("body:json {{\n  {json}\n}}"));
    }
    let told = [operation.summary.as_str(), &operation.description].join(" ");
    blocks.push(format!("docs {{\n  {}\n}}", told.trim().replace('\n', "\n  ")));
    blocks.join("\n\n") + "\n"
}
