//! The parameters of a handler and their part of the route's description.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};

use crate::kernel::client_address::ClientAddress;
use crate::kernel::json::{JsonBody, JsonOptions};
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::openapi::OperationDoc;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::{CallingStore, FreshCustomer, SignedInCustomer};
use crate::storefront::audit::ClientInfo;
use crate::storefront::challenges::ChallengeAnswer;
use crate::storefront::routes::Body;

/// All parameters of a handler.
pub trait Parts {
    /// Adds their description.
    fn describe(doc: OperationDoc) -> OperationDoc;
}

/// One parameter of a handler. Most of them do not change the description.
pub trait Part {
    /// Adds its description.
    fn describe(doc: OperationDoc) -> OperationDoc {
        doc
    }
}

impl<S> Part for State<S> {}
impl Part for CallingStore {}
impl Part for ChallengeAnswer {
    fn describe(doc: OperationDoc) -> OperationDoc {
        doc.taking_header("Portico-Challenge", "The token of a solved challenge, after `challenge_required`: up to 4,096 characters.")
            .refusing(&[ProblemCode::ChallengeRequired, ProblemCode::ProviderUnavailable, ProblemCode::Overloaded])
    }
}
impl Part for ClientAddress {}
impl Part for ClientInfo {
    fn describe(doc: OperationDoc) -> OperationDoc {
        doc.taking_header("Device-Name", "What the app calls the device, for the list of sessions: up to 64 characters.")
    }
}

/// [`OperationDoc::at`] describes the path parameters.
impl Part for Path<String> {}
/// [`OperationDoc::taking_query`] describes the parameters of the query.
impl<Q> Part for Result<Query<Q>, QueryRejection> {}

impl Part for SignedInCustomer {
    fn describe(doc: OperationDoc) -> OperationDoc {
        doc.authenticated_by(&["store_key", "customer_token"]).refusing(&[ProblemCode::CustomerTokenInvalid])
    }
}

impl Part for FreshCustomer {
    fn describe(doc: OperationDoc) -> OperationDoc {
        SignedInCustomer::describe(doc).refusing(&[ProblemCode::FreshSignInRequired])
    }
}

/// Every route says that it takes the header, because its problems are in these languages too.
impl Part for AcceptedLanguages {}

impl<B: Body> Part for JsonBody<B> {
    fn describe(doc: OperationDoc) -> OperationDoc {
        doc.taking_body(B::schema())
    }
}

impl<B: Body> Part for JsonOptions<B> {
    fn describe(doc: OperationDoc) -> OperationDoc {
        doc.taking_options(B::schema())
    }
}

/// A parameter whose rejection the handler itself returns.
impl<P: Part> Part for Result<P, Problem> {
    fn describe(doc: OperationDoc) -> OperationDoc {
        P::describe(doc)
    }
}

/// Implements [`Parts`] for the tuple that axum uses for a handler's parameters. Its first element is a marker type of axum.
macro_rules! parts {
    ($($Part:ident)*) => {
        impl<Mark, $($Part: Part),*> Parts for (Mark, $($Part,)*) {
            fn describe(doc: OperationDoc) -> OperationDoc {
                $(let doc = $Part::describe(doc);)*
                doc
            }
        }
    };
}

parts!(A);
parts!(A B);
parts!(A B C);
parts!(A B C D);
parts!(A B C D E);
parts!(A B C D E F);
