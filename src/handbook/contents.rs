//! What the documentation has, in the order in which people read it.

use serde_json::Value;

use crate::handbook::fields::Field;
use crate::kernel::problem::ProblemCode;

/// Everything in the document.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// The operations.
    pub sections: Vec<Section>,
    /// The events, by the part of their names before the dot.
    pub events: Vec<EventGroup>,
}

/// A part of the API.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its name in addresses.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Its chapters.
    pub chapters: Vec<Chapter>,
}

/// The operations on one kind of thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Chapter {
    /// Its name in addresses, below its section: `fleet/orders`.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Namespace and path of the kind of record, if it is one.
    pub kind: Option<(String, String)>,
    /// The operations.
    pub operations: Vec<Operation>,
}

/// A route.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Its name within the documentation.
    pub id: String,
    /// `POST`
    pub method: String,
    /// The path, with `{uuid}` and the like.
    pub path: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// What else there is to know.
    pub description: String,
    /// What it needs of whoever asks.
    pub credentials: Vec<Credential>,
    /// What stands in the path, the query and the headers.
    pub parameters: Vec<Parameter>,
    /// The body of the request.
    pub body: Option<Body>,
    /// The answers of success.
    pub answers: Vec<Answer>,
    /// The problems.
    pub refusals: Vec<Refusal>,
}

/// A way to say who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The API key of a company.
    ApiKey,
    /// The key of a store.
    StoreKey,
    /// The token of a signed-in customer.
    CustomerToken,
    /// The signature of the socket server.
    SocketSignature,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the path.
    Path,
    /// Behind the question mark.
    Query,
    /// In a header.
    Header,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Where it stands.
    pub place: Place,
    /// What it is.
    pub field: Field,
    /// A value.
    pub sample: String,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// What it is.
    pub sentence: String,
    /// Its members.
    pub fields: Vec<Field>,
    /// A body that is accepted.
    pub sample: Value,
    /// Whether it is sent as forms are, and not as JSON.
    pub is_form: bool,
}

impl Body {
    /// The members of a form's sample, as texts.
    pub fn form(&self) -> impl Iterator<Item = (&str, &str)> {
        let members = self.sample.as_object().filter(|_| self.is_form).into_iter().flatten();
        members.map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()))
    }
}

/// An answer of success.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The status: `201`.
    pub status: String,
    /// What it means.
    pub sentence: String,
    /// The members of its body.
    pub fields: Vec<Field>,
    /// Its body, if it has one that is JSON.
    pub sample: Option<Value>,
}

/// A problem that an operation may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which.
    pub code: ProblemCode,
}

/// The events of one group.
#[derive(Clone, Debug, PartialEq)]
pub struct EventGroup {
    /// `order`
    pub name: String,
    /// The events.
    pub events: Vec<EventEntry>,
}

/// An event type.
#[derive(Clone, Debug, PartialEq)]
pub struct EventEntry {
    /// `order.created`
    pub name: String,
    /// What happened.
    pub meaning: String,
    /// The members of `data`.
    pub fields: Vec<Field>,
    /// A whole body.
    pub sample: Value,
}

impl Contents {
    /// The chapter `name` of the section with this name.
    pub fn find(&self, section: &str, name: &str) -> Option<(&Section, &Chapter)> {
        let section = self.sections.iter().find(|known| known.name == section)?;
        Some((section, section.chapters.iter().find(|chapter| chapter.name == name)?))
    }

    /// Every operation with its section and chapter.
    pub fn operations(&self) -> impl Iterator<Item = (&Section, &Chapter, &Operation)> {
        let chapters = self.sections.iter().flat_map(|section| section.chapters.iter().map(move |chapter| (section, chapter)));
        chapters.flat_map(|(section, chapter)| chapter.operations.iter().map(move |operation| (section, chapter, operation)))
    }
}

impl Operation {
    /// The heading: the summary without its dot.
    pub fn heading(&self) -> &str {
        self.summary.trim_end_matches('.')
    }
}
