//! What a handler takes, and what that tells about its route.

use axum::extract::{Path, State};

use crate::kernel::client_address::ClientAddress;
use crate::kernel::json::Json;
use crate::kernel::problem::Problem;
use crate::storefront::access::CallingStore;
use crate::storefront::audit::Origin;
use crate::storefront::messages::AcceptedLanguages;
use crate::storefront::routes::{Body, Told};
use crate::storefront::tokens::SignedInCustomer;

/// All that a handler takes.
pub trait Parts {
    /// Adds what it tells.
    fn tell(told: Told) -> Told;
}

/// One thing that a handler takes. Most tell nothing that a client has to know.
pub trait Part {
    /// Adds what it tells.
    fn tell(told: Told) -> Told {
        told
    }
}

impl<S> Part for State<S> {}
impl Part for CallingStore {}
impl Part for ClientAddress {}
impl Part for Origin {}
/// [`Told::at`] says what stands there.
impl Part for Path<String> {}

impl Part for SignedInCustomer {
    fn tell(told: Told) -> Told {
        told.taking_token()
    }
}

impl Part for AcceptedLanguages {
    fn tell(told: Told) -> Told {
        told.taking_header("Accept-Language", "The languages that the message may be in, the best first.")
    }
}

impl<B: Body> Part for Json<B> {
    fn tell(told: Told) -> Told {
        told.taking_body::<B>()
    }
}

/// What is refused later than others, by the handler itself.
impl<P: Part> Part for Result<P, Problem> {
    fn tell(told: Told) -> Told {
        P::tell(told)
    }
}

/// A handler's parameters, as axum names its type: a mark of its own first.
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
