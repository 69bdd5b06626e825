//! What is refused for its head alone, before anything else of the request is read.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request};
use axum::http::{Version, header};

use crate::kernel::problem::{Problem, ProblemCode};

/// The maximum length of path and query, in bytes. The longest that anybody sends are filters of lists.
const MAX_ADDRESS_LEN: usize = 16 * 1024;

/// Refuses a request from the network that no client may send (RFC 9112, section 3.2), and one whose address is too long.
pub(super) fn refuse(request: &Request) -> Option<Problem> {
    let is_of_network = request.extensions().get::<ConnectInfo<SocketAddr>>().is_some();
    let hosts = request.headers().get_all(header::HOST).iter().count();
    if is_of_network && (hosts > 1 || hosts == 0 && request.version() == Version::HTTP_11) {
        return Some(Problem::new(ProblemCode::BadRequest).detail("A request names its host once, in the header Host."));
    }
    let length = request.uri().path_and_query().map_or(0, |address| address.as_str().len());
    (length > MAX_ADDRESS_LEN).then(|| ProblemCode::AddressTooLong.into())
}
