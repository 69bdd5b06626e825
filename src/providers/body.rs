//! Reads the body of a provider's response, up to a limit.

use reqwest::Response;

/// The maximum size of a response, in bytes, far above every legitimate one.
pub(super) const LIMIT: usize = 256 * 1024;

/// Why there is no body.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The connection ended, or the time.
    #[error("the response is incomplete")]
    Interrupted(#[source] reqwest::Error),
    /// It exceeds the limit.
    #[error("the response is longer than allowed")]
    TooLong,
}

/// Reads the whole body.
pub(super) async fn read(response: Response) -> Result<Vec<u8>, ReadError> {
    read_up_to(LIMIT, response).await
}

/// Reads the whole body of a response that may be of another size.
pub async fn read_up_to(limit: usize, mut response: Response) -> Result<Vec<u8>, ReadError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(ReadError::Interrupted)? {
        if body.len() + chunk.len() > limit {
            return Err(ReadError::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
