//! A namespace: its routes and their documentation. Both are built from one list, so that they always match.

mod kind_doc;

use axum::Router;
use axum::extract::FromRef;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::MethodFilter;

use crate::companies::Companies;
use crate::events::EventType;
use crate::kernel::openapi::{Description, OperationDoc};
use crate::kernel::routing::{Answering, AnyHandler, on};
use crate::resources::parameters::with_parameters;
use crate::resources::routes::{read_only_routes, routes};
use crate::resources::{Editable, FieldDoc, Operation, Resource, ResourceDescriptor};

pub use kind_doc::KindDoc;
use kind_doc::beside_the_five;

/// The routes below `<namespace>/int/v1`.
#[derive(Clone, Debug)]
pub struct Extension<S> {
    namespace: String,
    router: Router<S>,
    description: Description,
    kinds: Vec<KindDoc>,
    event_types: Vec<EventType>,
}

impl<S> Extension<S>
where
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    /// A namespace without routes.
    pub fn new(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            router: Router::new(),
            description: Description::default(),
            kinds: Vec::new(),
            event_types: Vec::new(),
        }
    }

    /// The five routes of a resource.
    pub fn editable<R: Editable>(self) -> Self
    where
        R::State: FromRef<S>,
    {
        self.with_operations::<R>(Operation::ALL)
    }

    /// The two `GET` routes of a resource, and the routes of these operations.
    pub fn with_operations<R: Editable>(self, operations: &[Operation]) -> Self
    where
        R::State: FromRef<S>,
    {
        self.kind::<R>(ResourceDescriptor::of::<R>(), R::field_docs(), operations)
    }

    /// Like [`Extension::with_operations`], for one of the several kinds that a type serves.
    pub fn kind<R: Editable>(mut self, descriptor: ResourceDescriptor, members: Vec<FieldDoc>, operations: &[Operation]) -> Self
    where
        R::State: FromRef<S>,
    {
        self.router = self.router.merge(routes::<R, S>(descriptor.plural, operations));
        self.event_types.extend(R::EVENTS.iter().map(|event| event.event_type::<R>(&self.namespace, &members)));
        self.describe::<R>(descriptor, members, operations)
    }

    /// The two `GET` routes of a resource.
    pub fn read_only<R: Resource>(mut self) -> Self
    where
        R::State: FromRef<S>,
    {
        self.router = self.router.merge(read_only_routes::<R, S>());
        self.describe::<R>(ResourceDescriptor::of::<R>(), R::field_docs(), &[])
    }

    /// Adds a route beside the five.
    pub fn route<H: Handler<T, S, Future = Answering>, T>(mut self, method: Method, path: &str, doc: OperationDoc, handler: H) -> Self {
        let filter = MethodFilter::try_from(method.clone()).expect("all methods in the program can be routed");
        self.router = self.router.route(path, on(filter, with_parameters(doc.query(), AnyHandler::of(handler))));
        self.add(method, path, beside_the_five(doc, path));
        self
    }

    /// Combines the routes of two parts of the same namespace.
    pub fn merge(mut self, other: Self) -> Self {
        debug_assert_eq!(self.namespace, other.namespace);
        self.router = self.router.merge(other.router);
        self.description.merge(other.description);
        self.kinds.extend(other.kinds);
        self.event_types.extend(other.event_types);
        self
    }

    /// Supplies the state that the routes need, so that the result can be combined with routes that need another state.
    pub fn with_state<T>(self, state: S) -> Extension<T> {
        let Self { namespace, router, description, kinds, event_types } = self;
        Extension { namespace, router: router.with_state(state), description, kinds, event_types }
    }

    fn describe<R: Resource>(mut self, descriptor: ResourceDescriptor, members: Vec<FieldDoc>, operations: &[Operation]) -> Self {
        let kind = KindDoc::of::<R>(&self.namespace, descriptor, members, operations);
        let (many, one) = kind.paths();
        self.add(Method::GET, &many, kind.list());
        self.add(Method::GET, &one, kind.find());
        for operation in operations {
            match operation {
                Operation::Create => self.add(Method::POST, &many, kind.create()),
                Operation::Change => self.add(Method::PUT, &one, kind.change()),
                Operation::Delete => self.add(Method::DELETE, &one, kind.delete()),
            }
        }
        self.description.schemas(kind.schemas());
        self.kinds.push(kind);
        self
    }

    fn add(&mut self, method: Method, path: &str, doc: OperationDoc) {
        self.description.route(method, &self.namespace, format!("{}{path}", self.path()), doc);
    }
}

fn base_path(namespace: &str) -> String {
    format!("/{namespace}/int/v1")
}

impl<S> Extension<S> {
    /// `/<namespace>/int/v1`
    pub fn path(&self) -> String {
        base_path(&self.namespace)
    }

    /// The OpenAPI description, in which all paths are full.
    pub fn description(&self) -> Description {
        self.description.clone()
    }

    /// The kinds of records in the namespace.
    pub fn kinds(&self) -> &[KindDoc] {
        &self.kinds
    }

    /// The event types about these kinds.
    pub fn event_types(&self) -> &[EventType] {
        &self.event_types
    }

    /// The routes, to be nested below the base path.
    pub fn router(&self) -> Router<S>
    where
        S: Clone,
    {
        self.router.clone()
    }
}
