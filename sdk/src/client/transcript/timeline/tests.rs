use std::time::Duration;

use super::*;

fn at(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

fn bar(lane: usize, kind: BarKind, (start, end): (u64, u64)) -> Bar {
    let (label, details) = ("<b>&\u{1}".to_owned(), "a \"call\"".to_owned());
    let (start, end) = (at(start), Some(at(end)));
    Bar { lane, kind, label, details, start, started: None, end, attempts: 2, has_failed: true }
}

fn timeline(bars: Vec<Bar>, end: u64) -> Timeline {
    let lane = |agent: &str| Lane { run: String::new(), agent: agent.to_owned(), depth: 0 };
    let lanes = vec![lane("desk"), lane("</text><script>")];
    Timeline { title: "t".to_owned(), lanes, bars, handoffs: vec![(0, 1, at(10))], start: at(0), end: at(end) }
}

#[test]
fn names_are_never_markup() {
    let image = svg::draw(&timeline(vec![bar(0, BarKind::Tool, (0, 1_000))], 1_000));
    assert!(image.contains("&lt;/text&gt;&lt;script&gt;") && !image.contains("<script"), "{image}");
    assert!(image.contains("\u{d7}2 &lt;b&gt;&amp; "), "{image}");
    assert!(!image.contains('\u{1}'), "XML has no control characters");
}

#[test]
fn a_wait_of_weeks_is_short_and_work_is_in_proportion() {
    let week = 7 * 24 * 3_600_000;
    let bars = vec![
        bar(0, BarKind::Model, (0, 100)),
        bar(0, BarKind::Wait, (100, week)),
        bar(0, BarKind::Tool, (week, week + 300)),
    ];
    let scale = scale::Scale::of(&timeline(bars, week + 300));
    let (asked, decided) = (scale.x(at(100)), scale.x(at(week)));
    assert!(decided - asked < 49.0, "{asked} {decided}");
    let (model, tool) = (asked - scale.x(at(0)), scale.x(at(week + 300)) - decided);
    assert!((tool / model - 3.0).abs() < 0.01, "{model} {tool}");
    assert_eq!(scale.shortened().count(), 1);
}

#[test]
fn bars_at_the_same_time_have_rows_of_their_own() {
    let bars = vec![
        bar(0, BarKind::Tool, (0, 500)),
        bar(0, BarKind::Tool, (0, 500)),
        bar(0, BarKind::Tool, (600, 700)),
        bar(1, BarKind::Tool, (0, 500)),
    ];
    let image = svg::draw(&timeline(bars, 700));
    let count = |y: &str| image.matches(&format!("y=\"{y}\" width")).count();
    assert_eq!((count("64.0"), count("88.0"), count("126.0")), (2, 1, 1), "{image}");
}

#[test]
fn times_have_two_units_at_most() {
    let millis = [5, 1_500, 90_000, 3_700_000, 200_000_000];
    let texts = millis.map(|millis| scale::short(Duration::from_millis(millis)));
    assert_eq!(texts, ["5 ms", "1.5 s", "1 min 30 s", "1 h 1 min", "2 d 7 h"]);
}
