//! Programs in Python, whose literals are not those of JSON.

use serde_json::Value;

use crate::handbook::code::{Header, Payload, Request, Secret};

impl Request<'_> {
    pub(super) fn python(&self) -> String {
        let imports = if self.headers.is_empty() { "import json" } else { "import json, os" };
        let mut lines = vec![format!("{imports}\nfrom urllib.request import Request, urlopen\n\nrequest = Request(")];
        lines.push(format!("    \"{}\",\n    method=\"{}\",", self.url, self.method));
        let mut headers: Vec<_> = self
            .headers
            .iter()
            .map(|Header { name, before, secret: Secret(secret) }| match *before {
                "" => format!("        \"{name}\": os.environ[\"{secret}\"],"),
                before => format!("        \"{name}\": \"{before}\" + os.environ[\"{secret}\"],"),
            })
            .collect();
        if let Some(body) = &self.body {
            headers.push(format!("        \"Content-Type\": \"{}\",", body.content_type()));
        }
        if !headers.is_empty() {
            lines.push("    headers={".to_owned());
            lines.append(&mut headers);
            lines.push("    },".to_owned());
        }
        match &self.body {
            Some(Payload::Json(body)) => lines.push(format!("    data=json.dumps({}).encode(),", literal(body, 4))),
            Some(Payload::Form(form)) => lines.push(format!("    data=b\"{form}\",")),
            None => {}
        }
        lines.push(")\nwith urlopen(request) as response:\n    print(json.load(response))".to_owned());
        lines.join("\n")
    }
}

/// A value as Python writes it; lines after the first are indented by `spaces`.
fn literal(value: &Value, spaces: usize) -> String {
    let within = " ".repeat(spaces + 4);
    let list = |open: char, entries: Vec<String>, close: char| {
        let entries: String = entries.iter().map(|entry| format!("{within}{entry},\n")).collect();
        format!("{open}\n{entries}{}{close}", " ".repeat(spaces))
    };
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(values) if values.is_empty() => "[]".to_owned(),
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Array(values) => list('[', values.iter().map(|value| literal(value, spaces + 4)).collect(), ']'),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{}: {}", Value::from(name.as_str()), literal(value, spaces + 4));
            list('{', members.iter().map(member).collect(), '}')
        }
        // Numbers and texts are written as in JSON.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_in_python() {
        let value = json!({ "a": null, "b": [true, false], "c": {}, "d": "O'Neill \"x\"" });
        let written = "{\n    \"a\": None,\n    \"b\": [\n        True,\n        False,\n    ],\n    \"c\": {},\n    \"d\": \"O'Neill \\\"x\\\"\",\n}";
        assert_eq!(literal(&value, 0), written);
    }
}
