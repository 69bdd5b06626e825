//! JSON request bodies, with strict validation.

mod evidence;
mod misfit;
mod nesting;
mod numbers;
mod objects;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::kernel::problem::{Problem, ProblemCode, Sentence};
use crate::kernel::request_body::must_be_plain;

pub use evidence::{evidence_text, read_evidence};
use objects::Objects;
pub use objects::is_missing;

/// A JSON body of type `T`. A request without one is refused: what is cut off on its way, or sent to the wrong route, must not create or
/// change anything.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

/// The JSON body of a route that does something by itself, such as ending all sessions, and whose body has options at most. A request
/// without a body is one with `{}`.
#[derive(Debug)]
pub struct JsonOptions<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match read(request, state).await? {
            Some(body) => Ok(Self(body)),
            // What is missing is named where something must be there.
            None => Err(match parse::<T>(b"{}") {
                Err(lacking) => lacking,
                Ok(_) => Problem::new(ProblemCode::JsonInvalid).detail("The request has no body. A body without fields is {}."),
            }),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonOptions<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match read(request, state).await? {
            Some(options) => Ok(Self(options)),
            None => parse(b"{}").map(Self),
        }
    }
}

/// `None` without a body. Many clients send a form content type then, so the headers are not checked.
async fn read<S: Send + Sync, T: DeserializeOwned>(request: Request, state: &S) -> Result<Option<T>, Problem> {
    let is_json = takes(request.headers().get(header::CONTENT_TYPE).map(|value| value.as_bytes()));
    let is_plain = must_be_plain(request.headers());
    let bytes = Bytes::from_request(request, state).await.map_err(|refused| ProblemCode::of_status(refused.status()))?;
    match &*bytes {
        [] => Ok(None),
        _ if !is_json => Err(ProblemCode::MediaTypeUnsupported.into()),
        bytes => is_plain.and_then(|()| parse(bytes)).map(Some),
    }
}

/// A missing content type counts as JSON.
fn takes(content_type: Option<&[u8]>) -> bool {
    let Some(content_type) = content_type else { return true };
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii().to_ascii_lowercase();
    essence == b"application/json" || essence.ends_with(b"+json")
}

/// The fields of a JSON object, for those who read them one by one. A duplicate field is an error, as it is for a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Members(pub Map<String, Value>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Members, A::Error> {
                let mut members = Map::new();
                while let Some(name) = object.next_key::<String>()? {
                    if members.contains_key(&name) {
                        return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
                    }
                    members.insert(name, object.next_value()?);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// Parses a whole body. Syntax errors become `json_invalid`; wrong fields, lists in place of objects, NUL characters, numbers that cannot be
/// kept and more than a hundred levels become `body_invalid`.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    refuse_nul(bytes)?;
    let bytes = &*numbers::written_out(bytes).map_err(|number| Problem::new(ProblemCode::BodyInvalid).detail(number.to_string()))?;
    let value = parse_quickly(bytes)?;
    match nesting::is_too_deep(bytes) {
        true => Err(Problem::new(ProblemCode::BodyInvalid).detail("The body is nested too deeply.")),
        false => Ok(value),
    }
}

/// Parses what was left raw in a body that [`parse`] has accepted as a whole.
pub fn parse_part<T: DeserializeOwned>(part: &RawValue) -> Result<T, Problem> {
    parse_quickly(part.get().as_bytes())
}

/// The slower parser, which tracks the path, only runs after an error.
fn parse_quickly<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    objects::read(&mut json).and_then(|value| json.end().map(|()| value)).or_else(|_| parse_minding_the_path(bytes))
}

fn parse_minding_the_path<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(Objects::of(&mut json)).map_err(|error| {
        let path = error.path().to_string();
        misread::<T>(error.inner(), bytes).unwrap_or_else(|| explain(&path, error.inner()))
    })?;
    json.end().map_err(|error| not_json(&error))?;
    Ok(value)
}

/// Deserializes a JSON value, with the same errors as [`parse`].
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    // It is valid JSON, whatever the category of the error says.
    serde_path_to_error::deserialize(Objects::of(value))
        .map_err(|error| misfit::explain(&error.path().to_string(), &error.inner().to_string()))
}

/// serde_json reports null in place of an enum word as a syntax error. If the body is valid JSON, this reads it again and reports a
/// wrong field instead.
fn misread<T: DeserializeOwned>(error: &serde_json::Error, bytes: &[u8]) -> Option<Problem> {
    let body: Value = serde_json::from_slice(bytes).ok().filter(|_| !error.is_data())?;
    from_value::<T>(body).err()
}

fn explain(path: &str, error: &serde_json::Error) -> Problem {
    match error.is_data() {
        true => misfit::explain(path, &error.to_string()),
        false => not_json(error),
    }
}

/// Where the text ends to make sense is for whoever builds the request; a customer is told that it does not.
fn not_json(error: &serde_json::Error) -> Problem {
    let what = Sentence::new("The body is not valid JSON (line {}, column {}).").with(error.line()).with(error.column());
    Problem::new(ProblemCode::JsonInvalid).detail(what)
}

/// The value as a text, whatever the order of the members that its objects were written in.
pub fn in_one_order(mut value: Value) -> String {
    value.sort_all_objects();
    value.to_string()
}

/// Postgres cannot store U+0000 in text, and legitimate clients do not send it. The check works on the raw bytes and so covers any
/// nesting depth: `\u0000` is a NUL unless its backslash is itself escaped, that is, unless an odd number of backslashes precedes
/// it.
fn refuse_nul(bytes: &[u8]) -> Result<(), Problem> {
    for start in memchr::memmem::find_iter(bytes, b"\\u0000") {
        let backslashes = bytes[..start].iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            return Err(Problem::new(ProblemCode::BodyInvalid).detail("The body contains a NUL character, which is not allowed in text."));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        #[expect(dead_code, reason = "only parsing is tested")]
        name: String,
    }

    fn refused(bytes: &[u8]) -> Value {
        parse::<Body>(bytes).unwrap_err().body("r")
    }

    #[test]
    fn refusals_name_the_member() {
        assert_eq!(refused(b"{")["code"], "json_invalid");
        assert_eq!(refused(b"{\"name\":\"a\"} x")["code"], "json_invalid");
        assert_eq!(refused(b"{}")["fields"]["name"][0], "name is required.");
        assert_eq!(refused(b"{\"name\":\"a\",\"nam\":1}")["fields"]["nam"][0], "nam is not a known field.");
        assert_eq!(refused(b"{\"name\":5}")["fields"]["name"][0], "name must be text.");
    }

    #[test]
    fn null_for_an_enum_value_is_a_wrong_field_and_not_a_syntax_error() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Colour {
            Red,
        }
        #[derive(Debug, serde::Deserialize)]
        struct Painted {
            #[serde(rename = "colour")]
            _colour: Colour,
        }
        for wrong in ["null", "5", "true", "[]", "\"blue\""] {
            let refusal = parse::<Painted>(format!("{{\"colour\":{wrong}}}").as_bytes()).unwrap_err().body("r");
            assert_eq!(refusal["code"], "body_invalid", "{wrong}");
            assert!(refusal["fields"]["colour"].is_array(), "{wrong}: {refusal}");
        }
        assert!(parse::<Painted>(br#"{"colour":"red"}"#).is_ok());
        assert_eq!(parse::<Painted>(br#"{"colour":null"#).unwrap_err().body("r")["code"], "json_invalid");
        let twice = parse::<Painted>(br#"{"colour":null,"colour":"red"}"#).unwrap_err().body("r");
        assert_eq!(twice["status"], 400);
    }

    #[test]
    fn nul_is_refused_and_an_escaped_backslash_is_not_nul() {
        assert_eq!(refused(br#"{"name":"a\u0000b"}"#)["status"], 422);
        assert!(parse::<Body>(br#"{"name":"a\\u0000b"}"#).is_ok());
        assert_eq!(refused(br#"{"name":"a\\\u0000b"}"#)["status"], 422);
        let hidden = format!("{{\"name\":\"a\\u0000\",\"x\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert_eq!(parse::<serde_json::Map<String, Value>>(hidden.as_bytes()).unwrap_err().body("r")["code"], "body_invalid");
    }

    #[test]
    fn a_value_is_one_text_in_whatever_order_it_was_written() {
        let text = |json: &str| in_one_order(serde_json::from_str(json).unwrap());
        assert_eq!(text(r#"{"b":[{"d":1,"c":2}],"a":{}}"#), r#"{"a":{},"b":[{"c":2,"d":1}]}"#);
        assert_ne!(text(r#"[1,2]"#), text(r#"[2,1]"#));
    }

    #[test]
    fn depth_is_bounded() {
        assert_eq!(refused("[".repeat(100_000).as_bytes())["code"], "body_invalid");
        let deep = format!("{{\"name\":\"a\",\"x\":{}}}", "[".repeat(100_000));
        assert!(parse::<Value>(deep.as_bytes()).is_err());
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse::<Value>(format!("{{\"x\":{}}}", nested(99)).as_bytes()).is_ok());
        let refused = parse::<Value>(format!("{{\"x\":{}}}", nested(100)).as_bytes()).unwrap_err();
        assert_eq!(refused.body("r")["detail"], "The body is nested too deeply.");
    }

    #[test]
    fn a_member_that_stands_there_twice_is_refused() {
        let read = serde_json::from_str::<Members>;
        assert_eq!(read(r#"{"a":1,"b":{}}"#).unwrap().0.len(), 2);
        assert!(read(r#"{"a":1,"a":1}"#).unwrap_err().to_string().starts_with("duplicate field `a`"));
        assert!(read("[]").is_err());
    }
}
