//! Reads the body of a provider's response, up to the size that a worker should hold in memory.
//!
//! The body is read in chunks and measured after decompression: a few bytes of gzip may represent
//! gigabytes, and a server may send for as long as the activity has time. Of an error, only the
//! start is useful.
//!
//! # Design
//! With the feature `genai`, gzip is enabled for our transport, and disabled for the crate's own
//! client, which reads bodies without a limit: there only the time limit of the call bounds them.

use reqwest::Response;

/// The maximum size of a body, in bytes. A reply of more than 2 MB does not fit into history, but a
/// body may be several times as large as its text: log probabilities, encrypted reasoning, escapes.
pub(crate) const MOST_BYTES: usize = 32 * 1024 * 1024;
/// The maximum size of a streamed body, in bytes. Of a stream only the answer is kept in memory, up
/// to [`MOST_BYTES`]; but each of its tokens arrives in an event of some 300 bytes, so the longest
/// answers of models are sent as 40 MB. This limit is for servers that send without end.
pub(crate) const MOST_STREAM_BYTES: usize = 8 * MOST_BYTES;
/// The maximum number of bytes that are read of the body of an error, of which a message quotes a
/// few hundred characters.
pub(crate) const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// Reads the body of a successful response; returns `None` if it is over [`MOST_BYTES`].
///
/// # Errors
/// The connection broke, or the data does not match its declared encoding.
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

/// Reads the start of the body of an error. If the connection breaks, returns the part that was
/// received, because the error is still known from its status.
pub(crate) async fn read_error_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        let room = MAX_ERROR_BODY_BYTES - body.len();
        body.extend_from_slice(&piece[..room.min(piece.len())]);
        if body.len() == MAX_ERROR_BODY_BYTES {
            break;
        }
    }
    body
}
