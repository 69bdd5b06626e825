//! `portico docs --bruno`: its requests, sent as Bruno would send them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use portico::dev::temporary::TemporaryDirectory;
use reqwest::Method;
use serde_json::Value;

use crate::platform::openapi::documented_routes;
use crate::support::World;
use crate::support::customers::{EMAIL, token};
use crate::support::program::{printed, refused};

/// The end of ids in samples, which no record has.
const NOBODY: &str = "_01h455vb4pex5vsknk084sn02q";

/// The blocks of a file by name; each begins with a line `name {` and ends with a line `}`.
fn blocks(text: &str) -> BTreeMap<String, String> {
    let mut blocks = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_suffix(" {") {
            let inside: Vec<_> = lines.by_ref().take_while(|line| *line != "}").collect();
            blocks.insert(name.to_owned(), inside.join("\n"));
        }
    }
    blocks
}

/// The lines `name: value` of a block, without those that are switched off.
fn entries(block: Option<&String>) -> BTreeMap<&str, &str> {
    let lines = block.into_iter().flat_map(|block| block.lines()).map(str::trim);
    lines.filter(|line| !line.starts_with('~')).filter_map(|line| line.split_once(": ")).collect()
}

fn requests(directory: &Path) -> Vec<PathBuf> {
    let mut open = vec![directory.to_owned()];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "bru") && !path.to_str().unwrap().contains("environments") {
            found.push(path);
        }
    }
    found.sort_unstable();
    found
}

/// A request of the collection.
struct Requested {
    method: Method,
    /// The path, as the OpenAPI document has it.
    route: String,
    url: String,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
    form: Option<String>,
}

fn read(text: &str, variables: &BTreeMap<&str, &str>) -> Requested {
    let filled = variables.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{{{name}}}}}"), value));
    let blocks = blocks(&filled);
    let method = ["get", "post", "put", "delete"].into_iter().find(|method| blocks.contains_key(*method)).expect("there is a method");
    let request = entries(blocks.get(method));
    let (mut url, mut route) = (request["url"].to_owned(), request["url"].trim_start_matches(variables["base_url"]).to_owned());
    for (name, value) in entries(blocks.get("params:path")) {
        url = url.replace(&format!(":{name}"), value);
        route = route.replace(&format!(":{name}"), &format!("{{{name}}}"));
    }
    // A part of a segment is a variable of the environment.
    route = route.replace(&format!("-{}", variables["provider"]), "-{provider}");
    let query: Vec<_> = entries(blocks.get("params:query")).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !query.is_empty() {
        url = format!("{url}?{}", query.join("&"));
    }
    let mut headers = Vec::new();
    if let Some(key) = entries(blocks.get("auth:bearer")).get("token") {
        headers.push(("authorization", format!("Bearer {key}")));
    }
    for (name, value) in entries(blocks.get("headers")) {
        let known = ["customer-token", "x-socket-timestamp", "x-socket-signature"];
        headers.push((known.into_iter().find(|known| name.eq_ignore_ascii_case(known)).unwrap(), value.to_owned()));
    }
    let body = blocks.get("body:json").cloned();
    let form = blocks.get("body:form-urlencoded").map(|block| {
        let members = entries(Some(block));
        members.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
    });
    let sends = if form.is_some() { "formUrlEncoded" } else { "none" };
    assert_eq!(request["body"], if body.is_some() { "json" } else { sends });
    Requested { method: Method::from_bytes(method.to_uppercase().as_bytes()).unwrap(), route, url, headers, body, form }
}

#[tokio::test]
async fn every_operation_is_a_request_that_the_service_understands() {
    let world = World::new().await;
    world.resolver.insert("shop.example", &["127.0.0.1".parse().unwrap()]);
    let directory = TemporaryDirectory::make("portico-bruno").unwrap();
    let base = format!("http://{}", world.address);
    let path = directory.path().join("collection");
    let said = printed(&["docs", "--bruno", path.to_str().unwrap(), "--url", &base], &[]).await;
    assert!(said.contains("were written to"), "{said}");
    let customer = token(&world.register(EMAIL).await);
    let environment = fs::read_to_string(path.join("environments/portico.bru")).unwrap();
    let environment = blocks(&environment);
    let environment = entries(environment.get("vars"));
    assert_eq!(environment["base_url"], base);
    let variables = BTreeMap::from([
        ("base_url", base.as_str()),
        ("provider", environment["provider"]),
        ("api_key", &world.api_key),
        ("store_key", &world.store_key),
        ("customer_token", &customer),
        ("socket_timestamp", "1779358500"),
        ("socket_signature", "00"),
    ]);

    let mut routes = Vec::new();
    for file in requests(&path) {
        let requested = read(&fs::read_to_string(&file).unwrap(), &variables);
        routes.push(format!("{} {}", requested.method, requested.route));
        let Requested { method, route, url, headers, body, form } = requested;
        if route.ends_with("/events/stream") {
            continue;
        }
        let mut request = world.request(method.clone(), url.strip_prefix(&base).unwrap());
        for (name, value) in headers {
            request = request.header(name, &value);
        }
        if let Some(body) = &body {
            request = request.json(&serde_json::from_str(body).unwrap());
        }
        if let Some(form) = form {
            request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
        }
        let answer = request.send().await;
        let code = answer.body["code"].as_str().unwrap_or_default();
        assert!(!matches!(code, "route_unknown" | "method_not_allowed" | "json_invalid" | "parameter_invalid"), "{method} {route}: {code}");
        assert!(!matches!(code, "api_key_invalid" | "store_key_invalid" | "scope_missing" | "internal_error"), "{method} {route}: {code}");
        // A body or parameter may name a record that is not there. Nothing that it needs is missing, and it has nothing that is not known.
        for (field, messages) in answer.body["fields"].as_object().into_iter().flatten() {
            let sentences = messages.to_string();
            assert!(!sentences.contains("required") && !sentences.contains("unknown"), "{method} {route}: {field} {sentences}");
        }
        let needs_nothing = !route.contains('{') && !url.contains(NOBODY) && !body.as_ref().is_some_and(|body| body.contains(NOBODY));
        if needs_nothing && route.contains("/int/v1/") {
            assert!(answer.status < 300, "{method} {route} {body:?}: {:?}", answer.body);
        }
    }
    let document: Value = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    assert_eq!(routes.into_iter().collect::<std::collections::BTreeSet<_>>(), documented_routes(&document));
}

#[tokio::test]
async fn a_directory_of_other_files_is_left_alone_and_an_environment_is_kept() {
    let directory = TemporaryDirectory::make("portico-bruno").unwrap();
    let at = directory.path().to_str().unwrap();
    fs::write(directory.path().join("diary.txt"), "x").unwrap();
    let refusal = refused(&["docs", "--bruno", at], &[]).await;
    assert!(refusal.contains("choose another directory"), "{refusal}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);

    fs::remove_file(directory.path().join("diary.txt")).unwrap();
    printed(&["docs", "--bruno", at], &[]).await;
    let environment = directory.path().join("environments/portico.bru");
    fs::write(&environment, "vars {\n  base_url: https://mine.example\n}\n").unwrap();
    printed(&["docs", "--bruno", at], &[]).await;
    assert!(fs::read_to_string(&environment).unwrap().contains("mine.example"));
}
