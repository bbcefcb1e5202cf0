//! The timeline as an image.

use std::{fmt::Write, time::SystemTime};

use temporal_agents_core::agent::picture::escaped;

use super::{
    Bar, BarKind, MOST_BARS, Timeline,
    scale::{Scale, short},
};

/// Width in pixels of the names of the lanes.
const NAMES: f64 = 190.0;
/// Height in pixels of a row of bars, and of what is above the lanes.
const ROW: f64 = 24.0;
const HEAD: f64 = 64.0;
/// Height in pixels between lanes, and of the legend.
const GAP: f64 = 14.0;
const LEGEND: f64 = 40.0;
/// Width in pixels of a character of a label, and of one of a script with wide characters.
const CHARACTER: f64 = 6.8;
const WIDE_CHARACTER: f64 = 12.0;
/// Width in pixels between two marks of the axis, at least: that of their labels.
const BETWEEN_MARKS: f64 = 90.0;
/// Width in pixels after which an image repeats the names of its lanes.
const REPEAT: f64 = 1_200.0;
/// Height in pixels of the repeated names.
const REPEATED: f64 = 16.0;
/// Least width in pixels of a bar.
const LEAST_BAR: f64 = 3.0;

/// Style of the image, which needs no other file. In a dark page it has its own light ground.
const STYLE: &str = "text{font-family:ui-sans-serif,system-ui,sans-serif;font-size:12px;fill:#1f2328}\
    .title{font-size:15px;font-weight:600}.agent{font-weight:600}.axis,.note{fill:#59636e;font-size:11px}\
    .ground{fill:#f6f8fa}.lane{fill:#fff;stroke:#d1d9e0}.grid{stroke:#d1d9e0}.cut{fill:#eaeef2}\
    .model{fill:#54aeff}.tool{fill:#4ac26b}.guard{fill:#c297ff}.session{fill:#8c959f}.wait{fill:#eac54f}\
    .queue{fill:#fff;opacity:.65}.failed{stroke:#cf222e;stroke-width:2}.open{stroke-dasharray:4 3;stroke:#57606a}\
    .handoff{stroke:#57606a;stroke-width:1.5;fill:none}";

/// Returns the image.
pub(super) fn draw(mut timeline: Timeline) -> String {
    let count = timeline.shorten(MOST_BARS);
    let left_out = count - timeline.bars.len();
    let timeline = &timeline;
    let scale = Scale::of(timeline);
    let rows = rows(timeline, &scale);
    let mut tops = Vec::with_capacity(timeline.lanes.len());
    // Who reads the end of a wide image does not see the names at its beginning.
    let repeats = NAMES + scale.width > 1.5 * REPEAT;
    let mut top = HEAD;
    for lane in 0..timeline.lanes.len() {
        top += if repeats { REPEATED } else { 0.0 };
        tops.push(top);
        let in_lane = timeline.bars.iter().zip(&rows).filter(|(bar, _)| bar.lane == lane);
        let count = in_lane.map(|(_, row)| row + 1).max().unwrap_or(1);
        top += f64::from(count) * ROW + GAP;
    }
    let (width, height) = (NAMES + scale.width + 24.0, top + LEGEND);
    let note = if left_out > 0 { format!("; the first {left_out} calls are left out") } else { String::new() };
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0 10 5 0 10z\" fill=\"#57606a\"/></marker></defs>\n\
         <rect class=\"ground\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n\
         <text class=\"title\" x=\"12\" y=\"24\">{shown}{note}</text>\n",
        title = escaped(&timeline.title),
        shown = escaped(&fitting(&timeline.title, (width - 280.0) * 0.8)),
    );
    let above = if repeats { REPEATED } else { 0.0 };
    let bottoms = tops.iter().skip(1).map(|top| top - above).chain([top]);
    for (lane, (place, bottom)) in timeline.lanes.iter().zip(tops.iter().zip(bottoms)) {
        let x = 8.0 * f64::from(u32::try_from(lane.depth).unwrap_or(0));
        let (y, high) = (place - above - 4.0, bottom - place + above - 6.0);
        let most = (NAMES - 24.0 - x).max(40.0);
        let _ = writeln!(
            image,
            "<rect class=\"lane\" x=\"4\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{high:.1}\" rx=\"4\"/>\n\
             <svg x=\"{:.1}\" y=\"{y:.1}\" width=\"{most:.1}\" height=\"24\">\
             <text class=\"agent\" y=\"17\"><title>{}</title>{}</text></svg>",
            width - 8.0,
            12.0 + x,
            escaped(&lane.agent),
            escaped(&fitting(&lane.agent, most * 0.92)),
        );
        let mut repeated = NAMES + REPEAT;
        while repeats && repeated < width - REPEAT / 2.0 {
            let name = escaped(&fitting(&lane.agent, NAMES));
            let _ = writeln!(image, "<text class=\"note\" x=\"{repeated:.1}\" y=\"{:.1}\">{name}</text>", place - 6.0);
            repeated += REPEAT;
        }
    }
    axis(&mut image, timeline, &scale, top);
    for (bar, row) in timeline.bars.iter().zip(&rows) {
        draw_bar(&mut image, bar, &scale, tops[bar.lane] + f64::from(*row) * ROW);
    }
    for (from, to, at) in &timeline.handoffs {
        let (x, from_y, to_y) = (NAMES + scale.x(*at), tops[*from] + 9.0, tops[*to] + 9.0);
        let _ = writeln!(
            image,
            "<path class=\"handoff\" d=\"M{:.1} {from_y:.1} C{x:.1} {from_y:.1} {:.1} {to_y:.1} {x:.1} {to_y:.1}\" \
             marker-end=\"url(#head)\"><title>handoff to {}</title></path>",
            x - 10.0,
            x - 20.0,
            escaped(&timeline.lanes[*to].agent)
        );
    }
    legend(&mut image, top + 18.0);
    image.push_str("</svg>\n");
    image
}

/// Returns the row of each bar in its lane, so that bars of one row do not overlap.
fn rows(timeline: &Timeline, scale: &Scale) -> Vec<u32> {
    let mut order: Vec<usize> = (0..timeline.bars.len()).collect();
    order.sort_by_key(|at| (timeline.bars[*at].start, *at));
    let mut rows = vec![0; timeline.bars.len()];
    // The right end of the latest bar, by lane and row.
    let mut ends: Vec<Vec<f64>> = vec![Vec::new(); timeline.lanes.len()];
    for at in order {
        let bar = &timeline.bars[at];
        let (left, width) = extent(bar, scale);
        let ends = &mut ends[bar.lane];
        let row = ends.iter().position(|end| *end <= left + 0.5).unwrap_or_else(|| {
            ends.push(0.0);
            ends.len() - 1
        });
        ends[row] = left + width;
        rows[at] = u32::try_from(row).unwrap_or(u32::MAX);
    }
    rows
}

/// Returns left end and width of a bar.
fn extent(bar: &Bar, scale: &Scale) -> (f64, f64) {
    let left = scale.x(bar.start);
    let right = bar.end.map_or(scale.width, |end| scale.x(end));
    (left, (right - left).max(LEAST_BAR))
}

fn draw_bar(image: &mut String, bar: &Bar, scale: &Scale, y: f64) {
    let (left, width) = extent(bar, scale);
    let x = NAMES + left;
    let failed = if bar.has_failed { " failed" } else { "" };
    let open = if bar.end.is_none() { " open" } else { "" };
    let (class, _) = bar.kind.names();
    let _ = write!(
        image,
        "<g><title>{}</title><rect class=\"{class}{failed}{open}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
         height=\"18\" rx=\"2\"/>",
        escaped(&bar.details)
    );
    // What is before the last attempt is paler.
    if let Some(started) = bar.started {
        let queue = scale.x(started) - left;
        if queue >= 1.0 {
            let _ = write!(
                image,
                "<rect class=\"queue\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"18\"/>",
                queue.min(width)
            );
        }
    }
    let times = if bar.attempts > 1 { format!("\u{d7}{} ", bar.attempts) } else { String::new() };
    let label = fitting(&format!("{times}{}", bar.label), width - 6.0);
    if !label.is_empty() {
        // An image inside the image cuts what a wider font would draw beside the bar.
        let _ = write!(
            image,
            "<svg x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"18\"><text x=\"3\" y=\"13\">{}</text></svg>",
            escaped(&label)
        );
    }
    image.push_str("</g>\n");
}

fn axis(image: &mut String, timeline: &Timeline, scale: &Scale, bottom: f64) {
    for (x, left_out) in scale.shortened() {
        let x = NAMES + x;
        let _ = writeln!(
            image,
            "<g><title>{} in which nothing works</title><rect class=\"cut\" x=\"{:.1}\" y=\"{:.1}\" width=\"12\" \
             height=\"{:.1}\"/></g>",
            short(left_out),
            x - 6.0,
            HEAD - 6.0,
            bottom - HEAD
        );
    }
    // After a day the units are too long for the work of an hour: what follows counts from there.
    let mut latest: Option<(String, SystemTime)> = None;
    for (x, time) in scale.marks(BETWEEN_MARKS) {
        let x = NAMES + x;
        let since = short(time.duration_since(timeline.start).unwrap_or_default());
        let text = match &latest {
            Some((shown, from)) if *shown == since => {
                format!("+{}", short(time.duration_since(*from).unwrap_or_default()))
            }
            _ => {
                latest = Some((since.clone(), time));
                since
            }
        };
        let _ = writeln!(
            image,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\"/>\
             <text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            HEAD - 10.0,
            x + 2.0,
            HEAD - 14.0,
            text
        );
    }
}

fn legend(image: &mut String, y: f64) {
    let mut x = 12.0;
    let mut entry = |shape: &str, name: &str| {
        let _ = writeln!(
            image,
            "<g transform=\"translate({x:.0} {y:.0})\">{shape}<text class=\"note\" x=\"20\" y=\"11\">{name}</text></g>"
        );
        x += 34.0 + 6.4 * f64::from(u32::try_from(name.len()).unwrap_or(0));
    };
    for kind in BarKind::ALL {
        let (class, name) = kind.names();
        entry(&format!("<rect class=\"{class}\" width=\"14\" height=\"12\" rx=\"2\"/>"), name);
    }
    entry("<rect class=\"tool failed\" width=\"14\" height=\"12\" rx=\"2\"/>", "failed");
    let pale = "<rect class=\"tool\" width=\"14\" height=\"12\"/><rect class=\"queue\" width=\"14\" height=\"12\"/>";
    entry(pale, "before the last attempt");
    entry("<rect class=\"cut\" width=\"12\" height=\"12\"/>", "time left out");
    entry("<path class=\"handoff\" d=\"M0 6 14 6\" marker-end=\"url(#head)\"/>", "handoff");
}

/// Returns the beginning of a text that fits into a width, with an ellipsis; empty if less than
/// three characters do.
fn fitting(text: &str, width: f64) -> String {
    let wide = |c: char| if u32::from(c) < 0x1100 { CHARACTER } else { WIDE_CHARACTER };
    if text.chars().map(wide).sum::<f64>() <= width {
        return text.to_owned();
    }
    let mut used = CHARACTER;
    let kept: String = text
        .chars()
        .take_while(|c| {
            used += wide(*c);
            used <= width
        })
        .collect();
    if kept.chars().count() < 3 { String::new() } else { format!("{}\u{2026}", kept.trim_end()) }
}
