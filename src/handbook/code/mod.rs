//! An operation as a program, in the languages that people ask for. What it prints is the answer.

mod python;

use serde_json::Value;

use crate::handbook::{Body, Credential, Operation, Place};

/// A language that programs are shown in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// A command for a shell.
    #[default]
    Curl,
    /// JavaScript, for Node and browsers.
    JavaScript,
    /// Python, with its own library alone.
    Python,
    /// Rust, with reqwest.
    Rust,
}

impl Language {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Curl, Self::JavaScript, Self::Python, Self::Rust];

    /// The name in addresses and cookies.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Rust => "rust",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
        }
    }

    /// The language with this name.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.as_str() == name)
    }
}

/// The variable of the environment in which a program finds a secret.
struct Secret(&'static str);

/// A header: a text, or the secret behind a text.
struct Header {
    name: &'static str,
    before: &'static str,
    secret: Secret,
}

/// The request of an operation.
struct Request<'a> {
    method: &'a str,
    url: String,
    headers: Vec<Header>,
    body: Option<Payload<'a>>,
}

/// What a request sends.
enum Payload<'a> {
    Json(&'a Value),
    /// The members of a form, encoded.
    Form(String),
}

impl<'a> Payload<'a> {
    fn of(body: &'a Body) -> Self {
        match body.is_form {
            true => Self::Form(url::form_urlencoded::Serializer::new(String::new()).extend_pairs(body.form()).finish()),
            false => Self::Json(&body.sample),
        }
    }

    fn content_type(&self) -> &'static str {
        match self {
            Self::Json(_) => "application/json",
            Self::Form(_) => "application/x-www-form-urlencoded",
        }
    }
}

/// The program that calls `operation` on the service at `base` (`https://portico.example`). `id` stands for the record, if it is known.
pub fn program(language: Language, operation: &Operation, base: &str, id: Option<&str>) -> String {
    let request = Request {
        method: &operation.method,
        url: format!("{base}{}", target(operation, id)),
        headers: operation.credentials.iter().flat_map(|credential| headers(*credential)).collect(),
        body: operation.body.as_ref().map(Payload::of),
    };
    match language {
        Language::Curl => request.curl(),
        Language::JavaScript => request.javascript(),
        Language::Python => request.python(),
        Language::Rust => request.rust(),
    }
}

/// The path and query with samples in the places of their parameters.
fn target(operation: &Operation, id: Option<&str>) -> String {
    let mut target = operation.path.clone();
    for parameter in operation.parameters.iter().filter(|parameter| parameter.place == Place::Path) {
        let name = parameter.field.name.as_str();
        let value = if name == "uuid" { id.unwrap_or(&parameter.sample) } else { &parameter.sample };
        target = target.replace(&format!("{{{name}}}"), value);
    }
    let needed = operation.parameters.iter().filter(|parameter| parameter.place == Place::Query && parameter.field.required);
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(needed.map(|parameter| (&parameter.field.name, &parameter.sample)))
        .finish();
    if query.is_empty() { target } else { format!("{target}?{query}") }
}

fn headers(credential: Credential) -> Vec<Header> {
    let header = |name, before, secret| Header { name, before, secret: Secret(secret) };
    match credential {
        Credential::ApiKey => vec![header("Authorization", "Bearer ", "API_KEY")],
        Credential::StoreKey => vec![header("Authorization", "Bearer ", "STORE_KEY")],
        Credential::CustomerToken => vec![header("Customer-Token", "", "CUSTOMER_TOKEN")],
        Credential::SocketSignature => {
            vec![header("X-Socket-Timestamp", "", "SOCKET_TIMESTAMP"), header("X-Socket-Signature", "", "SOCKET_SIGNATURE")]
        }
    }
}

/// JSON over several lines, all but the first one indented by `spaces`.
fn indented(value: &Value, spaces: usize) -> String {
    format!("{value:#}").replace('\n', &format!("\n{}", " ".repeat(spaces)))
}

impl Request<'_> {
    fn curl(&self) -> String {
        let mut command = match (self.method, &self.body) {
            ("GET", None) | ("POST", Some(_)) => format!("curl '{}'", self.url),
            (method, _) => format!("curl -X {method} '{}'", self.url),
        };
        for Header { name, before, secret: Secret(secret) } in &self.headers {
            command.push_str(&format!(" \\\n  -H \"{name}: {before}${secret}\""));
        }
        match &self.body {
            Some(Payload::Json(body)) => command.push_str(&format!(" \\\n  --json '{}'", indented(body, 2).replace('\'', r"'\''"))),
            Some(Payload::Form(form)) => command.push_str(&format!(" \\\n  --data '{form}'")),
            None => {}
        }
        command
    }

    fn javascript(&self) -> String {
        let mut lines = vec![format!("const response = await fetch(\"{}\", {{", self.url)];
        if self.method != "GET" {
            lines.push(format!("  method: \"{}\",", self.method));
        }
        let mut headers: Vec<_> = self
            .headers
            .iter()
            .map(|Header { name, before, secret: Secret(secret) }| match *before {
                "" => format!("    \"{name}\": process.env.{secret},"),
                before => format!("    \"{name}\": `{before}${{process.env.{secret}}}`,"),
            })
            .collect();
        if let Some(body) = &self.body {
            headers.push(format!("    \"Content-Type\": \"{}\",", body.content_type()));
        }
        if !headers.is_empty() {
            lines.push("  headers: {".to_owned());
            lines.append(&mut headers);
            lines.push("  },".to_owned());
        }
        match &self.body {
            Some(Payload::Json(body)) => lines.push(format!("  body: JSON.stringify({}),", indented(body, 2))),
            Some(Payload::Form(form)) => lines.push(format!("  body: \"{form}\",")),
            None => {}
        }
        lines.push("});\nconsole.log(await response.json());".to_owned());
        lines.join("\n")
    }

    fn rust(&self) -> String {
        let mut lines = vec!["let answer: serde_json::Value = reqwest::Client::new()".to_owned()];
        lines.push(format!("    .{}(\"{}\")", self.method.to_lowercase(), self.url));
        for Header { name, before, secret: Secret(secret) } in &self.headers {
            lines.push(match *before {
                "Bearer " => format!("    .bearer_auth(std::env::var(\"{secret}\")?)"),
                _ => format!("    .header(\"{name}\", std::env::var(\"{secret}\")?)"),
            });
        }
        match &self.body {
            Some(Payload::Json(body)) => lines.push(format!("    .json(&serde_json::json!({}))", indented(body, 4))),
            Some(payload @ Payload::Form(form)) => {
                lines.push(format!("    .header(\"Content-Type\", \"{}\")\n    .body(\"{form}\")", payload.content_type()));
            }
            None => {}
        }
        lines.push("    .send()\n    .await?\n    .json()\n    .await?;\nprintln!(\"{answer:#}\");".to_owned());
        lines.join("\n")
    }
}
