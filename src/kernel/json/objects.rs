//! A deserializer that takes only an object for a struct, at any depth.
//!
//! Serde reads a list as the members of a struct in their order, so `["ada@example.com", "secret"]` would be a body with two members. Nobody
//! means that, and a body that means one thing today would mean another when the struct gets a member. The wrapper passes everything else on
//! as it is.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor};

/// Wraps a deserializer, or what a visitor gets from one.
pub(super) struct Objects<T>(pub(super) T);

/// Wraps a visitor.
struct Checked<V> {
    visitor: V,
    /// Whether a struct is read.
    is_object: bool,
}

/// Wraps what reads a part of a value.
struct Part<T>(T);

fn any<V>(visitor: V) -> Checked<V> {
    Checked { visitor, is_object: false }
}

macro_rules! pass_on {
    ($($method:ident($($name:ident: $Type:ty),*);)*) => { $(
        fn $method<V: Visitor<'de>>(self, $($name: $Type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($($name,)* any(visitor))
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
        deserialize_option();
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

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(name, fields, Checked { visitor, is_object: true })
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
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
        self.visitor.visit_some(Objects(inner))
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Objects(inner))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        match self.is_object {
            true => Err(A::Error::invalid_type(Unexpected::Seq, &self)),
            false => self.visitor.visit_seq(Objects(elements)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Objects(members))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(Objects(variant))
    }
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Part<T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Value, D::Error> {
        self.0.deserialize(Objects(deserializer))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.0.next_element_seed(Part(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(Part(seed))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.0.next_value_seed(Part(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Objects<A> {
    type Error = A::Error;
    type Variant = Objects<A::Variant>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self::Variant), A::Error> {
        let (value, variant) = self.0.variant_seed(Part(seed))?;
        Ok((value, Objects(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        self.0.newtype_variant_seed(Part(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(len, any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Checked { visitor, is_object: true })
    }
}

/// Reads a value from a deserializer.
pub(super) fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(Objects(deserializer))
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
