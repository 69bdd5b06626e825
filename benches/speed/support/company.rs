//! Companies beside the demonstration company.

use std::process::Command;

use portico::kernel::ids::CompanyId;
use serde_json::{Value, json};

use super::calls::{Caller, request};
use super::service::Service;

/// A company with an API key that has all scopes it needs.
pub struct Company {
    /// The `Authorization` header.
    pub key: String,
    pub id: CompanyId,
}

impl Company {
    /// Founds a company, as operators do on the command line.
    pub fn found(service: &Service) -> Self {
        let company = run(service, &["company", "create", "Neighbour", "--json"]);
        let id = company["company"]["id"].as_str().unwrap();
        let key = run(service, &["key", "create", "--company", id, "--scopes", "events,read,write,admin", "--json"]);
        Self { key: format!("Bearer {}", key["key"]["key"].as_str().unwrap()), id: id.parse().unwrap() }
    }

    /// The demonstration company.
    pub fn demo(service: &Service) -> Self {
        Self { key: service.api_key(), id: service.demo.company }
    }

    /// Subscribes every endpoint to `event`, with further members of the webhook.
    pub fn subscribe(&self, service: &Service, urls: &[String], event: &str, more: &Value) {
        let mut caller = Caller::connect(service.address);
        for url in urls {
            let mut body = json!({ "url": url, "events": [event] });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            caller.ask(201, &request("POST", "/developers/int/v1/webhooks", &[("authorization", &self.key)], &body.to_string()));
        }
    }
}

/// Runs a command of the service's program that prints JSON.
pub fn run(service: &Service, arguments: &[&str]) -> Value {
    let output = Command::new(service.program().path())
        .args(arguments)
        .env("PORTICO_ENVIRONMENT", "development")
        .env("PORTICO_DEV__DATA_DIR", service.directory())
        .env("PORTICO_DATABASE__URL", service.database_url())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
