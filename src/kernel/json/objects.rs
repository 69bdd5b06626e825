//! A deserializer that takes only an object for a struct, at any depth. In a struct with the name [`EMPTY_IS_NONE`], an empty text is none.
//!
//! Serde reads a list as the members of a struct in their order, so `["ada@example.com", "secret"]` would be a body with two members. Nobody
//! means that, and a body that means one thing today would mean another when the struct gets a member.
//!
//! Apps, and exports of other services, send `""` for a field that nobody has filled in. In their bodies it is the same as `null` wherever an
//! `Option` is read. Other fields and free JSON keep it. The bodies of servers keep it everywhere: an empty owner or key is a mistake there, and
//! none at all would mean something else.
//!
//! The wrapper passes everything else on as it is.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor};
use serde_json::Value;

/// The name of structs in which an empty text stands for none: `#[serde(rename = "empty texts are none")]`. A name, because a struct tells its
/// deserializer nothing else about itself.
const EMPTY_IS_NONE: &str = "empty texts are none";

/// Whether a value stands for none in such a struct.
pub fn is_missing(value: &Value) -> bool {
    value.is_null() || value == ""
}

/// Wraps a deserializer, or what a visitor gets from one.
pub(super) struct Objects<T> {
    inner: T,
    /// Whether it is a part of such a struct.
    empty_is_none: bool,
}

impl<T> Objects<T> {
    /// Wraps what reads a whole body.
    pub(super) fn of(inner: T) -> Self {
        Self { inner, empty_is_none: false }
    }
}

/// Wraps a visitor.
struct Checked<V> {
    visitor: V,
    /// Whether a struct is read.
    is_object: bool,
    empty_is_none: bool,
}

/// Wraps what reads a part of a value.
struct Part<T> {
    seed: T,
    empty_is_none: bool,
}

fn any<V>(visitor: V, empty_is_none: bool) -> Checked<V> {
    Checked { visitor, is_object: false, empty_is_none }
}

macro_rules! pass_on {
    ($($method:ident($($name:ident: $Type:ty),*);)*) => { $(
        fn $method<V: Visitor<'de>>(self, $($name: $Type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($name,)* any(visitor, self.empty_is_none))
        }
    )* };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<D> {
    type Error = D::Error;

    pass_on! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        if !self.empty_is_none {
            return self.inner.deserialize_option(any(visitor, false));
        }
        // Serde reads forward only: a value has to be read to see whether it is an empty text.
        match Value::deserialize(self.inner)? {
            value if is_missing(&value) => visitor.visit_none(),
            value => visitor.visit_some(Objects { inner: value, empty_is_none: true }).map_err(D::Error::custom),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_struct(
            name,
            fields,
            Checked { visitor, is_object: true, empty_is_none: self.empty_is_none || name == EMPTY_IS_NONE },
        )
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! pass_on_values {
    ($($method:ident($Type:ty);)*) => { $(
        fn $method<E: Error>(self, value: $Type) -> Result<V::Value, E> {
            self.visitor.$method(value)
        }
    )* };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Checked<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_object { f.write_str("an object") } else { self.visitor.expecting(f) }
    }

    pass_on_values! {
        visit_bool(bool);
        visit_i8(i8);
        visit_i16(i16);
        visit_i32(i32);
        visit_i64(i64);
        visit_i128(i128);
        visit_u8(u8);
        visit_u16(u16);
        visit_u32(u32);
        visit_u64(u64);
        visit_u128(u128);
        visit_f32(f32);
        visit_f64(f64);
        visit_char(char);
        visit_str(&str);
        visit_borrowed_str(&'de str);
        visit_string(String);
        visit_bytes(&[u8]);
        visit_borrowed_bytes(&'de [u8]);
        visit_byte_buf(Vec<u8>);
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Objects { inner, empty_is_none: self.empty_is_none })
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Objects { inner, empty_is_none: self.empty_is_none })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        match self.is_object {
            true => Err(A::Error::invalid_type(Unexpected::Seq, &self)),
            false => self.visitor.visit_seq(Objects { inner: elements, empty_is_none: self.empty_is_none }),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Objects { inner: members, empty_is_none: self.empty_is_none })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(Objects { inner: variant, empty_is_none: self.empty_is_none })
    }
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Part<T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Value, D::Error> {
        self.seed.deserialize(Objects { inner: deserializer, empty_is_none: self.empty_is_none })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.inner.next_element_seed(Part { seed, empty_is_none: self.empty_is_none })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.inner.next_key_seed(Part { seed, empty_is_none: self.empty_is_none })
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.inner.next_value_seed(Part { seed, empty_is_none: self.empty_is_none })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Objects<A> {
    type Error = A::Error;
    type Variant = Objects<A::Variant>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self::Variant), A::Error> {
        let (value, variant) = self.inner.variant_seed(Part { seed, empty_is_none: self.empty_is_none })?;
        Ok((value, Objects { inner: variant, empty_is_none: self.empty_is_none }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        self.inner.newtype_variant_seed(Part { seed, empty_is_none: self.empty_is_none })
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.inner.tuple_variant(len, any(visitor, self.empty_is_none))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, A::Error> {
        self.inner.struct_variant(fields, Checked { visitor, is_object: true, empty_is_none: self.empty_is_none })
    }
}

/// Reads a value from a deserializer.
pub(super) fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(Objects::of(deserializer))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Point {
        x: i32,
        y: i32,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Shape {
        Empty,
        Dot(Point),
        Line { from: Point, to: Point },
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Drawing {
        shapes: Vec<Shape>,
        corner: Option<Point>,
        pair: (i32, Option<Point>),
        named: BTreeMap<String, Point>,
    }

    fn parse<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, String> {
        read(&mut serde_json::Deserializer::from_str(json)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_is_no_object_at_any_depth() {
        let drawing =
            r#"{"shapes":["empty",{"dot":POINT},{"line":{"from":POINT,"to":POINT}}],"corner":POINT,"pair":[1,POINT],"named":{"a":POINT}}"#;
        let point = r#"{"x":1,"y":2}"#;
        assert!(parse::<Drawing>(&drawing.replace("POINT", point)).is_ok());
        for (at, _) in drawing.match_indices("POINT") {
            let with_list = format!("{}[1,2]{}", &drawing[..at], &drawing[at + "POINT".len()..]).replace("POINT", point);
            let refused = parse::<Drawing>(&with_list).unwrap_err();
            assert!(refused.starts_with("invalid type: sequence, expected an object"), "{with_list}: {refused}");
        }
        assert!(parse::<Shape>(r#"{"line":[{"x":1,"y":2},{"x":1,"y":2}]}"#).is_err());
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename = "empty texts are none")]
    struct OfApp {
        name: String,
        note: Option<String>,
        corner: Option<Point>,
        number: Option<Value>,
        inner: Option<Nested>,
        free: Value,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Nested {
        note: Option<String>,
        raw: Option<Vec<String>>,
    }

    #[test]
    fn an_empty_text_is_none_where_an_app_may_leave_something_out() {
        let text = r#"{"name":"","note":"","corner":"","number":"","inner":{"note":"","raw":["",""]},"free":{"a":""}}"#;
        let read = parse::<OfApp>(text).unwrap();
        let inner = Some(Nested { note: None, raw: Some(vec![String::new(); 2]) });
        assert_eq!(read, OfApp { name: String::new(), note: None, corner: None, number: None, inner, free: json!({ "a": "" }) });
        // By all ways, and with all digits of a number.
        assert_eq!(super::read::<OfApp, _>(serde_json::from_str::<Value>(text).unwrap()).unwrap(), read);
        let full = r#"{"name":"a","note":" ","corner":{"x":1,"y":2},"number":12345678901234567890.123,"inner":null,"free":""}"#;
        let read = parse::<OfApp>(full).unwrap();
        assert_eq!((read.note.as_deref(), read.corner, read.free), (Some(" "), Some(Point { x: 1, y: 2 }), json!("")));
        assert_eq!(read.number.unwrap().to_string(), "12345678901234567890.123");
        let with_list = full.replace(r#"{"x":1,"y":2}"#, "[1,2]");
        assert!(parse::<OfApp>(&with_list).unwrap_err().starts_with("invalid type: sequence, expected an object"));
        // The bodies of servers are read to the letter.
        assert_eq!(parse::<Nested>(r#"{"note":"","raw":null}"#).unwrap().note.as_deref(), Some(""));
        assert!(parse::<Drawing>(r#"{"shapes":[],"corner":"","pair":[1,null],"named":{}}"#).is_err());
    }

    #[test]
    fn what_is_no_struct_is_read_as_before() {
        let text = r#"{"a":[1,2.50,12345678901234567890123],"b":null,"c":"d","e":true}"#;
        assert_eq!(parse::<Value>(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(parse::<Box<RawValue>>(text).unwrap().get(), text);
        assert_eq!(parse::<Vec<i32>>("[1,2]").unwrap(), [1, 2]);
        assert_eq!(read::<Point, _>(json!({ "x": 1, "y": 2 })).unwrap(), Point { x: 1, y: 2 });
        assert!(read::<Point, _>(json!([1, 2])).is_err());
    }
}
