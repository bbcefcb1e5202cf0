//! Tests of the encoding of texts.

use proptest::prelude::*;

use super::{indexed, restored, storable};

#[test]
fn a_plain_text_is_stored_as_it_is() {
    assert_eq!(storable("user-1/ünïcödé 🙂"), "user-1/ünïcödé 🙂");
}

#[test]
fn nul_and_backslash_are_escaped() {
    assert_eq!(storable("a\0b\\0"), "a\\0b\\\\0");
    assert_eq!(restored("a\\0b\\\\0"), "a\0b\\0");
}

#[test]
fn a_long_text_is_indexed_by_its_digest() {
    let long = "x".repeat(5000);
    assert_eq!(indexed(&long).len(), 66);
    assert_ne!(indexed(&long), indexed(&long[1..]));
    assert_ne!(indexed(&indexed(&long)), indexed(&long), "a text that looks like a digest is another key");
}

proptest! {
    #[test]
    fn every_text_comes_back_and_has_no_nul(text in any::<String>()) {
        let stored = storable(&text);
        prop_assert!(!stored.contains('\0'));
        prop_assert_eq!(restored(&stored), text);
    }

    #[test]
    fn escapes_come_back(text in "[\\\\0\0a]{0,12}") {
        prop_assert_eq!(restored(&storable(&text)), text);
    }
}
