use super::chunks;

#[test]
fn chunks_are_cut_between_characters_and_measured_as_json() {
    assert_eq!(chunks("", 4), [""]);
    assert_eq!(chunks("abcd", 4), ["abcd"]);
    assert_eq!(chunks("abcde", 4), ["abcd", "e"]);
    assert_eq!(chunks("a\"b\\c", 4), ["a\"b", "\\c"]);
    assert_eq!(chunks("aéé", 4), ["aé", "é"]);
}
