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
    let lane = |agent: &str| Lane { agent: agent.to_owned(), depth: 0 };
    let lanes = vec![lane("desk"), lane("</text><script>")];
    Timeline { title: "t".to_owned(), lanes, bars, handoffs: vec![(0, 1, at(10))], start: at(0), end: at(end) }
}

#[test]
fn names_are_never_markup() {
    let image = svg::draw(timeline(vec![bar(0, BarKind::Tool, (0, 1_000))], 1_000));
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
    let image = svg::draw(timeline(bars, 700));
    let bars = image.split("<rect class=\"tool failed\" ").skip(1);
    let tops: Vec<&str> = bars.filter_map(|bar| bar.split(" y=\"").nth(1)?.split('"').next()).collect();
    let count = |y: &str| tops.iter().filter(|top| **top == y).count();
    assert_eq!((count("64.0"), count("88.0"), count("126.0")), (2, 1, 1), "{image}");
}

#[test]
fn times_have_two_units_at_most() {
    let millis = [5, 1_500, 90_000, 3_700_000, 200_000_000];
    let texts = millis.map(|millis| scale::short(Duration::from_millis(millis)));
    assert_eq!(texts, ["5 ms", "1.5 s", "1 min 30 s", "1 h 1 min", "2 d 7 h"]);
}

/// Values of an attribute of the elements that begin with `mark`.
fn attributes(image: &str, mark: &str, name: &str) -> Vec<f64> {
    let elements = image.split(mark).skip(1);
    let values = elements.map(|rest| rest.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next()));
    values.map(|value| value.and_then(|value| value.parse().ok()).expect("a number")).collect()
}

#[test]
fn labels_of_sixty_turns_do_not_overlap() {
    let timeline = run_of(60);
    let (bars, lanes) = (timeline.bars.len(), timeline.lanes.len());
    let image = svg::draw(timeline);
    let of = |mark: &str| -> Vec<(f64, f64, f64)> {
        let (left, top) = (attributes(&image, mark, "x"), attributes(&image, mark, "y"));
        let width = attributes(&image, mark, "width");
        left.into_iter().zip(top).zip(width).map(|((left, top), width)| (left, top, width)).collect()
    };
    let mut drawn: Vec<(f64, f64, f64)> =
        BarKind::ALL.iter().flat_map(|kind| of(&format!("</title><rect class=\"{}", kind.names().0))).collect();
    assert_eq!(drawn.len(), bars);
    // A label is an image inside its bar, which cuts what is wider; so it is enough that bars do
    // not overlap.
    let labels = of("<svg x").into_iter().map(|(_, top, width)| (top, width)).collect::<Vec<_>>();
    assert!(labels.len() > 60 + lanes, "{}", labels.len());
    drawn.sort_by(|one, other| (one.1, one.0).partial_cmp(&(other.1, other.0)).expect("numbers"));
    for pair in drawn.windows(2).filter(|pair| (pair[0].1 - pair[1].1).abs() < 0.1) {
        assert!(pair[0].0 + pair[0].2 <= pair[1].0 + 0.2, "{pair:?}");
    }
    let marks = attributes(&image, "<text class=\"axis\"", "x");
    assert!(marks.windows(2).all(|pair| pair[1] - pair[0] >= 89.0), "{marks:?}");
    let (width, height) = (attributes(&image, "<svg xmlns", "width")[0], attributes(&image, "<svg xmlns", "height")[0]);
    assert!(width < 6_000.0 && height < 600.0, "{width} {height}");
}

#[test]
fn an_image_has_the_latest_calls_of_a_run_without_end() {
    let timeline = run_of(2_000);
    let count = timeline.bars.len();
    let image = svg::draw(timeline);
    assert!(image.contains(&format!("the first {} calls are left out", count - MOST_BARS)), "{}", &image[..2_000]);
    let (width, height) = (attributes(&image, "<svg xmlns", "width")[0], attributes(&image, "<svg xmlns", "height")[0]);
    assert!(width < 17_000.0 && height < 600.0 && image.len() < 1_000_000, "{width} {height} {}", image.len());
}

/// A run with this number of turns: three agents in turn, with calls side by side, a retried and a
/// failed call, an agent used as a tool, waits for people and one that goes on.
fn run_of(turns: u64) -> Timeline {
    let mut timeline = Timeline::new("AgentWorkflow refund-7".to_owned());
    let mut now = 0;
    let mut agent = "triage";
    for turn in 1..=turns {
        let lane = timeline.lane(agent, 0);
        let model = Span {
            start: at(now),
            started: Some(at(now + 40)),
            end: Some(at(now + 1_400 + turn * 37 % 900)),
            attempts: 1,
            failure: None,
        };
        now += 1_400 + turn * 37 % 900;
        timeline.bars.push(model.bar(lane, BarKind::Model, "gpt-5-mini", ""));
        for tool in 0..turn % 4 {
            let (end, failure) = (now + 200 + tool * 450, (turn % 7 == 0).then_some("Timeout"));
            let span = Span {
                start: at(now),
                started: Some(at(now + 60 * tool)),
                end: Some(at(end)),
                attempts: 1 + u32::from(failure.is_some()),
                failure,
            };
            let name = match tool % 3 {
                0 => "look_up_customer",
                1 => "refund_payment_of_order",
                _ => "価格を調べる",
            };
            timeline.bars.push(span.bar(lane, BarKind::Tool, name, ""));
        }
        now += 800;
        if turn % 20 == 0 {
            timeline.bars.push(wait_bar(lane, "refund_payment_of_order", at(now), Some(at(now + 86_400_000))));
            now += 86_400_000;
        }
        if turn % 6 == 0 {
            let nested = timeline.lane("translator of letters and of other documents", 1);
            let span = Span { start: at(now), started: None, end: Some(at(now + 900)), attempts: 1, failure: None };
            timeline.bars.push(span.bar(nested, BarKind::Model, "gpt-5-nano", ""));
            now += 950;
        }
        if turn % 9 == 0 {
            let next = ["billing", "law", "triage"][(turn / 9) as usize % 3];
            let to = timeline.lane(next, 0);
            timeline.handoffs.push((lane, to, at(now)));
            agent = next;
        }
    }
    let lane = timeline.lane(agent, 0);
    timeline.bars.push(wait_bar(lane, "refund_payment_of_order", at(now), None));
    timeline.end = at(now + 5_000);
    timeline
}
