//! What the command line asks a service for.

use std::path::Path;

use clap::ArgMatches;
use reqwest::{Method, RequestBuilder};
use secrecy::ExposeSecret;
use serde_json::{Map, Value};

use crate::cli::Failure;
use crate::cli::secret_input::{read_file, read_text};
use crate::cli::service::action::Action;
use crate::cli::service::connection::Service;
use crate::cli::service::options::{BODY, is_secret};
use crate::handbook::{Field, Place};
use crate::resources::Input;

/// A request of the API.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Option<Value>,
}

/// The request that the options of an action tell.
pub(super) fn read(action: &Action, matches: &ArgMatches) -> Result<Request, Failure> {
    let operation = action.operation;
    let mut request =
        Request { method: operation.method.parse()?, path: operation.path.clone(), query: Vec::new(), headers: Vec::new(), body: None };
    for parameter in &operation.parameters {
        let name = &parameter.field.name;
        // A list has options of its own for its pages.
        let Ok(Some(values)) = matches.try_get_many::<String>(name) else { continue };
        let value = values.map(String::as_str).collect::<Vec<_>>().join(",");
        match parameter.place {
            Place::Path => request.path = request.path.replace(&format!("{{{name}}}"), &segment(&value)),
            Place::Query => request.query.push((name.clone(), value)),
            Place::Header => request.headers.push((name.clone(), value)),
        }
    }
    if let Some(body) = &operation.body {
        request.body = Some(match matches.try_get_one::<String>(BODY).ok().flatten() {
            Some(file) => serde_json::from_str(&read_text(Path::new(file))?).map_err(|error| format!("{file} is not JSON: {error}"))?,
            None => of_fields(&body.fields, matches)?,
        });
    }
    Ok(request)
}

impl Request {
    /// The same for one page of a list.
    pub(super) fn page(&self, limit: u64, after: Option<&str>) -> Self {
        let mut request = self.clone();
        request.query.push(("limit".to_owned(), limit.to_string()));
        request.query.extend(after.map(|after| ("after".to_owned(), after.to_owned())));
        request
    }

    pub(super) fn to(&self, service: &Service) -> RequestBuilder {
        let mut request = service.request(self.method.clone(), &self.path, &self.query);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        match &self.body {
            Some(body) => request.json(body),
            None => request,
        }
    }
}

/// A part of a path. An id has no other characters, so a slash or a question mark leads nowhere else.
fn segment(value: &str) -> String {
    url::form_urlencoded::byte_serialize(value.as_bytes()).collect()
}

fn of_fields(fields: &[Field], matches: &ArgMatches) -> Result<Value, Failure> {
    let mut body = Map::new();
    for field in fields {
        let Some(values) = matches.get_many::<String>(&field.name) else { continue };
        let values: Vec<_> = values.map(String::as_str).collect();
        let value = match is_secret(field) {
            true => read_file(Path::new(values[0]))?.expose_secret().into(),
            false => value(field, &values)?,
        };
        body.insert(field.name.clone(), value);
    }
    Ok(body.into())
}

/// The value of a field. Where the API takes null, an empty text means it.
fn value(field: &Field, given: &[&str]) -> Result<Value, Failure> {
    let text = given.join(",");
    if text.is_empty() && field.kind.ends_with("or null") {
        return Ok(Value::Null);
    }
    match field.input {
        Input::Choices(_) | Input::List | Input::Events => {
            Ok(given.iter().filter(|word| !word.is_empty()).map(|word| Value::from(*word)).collect::<Vec<_>>().into())
        }
        Input::Integer | Input::Number | Input::Switch | Input::Array | Input::Object => {
            serde_json::from_str(&text).map_err(|error| format!("--{} must be JSON: {error}", field.name.replace('_', "-")).into())
        }
        _ => Ok(text.into()),
    }
}
