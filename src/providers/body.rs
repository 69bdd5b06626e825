//! The body of a provider's answer, up to a limit: whoever answers does not decide how much of our memory it takes.

use reqwest::Response;

/// The maximum size of a response, in bytes, far above every legitimate one.
pub(super) const LIMIT: usize = 256 * 1024;

/// The body cannot be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unread {
    #[error("the answer broke off")]
    Broken(#[source] reqwest::Error),
    #[error("the answer is longer than {LIMIT} bytes")]
    TooLong,
}

/// Reads the whole body.
pub(super) async fn read(mut response: Response) -> Result<Vec<u8>, Unread> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Unread::Broken)? {
        if body.len() + chunk.len() > LIMIT {
            return Err(Unread::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
