//! `data:` URLs: images and files as a part of a conversation.

/// Splits a `data:` URL into media type and Base64. `None` for other URLs.
pub(crate) fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}
