//! Who is calling: the store by its key, which every request sends, and the customer by a token. Both are parameters of a handler, and
//! holding one is the permission. What a stolen token must not do takes a [`FreshCustomer`].

mod calling_store;
mod fresh_customer;
mod signed_in_customer;

pub use calling_store::{CallingStore, admit};
pub use fresh_customer::FreshCustomer;
pub use signed_in_customer::SignedInCustomer;
