use proptest::prelude::*;
use rstest::rstest;

use super::*;

const LIMIT: usize = 64;

fn read_in(chunks: &[&[u8]]) -> Vec<Event> {
    let mut events = Events::new(1024);
    let mut read = Vec::new();
    for chunk in chunks {
        read.extend(events.read(chunk).expect("small events"));
    }
    read.extend(events.end());
    read
}

fn event(name: &str, data: &str) -> Event {
    Event { name: name.to_owned(), data: data.to_owned() }
}

#[rstest]
#[case::space("data: a\n\n", &[("", "a")])]
#[case::no_space("data:a\n\n", &[("", "a")])]
#[case::only_one_space_goes("data:  a\n\n", &[("", " a")])]
#[case::named("event: ping\ndata: {}\n\n", &[("ping", "{}")])]
#[case::several_lines("data: a\ndata:\ndata: b\n\n", &[("", "a\n\nb")])]
#[case::carriage_returns("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &[("", "a"), ("", "b"), ("", "c")])]
#[case::comments_and_other_fields(": hi\nid: 1\nretry: 5\nother: x\nalone\ndata: a\n\n: bye\n\n", &[("", "a")])]
#[case::name_without_data("event: ping\n\ndata: a\n\n", &[("", "a")])]
#[case::byte_order_mark("\u{feff}data: a\n\n", &[("", "a")])]
#[case::empty_data("data\n\n", &[("", "")])]
#[case::end_without_an_empty_line("data: a\n\ndata: [DONE]\n", &[("", "a"), ("", "[DONE]")])]
#[case::end_within_a_line("data: a\n\ndata: [DONE]", &[("", "a"), ("", "[DONE]")])]
#[case::nothing("", &[])]
fn a_body_becomes_its_events(#[case] body: &str, #[case] expected: &[(&str, &str)]) {
    let expected: Vec<Event> = expected.iter().map(|(name, data)| event(name, data)).collect();
    assert_eq!(read_in(&[body.as_bytes()]), expected);
    let bytes: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
    assert_eq!(read_in(&bytes), expected, "byte by byte");
}

#[test]
fn invalid_utf8_is_replaced() {
    assert_eq!(read_in(&[b"data: a\xffb\n\n"]), [event("", "a\u{fffd}b")]);
}

#[rstest]
#[case::line(&["data: ", "0123456789012345678901234567890123456789012345678901234567890123456789"])]
#[case::comment(&[":", "0123456789012345678901234567890123456789012345678901234567890123456789"])]
#[case::lines(&["data: 012345678901234567890123456789\n", "data: 012345678901234567890123456789012345\n"])]
#[case::name(&["event: 012345678901234567890123456789\n", "data: 012345678901234567890123456789012345\n"])]
fn an_event_has_a_limit(#[case] chunks: &[&str]) {
    let mut events = Events::new(LIMIT);
    let read: Result<Vec<_>, _> = chunks.iter().map(|chunk| events.read(chunk.as_bytes())).collect();
    assert_eq!(read, Err(EventTooLarge));
}

#[test]
fn the_limit_is_that_of_one_event_and_not_of_all() {
    let mut events = Events::new(LIMIT);
    let read: Vec<Event> =
        (0..100).flat_map(|_| events.read(b"data: 0123456789\n\n").expect("a small event")).collect();
    assert_eq!(read.len(), 100);
}

proptest! {
    #[test]
    fn the_places_of_the_cuts_do_not_matter(
        text in "((data|event|:|x)?:? ?[a-zäß👍:]{0,4}(\r\n|\n|\r|\n\n|\r\n\r\n)?){3}",
        more in "(data: [a-zäß👍]{0,3}(\r\n|\n|\r){1,2}){0,4}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let body = format!("{text}{more}");
        let bytes = body.as_bytes();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.push(0);
        places.push(bytes.len());
        places.sort_unstable();
        let chunks: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(read_in(&chunks), read_in(&[bytes]));
    }
}
