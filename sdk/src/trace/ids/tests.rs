use rstest::rstest;

use super::*;

const EXECUTION: Execution<'_> = Execution { workflow_id: "w", run_id: "r2", first_run_id: "r1" };

#[test]
fn ids_are_the_same_for_ever() {
    let ids = [
        EXECUTION.workflow(),
        EXECUTION.agent("k3x9q2ab", 0),
        EXECUTION.call("k3x9q2ab-1-model"),
        EXECUTION.attempt("k3x9q2ab-1-model", 1),
        EXECUTION.wait("k3x9q2ab", "c1"),
    ];
    let ids = ids.map(|id| format!("{:016x}", u64::from_be_bytes(id.0)));
    let trace = format!("{:032x}", u128::from_be_bytes(EXECUTION.trace().0));
    let golden = ["49de216828f065d9", "03344c7ca549ee8e", "a5cbae4d809f5d46", "0267da8af7f53dbe", "631687024982562a"];
    assert_eq!((&*trace, ids), ("c3b278dc097a195cbb86a463729cabe4", golden.map(str::to_owned)));
}

#[test]
fn only_trace_and_root_are_those_of_the_first_run() {
    let next = Execution { run_id: "r3", ..EXECUTION };
    assert_eq!((EXECUTION.trace(), EXECUTION.workflow()), (next.trace(), next.workflow()));
    assert_ne!(EXECUTION.call("a"), next.call("a"));
    assert_ne!(EXECUTION.call("a"), EXECUTION.attempt("a", 1));
    assert_ne!(EXECUTION.attempt("a", 1), EXECUTION.attempt("a", 2));
}

#[rstest]
#[case::sampled("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Some(true))]
#[case::unsampled("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", Some(false))]
#[case::later_version("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more", Some(true))]
#[case::more_parts("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x", None)]
#[case::no_version("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", None)]
#[case::zero_trace("00-00000000000000000000000000000000-b7ad6b7169203331-01", None)]
#[case::zero_span("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", None)]
#[case::upper_case("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", None)]
#[case::short("00-0af7-b7ad6b7169203331-01", None)]
#[case::multibyte("00-0af7651916cd43dd8448eb211c80319é-b7ad6b7169203331-01", None)]
#[case::nothing("", None)]
fn a_traceparent_is_read_or_ignored(#[case] text: &str, #[case] sampled: Option<bool>) {
    let caller = Caller::of_traceparent(text);
    assert_eq!(caller.map(|caller| caller.is_sampled), sampled);
    if let (Some(caller), true) = (caller, text.starts_with("00")) {
        assert_eq!(caller.to_traceparent(), text);
    }
}
