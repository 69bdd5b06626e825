//! The words of a declared kind, kept for as long as the program runs, like those of the kinds that are written in Rust.

use std::collections::BTreeMap;

use crate::declared::declaration::FieldForm;
use crate::resources::{Filter, Terms};

/// Every part was checked to be a word that can stand in a statement.
pub(super) fn terms(kind: &str, plural: &str, singular: &str, filters: &BTreeMap<String, FieldForm>, search: &[String]) -> Terms {
    let filters: Vec<_> = filters.iter().map(|(member, form)| filter(member, *form)).collect();
    let search: Vec<_> = search.iter().map(|member| kept(&FieldForm::Text.expression(member))).collect();
    Terms {
        singular: kept(singular),
        plural: kept(&plural.replace('-', "_")),
        filters: Box::leak(filters.into_boxed_slice()),
        search: Box::leak(search.into_boxed_slice()),
        part: Some(("kind", kept(kind))),
    }
}

fn filter(member: &str, form: FieldForm) -> Filter {
    let name = kept(member);
    let filter = match form {
        FieldForm::Text | FieldForm::Reference => Filter::text(name),
        FieldForm::Number => Filter::number(name),
        FieldForm::Boolean => Filter::boolean(name),
    };
    filter.on(kept(&form.expression(member)))
}

fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
