//! The parameters of a handler and their part of the route's description.

use axum::extract::{Path, State};

use crate::kernel::client_address::ClientAddress;
use crate::kernel::json::Json;
use crate::kernel::problem::Problem;
use crate::storefront::access::CallingStore;
use crate::storefront::audit::Origin;
use crate::storefront::messages::AcceptedLanguages;
use crate::storefront::routes::{Body, Told};
use crate::storefront::tokens::SignedInCustomer;

/// All parameters of a handler.
pub trait Parts {
    /// Adds their description.
    fn tell(told: Told) -> Told;
}

/// One parameter of a handler. Most of them do not change the description.
pub trait Part {
    /// Adds its description.
    fn tell(told: Told) -> Told {
        told
    }
}

impl<S> Part for State<S> {}
impl Part for CallingStore {}
impl Part for ClientAddress {}
impl Part for Origin {}
/// [`Told::at`] describes the path parameters.
impl Part for Path<String> {}

impl Part for SignedInCustomer {
    fn tell(told: Told) -> Told {
        told.taking_token()
    }
}

impl Part for AcceptedLanguages {
    fn tell(told: Told) -> Told {
        told.taking_header("Accept-Language", "The preferred languages of the message.")
    }
}

impl<B: Body> Part for Json<B> {
    fn tell(told: Told) -> Told {
        told.taking_body::<B>()
    }
}

/// A parameter whose rejection the handler itself returns.
impl<P: Part> Part for Result<P, Problem> {
    fn tell(told: Told) -> Told {
        P::tell(told)
    }
}

/// Implements [`Parts`] for the tuple that axum uses for a handler's parameters. Its first element is a marker type of axum.
macro_rules! parts {
    ($($Part:ident)*) => {
        impl<Mark, $($Part: Part),*> Parts for (Mark, $($Part,)*) {
            fn tell(told: Told) -> Told {
                $(let told = $Part::tell(told);)*
                told
            }
        }
    };
}

parts!(A);
parts!(A B);
parts!(A B C);
parts!(A B C D);
parts!(A B C D E);
