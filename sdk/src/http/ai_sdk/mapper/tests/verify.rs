//! The rules of clients, applied to a whole stream.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::Version;

const KNOWN: [&str; 20] = [
    "start",
    "finish",
    "abort",
    "error",
    "start-step",
    "finish-step",
    "text-start",
    "text-delta",
    "text-end",
    "reasoning-start",
    "reasoning-delta",
    "reasoning-end",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-available",
    "tool-approval-request",
    "tool-output-available",
    "tool-output-denied",
    "tool-output-error",
    "reset-step",
];

/// Members that may hold any JSON value.
const ANY_VALUE: [&str; 3] = ["input", "output", "data"];

/// Checks that a client of this version accepts the stream.
pub(super) fn verify(chunks: &[Value], version: Version) {
    let (mut open, mut calls) = (BTreeSet::new(), BTreeSet::new());
    let mut is_in_step = false;
    for (index, chunk) in chunks.iter().enumerate() {
        let kind = chunk["type"].as_str().unwrap();
        let is_known = KNOWN.contains(&kind) || kind.strip_prefix("data-").is_some_and(|name| !name.is_empty());
        assert!(is_known, "unknown type: {chunk}");
        assert!(kind != "reset-step" || version == Version::V7, "not in version 6: {chunk}");
        let nulls = chunk.as_object().unwrap().iter().filter(|(_, value)| value.is_null());
        assert!(nulls.clone().all(|(name, _)| ANY_VALUE.contains(&&**name)), "null: {chunk}");
        assert_eq!(kind == "start", index == 0, "start is the first chunk: {chunk}");
        let is_end = ["finish", "abort", "error"].contains(&kind);
        assert_eq!(is_end, index + 1 == chunks.len(), "an end is the last chunk: {chunk}");
        let text_kind = kind.split('-').next().unwrap();
        let id = || (text_kind, chunk["id"].as_str().unwrap());
        match kind {
            "text-start" | "reasoning-start" => {
                assert!(is_in_step, "outside of a step: {chunk}");
                assert!(open.insert(id()), "open already: {chunk}");
            }
            "text-delta" | "reasoning-delta" => assert!(open.contains(&id()), "not open: {chunk}"),
            "text-end" | "reasoning-end" => assert!(open.remove(&id()), "not open: {chunk}"),
            "tool-input-start" => {
                assert!(is_in_step, "outside of a step: {chunk}");
                calls.insert(chunk["toolCallId"].as_str().unwrap());
            }
            "tool-input-delta" => assert!(calls.contains(chunk["toolCallId"].as_str().unwrap()), "no call: {chunk}"),
            "start-step" => {
                assert!(!is_in_step, "in a step: {chunk}");
                is_in_step = true;
            }
            "finish-step" => {
                assert!(is_in_step && open.is_empty(), "no step, or open parts {open:?}: {chunk}");
                is_in_step = false;
            }
            "reset-step" => {
                assert!(is_in_step, "no step: {chunk}");
                open.clear();
            }
            "finish" => assert!(!is_in_step && open.is_empty(), "in a step, or open parts {open:?}: {chunk}"),
            "abort" | "error" => assert!(open.is_empty(), "open parts {open:?}: {chunk}"),
            _ => {}
        }
    }
}
