//! A request as a command for a shell.

use serde_json::{Map, Value};

/// The command that sends the same request again.
pub fn curl(url: &str, headers: &Map<String, Value>, body: &str) -> String {
    let mut command = format!("curl {}", quote(url));
    for (name, value) in headers {
        command.push_str(&format!(" \\\n  -H {}", quote(&format!("{name}: {}", value.as_str().unwrap_or_default()))));
    }
    command.push_str(&format!(" \\\n  --data-binary {}", quote(body)));
    command
}

/// One word for a POSIX shell, whatever is in it.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_quotes() {
        let headers = Map::from_iter([("X-Name".to_owned(), Value::from("O'Neill; rm -rf /"))]);
        let command = curl("https://shop.example/hooks", &headers, r#"{"name":"$(id)'"}"#);
        assert_eq!(
            command,
            r#"curl 'https://shop.example/hooks' \
  -H 'X-Name: O'\''Neill; rm -rf /' \
  --data-binary '{"name":"$(id)'\''"}'"#
        );
    }
}
