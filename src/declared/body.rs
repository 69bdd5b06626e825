//! The request body of a declared record.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// The fields by name, each at most once. The schema validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct Members(pub Map<String, Value>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EachOnce)
    }
}

struct EachOnce;

impl<'de> Visitor<'de> for EachOnce {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value()?;
            if members.contains_key(&name) {
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
            members.insert(name, value);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_stands_there_twice_is_refused() {
        let read = serde_json::from_str::<Members>;
        assert_eq!(read(r#"{"a":1,"b":{}}"#).unwrap().0.len(), 2);
        assert!(read(r#"{"a":1,"a":1}"#).unwrap_err().to_string().starts_with("duplicate field `a`"));
        assert!(read("[]").is_err());
    }
}
