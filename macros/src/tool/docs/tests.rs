use syn::{Attribute, ItemFn, parse_quote};

use super::Docs;
use crate::{doc_comment::text, mistakes::Mistakes};

fn read(attributes: &[Attribute]) -> (String, Vec<(String, String)>) {
    let mut mistakes = Mistakes::default();
    let docs = Docs::read(attributes, &mut mistakes);
    assert!(mistakes.is_empty(), "{}", mistakes.into_compile_errors());
    (docs.description, docs.bullets.into_iter().map(|bullet| (bullet.name, bullet.text)).collect())
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn the_description_ends_at_the_first_heading() {
    let function: ItemFn = parse_quote! {
        /// Current weather
        /// for one city.
        ///
        /// Second paragraph.
        ///
        /// ## When to use
        /// Often.
        ///
        /// ```text
        /// # Not a heading
        /// ```
        ///
        /// # Errors
        /// None.
        fn f() {}
    };
    let description = "Current weather\nfor one city.\n\nSecond paragraph.\n\n## When to use\nOften.\n\n\
                       ```text\n# Not a heading\n```";
    assert_eq!(read(&function.attrs), (description.to_owned(), Vec::new()));
}

#[test]
fn bullets_describe_arguments() {
    let function: ItemFn = parse_quote! {
        /// Looks it up.
        ///
        /// # Arguments
        /// Some prose.
        ///
        /// * `city` - city name,
        ///   e.g. "Oslo"
        /// - `days`: one of
        ///   - 1
        ///   - 7
        /// * units – metric or imperial
        /// * `r#type` any
        ///
        /// Prose again.
        ///
        /// # Panics
        /// * never
        fn f() {}
    };
    let bullets = pairs(&[
        ("city", "city name, e.g. \"Oslo\""),
        ("days", "one of\n- 1\n- 7"),
        ("units", "metric or imperial"),
        ("type", "any"),
    ]);
    assert_eq!(read(&function.attrs), ("Looks it up.".to_owned(), bullets));
}

#[test]
fn block_comments_read_the_same() {
    let function: ItemFn = parse_quote! {
        /** Looks it up.
         *
         * # Args
         * * `city` - city name
         */
        fn f() {}
    };
    assert_eq!(read(&function.attrs), ("Looks it up.".to_owned(), pairs(&[("city", "city name")])));
}

#[test]
fn a_bullet_without_a_name_is_a_mistake() {
    let function: ItemFn = parse_quote! {
        /// # Arguments
        /// * the city
        fn f() {}
    };
    let mut mistakes = Mistakes::default();
    Docs::read(&function.attrs, &mut mistakes);
    assert!(mistakes.into_compile_errors().to_string().contains("does not name an argument"));
}

#[test]
fn no_comment_is_no_text() {
    assert_eq!(text(&[]), None);
    assert_eq!(
        text(&[parse_quote!(#[doc = " city\n name "]), parse_quote!(#[doc(hidden)])]),
        Some("city\nname".to_owned())
    );
}
