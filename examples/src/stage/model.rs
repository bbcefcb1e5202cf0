//! Who plays the model: the real provider where there is a key, else a script.

/// Whether the environment has a key.
pub fn has_key() -> bool {
    std::env::var("OPENAI_API_KEY").is_ok_and(|key| !key.trim().is_empty())
}

/// Prints who plays.
pub fn announce() {
    if has_key() {
        println!("OPENAI_API_KEY is set: the provider's model plays.");
    } else {
        println!(
            "OPENAI_API_KEY is not set: a scripted model plays. It does not read the prompt. Set the key (and OPENAI_BASE_URL) for a real one."
        );
    }
}
