//! The likeliest mistakes, and what the compiler says about each.

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/tool_*.rs");
}
