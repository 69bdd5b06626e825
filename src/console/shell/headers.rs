//! The headers that protect pages.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;

use crate::kernel::web_origin::WebOrigin;

/// Only this origin, no script or style within a page, no form to elsewhere. Who may put a frame around it follows.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors";

/// For a page that shows another page of this origin in a frame, and that nobody may show in one.
pub const POLICY_WITH_FRAMES: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                                      frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Who may show pages in a frame.
#[derive(Clone, Debug)]
pub struct Framing {
    policy: HeaderValue,
    /// The same for browsers that do not know the policy. They cannot be told of single origins.
    options: Option<HeaderValue>,
}

impl Framing {
    /// Nobody.
    pub fn forbidden() -> Arc<Self> {
        Self::by(&[])
    }

    /// Pages of these origins, and nobody if there are none.
    pub fn by(ancestors: &[WebOrigin]) -> Arc<Self> {
        let mut policy = POLICY.as_bytes().to_vec();
        for WebOrigin(origin) in ancestors {
            policy.push(b' ');
            policy.extend(origin.as_bytes());
        }
        if ancestors.is_empty() {
            policy.extend(b" 'none'");
        }
        let policy = HeaderValue::from_bytes(&policy).expect("its parts are header values");
        Arc::new(Self { policy, options: ancestors.is_empty().then(|| HeaderValue::from_static("DENY")) })
    }
}

pub(super) async fn protect(State(framing): State<Arc<Framing>>, mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert_with(|| framing.policy.clone());
    if let Some(options) = &framing.options {
        headers.entry(header::X_FRAME_OPTIONS).or_insert_with(|| options.clone());
    }
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
