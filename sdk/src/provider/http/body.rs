//! Reads the body of a provider's answer, no more of it than a worker should hold.
//!
//! The body is read piece by piece and measured after decompression: a few bytes of gzip may stand for gigabytes, and a server may send
//! for as long as the activity has time. Of an error only the start is of use.
//!
//! # Design
//! With the feature `genai`, gzip is on for the OpenAI client, and off for genai's own, which reads
//! bodies without a limit: there only the time limit of the call bounds them.

#[cfg(feature = "openai")]
use reqwest::Response;

/// Most bytes of a body. A reply of more than 2 MB fits into no history, and a body may hold several times its text: logarithmic
/// probabilities, encrypted reasoning, escapes.
pub(crate) const MOST_BYTES: usize = 32 * 1024 * 1024;
/// Most bytes that are read of the body of an error, of which a message quotes a few hundred characters.
pub(crate) const MOST_OF_AN_ERROR: usize = 64 * 1024;

/// The body of a successful answer; `None` when it is over [`MOST_BYTES`].
///
/// # Errors
/// The connection broke, or what came is not what its encoding promises.
#[cfg(feature = "openai")]
pub(crate) async fn whole(mut response: Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let limit = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    if response.content_length().is_some_and(|length| length > limit) {
        return Ok(None);
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if body.len() + piece.len() > MOST_BYTES {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Some(body))
}

/// The start of the body of an error. One that breaks off is still that error, with what came of it.
#[cfg(feature = "openai")]
pub(crate) async fn of_an_error(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        let room = MOST_OF_AN_ERROR - body.len();
        body.extend_from_slice(&piece[..room.min(piece.len())]);
        if body.len() == MOST_OF_AN_ERROR {
            break;
        }
    }
    body
}
