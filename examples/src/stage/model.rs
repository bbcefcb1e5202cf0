//! The choice of the model: the real provider if there is a key, otherwise a script.

use std::time::Duration;

/// Pause between two parts of a scripted answer, so that its text is seen to grow.
pub const CHUNK_PAUSE: Duration = Duration::from_millis(20);

/// Returns `true` if the environment has a key.
pub fn has_key() -> bool {
    std::env::var("OPENAI_API_KEY").is_ok_and(|key| !key.trim().is_empty())
}

/// Prints which model is used.
pub fn announce() {
    if has_key() {
        println!("OPENAI_API_KEY is set: the provider's model plays.");
    } else {
        println!(
            "OPENAI_API_KEY is not set: a scripted model plays. It does not read the prompt. Set the key (and OPENAI_BASE_URL) for a real one."
        );
    }
}
