//! The form of random UUIDs.

use std::cell::Cell;

use super::*;
use crate::tool::CallInfo;

/// Returns these numbers, and has no other effects.
struct Draws(Cell<[u64; 2]>);

impl WorkflowEffects for Draws {
    fn sleep(&self, _: Duration) -> LocalBoxFuture<'static, Result<(), WorkflowToolError>> {
        unreachable!("nobody sleeps")
    }

    fn activity(&self, _: RemoteActivity, _: Value) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>> {
        unreachable!("nobody calls")
    }

    fn child_workflow(&self, _: ChildWorkflow, _: Value) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>> {
        unreachable!("nobody starts")
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn random(&self) -> u64 {
        let [first, second] = self.0.get();
        self.0.set([second, first]);
        first
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}

#[test]
fn a_uuid_has_its_version_and_variant_whatever_is_drawn() {
    let uuid = |draws| {
        let call = ToolContext::new(CallInfo::new("t", "c", "a", 1), RunContext::default());
        WorkflowToolContext::new(call, Rc::new(Draws(Cell::new(draws)))).uuid()
    };
    assert_eq!(uuid([0, 0]), "00000000-0000-4000-8000-000000000000");
    assert_eq!(uuid([u64::MAX, u64::MAX]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    assert_eq!(uuid([0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef]), "01234567-89ab-4def-8123-456789abcdef");
}
