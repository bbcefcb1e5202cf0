use std::sync::{Arc, Mutex, PoisonError};

use proptest::prelude::*;

use super::{ModelDelta, ModelDeltas, held_back};
use crate::secret::worker_env::Given;

const SECRET: &str = "sk-very-secret-0123456789";

/// The text that readers of these parts receive.
fn received(parts: &[String]) -> String {
    let text: Arc<Mutex<String>> = Arc::default();
    let sink = Arc::clone(&text);
    let mut given = Given::default();
    given.remember(SECRET);
    let deltas = held_back(
        ModelDeltas::new(move |delta| {
            if let ModelDelta::Text { delta, .. } = delta {
                sink.lock().unwrap_or_else(PoisonError::into_inner).push_str(&delta);
            }
        }),
        given,
    );
    for part in parts {
        deltas.send(ModelDelta::Text { index: 0, delta: part.clone() });
    }
    std::mem::take(&mut *text.lock().unwrap_or_else(PoisonError::into_inner))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_secret_that_is_split_over_parts_is_removed(
        before in "[a-z ]{0,400}",
        cuts in prop::collection::vec(1_usize..9, 0..200),
        is_escaped in any::<bool>(),
    ) {
        let secret = if is_escaped { SECRET.replace('-', "\\u002d") } else { SECRET.to_owned() };
        let whole = format!("{before}{secret}{}", " and so on".repeat(200));
        let (mut rest, mut parts) = (&*whole, Vec::new());
        for cut in cuts.into_iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (part, after) = rest.split_at(cut.min(rest.len()));
            parts.push(part.to_owned());
            rest = after;
        }
        parts.push(rest.to_owned());
        let text = received(&parts);
        let expected = format!("{before}[redacted]{}", " and so on".repeat(200));
        prop_assert!(expected.starts_with(&text), "{text}");
        prop_assert!(text.len() > before.len(), "the beginning is passed on");
    }
}
