use super::*;

#[test]
fn strings_of_a_query_cannot_end_it() {
    assert_eq!(quoted(r"a'b\c"), r"'a\'b\\c'");
}
