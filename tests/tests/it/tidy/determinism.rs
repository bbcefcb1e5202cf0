//! The engine is pure, and only the worker half is let off the determinism bans.

use super::{sources, tokens, tokens_of};

/// What would make a decision depend on something other than its state.
const IMPURE: [&str; 18] = [
    "async",
    "await",
    "Cell",
    "RefCell",
    "OnceCell",
    "LazyCell",
    "Mutex",
    "RwLock",
    "OnceLock",
    "LazyLock",
    "static",
    "thread_local",
    "Instant",
    "SystemTime",
    "Uuid",
    "rand",
    "env",
    "fs",
];

/// The directories of the worker half.
const WORKER_HALF: [&str; 18] = [
    "activity",
    "agentic_session",
    "client",
    "conversations",
    "deltas",
    "events",
    "http",
    "in_process",
    "inline",
    "mcp",
    "metrics",
    "projection",
    "provider",
    "remote",
    "secret",
    "store",
    "trace",
    "worker",
];

#[test]
fn the_engine_is_pure_and_synchronous() {
    let mut found = Vec::new();
    for file in sources("sdk/core/src/engine") {
        let tokens = tokens("sdk/core/src/engine", &file);
        for (at, token) in tokens.iter().enumerate() {
            let is_lifetime = at > 0 && tokens[at - 1] == "'";
            if IMPURE.contains(&&**token) && !is_lifetime {
                found.push(format!("sdk/core/src/engine/{}: {token}", file.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn only_the_worker_half_is_let_off_the_determinism_bans() {
    let outside = sources("sdk/src").into_iter().filter(|file| !WORKER_HALF.iter().any(|room| file.starts_with(room)));
    let mut wrong: Vec<_> = outside.filter(|file| lets_off(&tokens("sdk/src", file))).collect();
    wrong.extend(sources("sdk/core/src").into_iter().filter(|file| lets_off(&tokens("sdk/core/src", file))));
    assert!(wrong.is_empty(), "`allow(clippy::disallowed_..)` outside of {WORKER_HALF:?}: {wrong:?}");
}

/// Whether an `allow(..)` names one of the bans.
fn lets_off(tokens: &[String]) -> bool {
    tokens.windows(2).enumerate().filter(|(_, pair)| pair[0] == "allow" && pair[1] == "(").any(|(at, _)| {
        let allowed = tokens[at..].iter().take_while(|token| *token != ")");
        allowed.into_iter().any(|lint| lint.starts_with("disallowed_"))
    })
}

#[test]
fn an_allow_of_a_ban_is_found() {
    let lets_off = |source: &str| lets_off(&tokens_of(source).unwrap());
    assert!(lets_off("#![allow(clippy::disallowed_methods, reason = \"an activity\")]"));
    assert!(lets_off("fn f() { #[allow(unused, clippy::disallowed_types)] let a = 1; }"));
    assert!(!lets_off("#[expect(clippy::disallowed_types, reason = \"ordered\")] #[allow(unused)] struct A;"));
}
