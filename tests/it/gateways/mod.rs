//! Gateways and the ledger: interface 2, `POST /webhooks`; decisions, section 8.

mod calling_back;
mod concurrent_callbacks;
mod documented;
mod driver_guide;
mod erasing;
mod every_order;
mod evidence;
mod large_callbacks;
mod ledger;
mod order_of_arrival;
mod reconciling;
mod refusals;
mod repetitions;
mod resolving;
mod retrying;
mod rotating;
mod truthful;
