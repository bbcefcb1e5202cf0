//! The id of a run within its workflow: the prefix of its activity ids.

use std::{cell::OnceCell, rc::Rc};

use crate::workflow::context::DurableContext;

/// Returns the prefix of a run's activity ids, which is drawn at the first call.
pub(in crate::workflow) fn run_id<'r>(run: &'r OnceCell<String>, ctx: &Rc<dyn DurableContext>) -> &'r str {
    run.get_or_init(|| short_id(ctx.next_run_number()))
}

/// Encodes a number as eight characters of lower-case base 32 (40 bits), without letters that look
/// like digits.
pub(in crate::workflow) fn short_id(number: u64) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let digits = number.to_le_bytes();
    digits.map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).iter().collect()
}
