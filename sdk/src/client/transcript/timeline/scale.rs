//! The place of a time on the image.

use std::time::{Duration, SystemTime};

use super::{Bar, BarKind, Timeline};

/// Width in pixels of all times in which something works, at least.
const LEAST_WIDTH: f64 = 960.0;

/// Average width in pixels of a bar, at least.
const BAR_WIDTH: f64 = 26.0;

/// Longest width in pixels of the whole image, as browsers draw it.
const MOST_WIDTH: f64 = 16_000.0;

/// Longest width in pixels of a time in which nothing works.
const LONGEST_WAIT: f64 = 48.0;

/// A part of the time between two places.
struct Stretch {
    start: SystemTime,
    end: SystemTime,
    left: f64,
    width: f64,
    /// `true` if the part is drawn shorter than it was.
    is_short: bool,
}

/// The mapping from times to pixels.
pub(super) struct Scale {
    stretches: Vec<Stretch>,
    pub(super) width: f64,
}

impl Scale {
    pub(super) fn of(timeline: &Timeline) -> Self {
        let mut times = vec![timeline.start, timeline.end];
        times.extend(timeline.bars.iter().flat_map(|bar| [Some(bar.start), bar.started, bar.end]).flatten());
        times.extend(timeline.handoffs.iter().map(|(_, _, at)| *at));
        times.sort();
        times.dedup();
        let works = |start: SystemTime, end: SystemTime| {
            let is_in = |bar: &Bar| bar.start <= start && bar.end.unwrap_or(timeline.end) >= end;
            timeline.bars.iter().any(|bar| bar.kind != BarKind::Wait && is_in(bar))
        };
        let parts: Vec<(SystemTime, SystemTime, f64, bool)> = times
            .windows(2)
            .map(|pair| {
                let seconds = pair[1].duration_since(pair[0]).unwrap_or_default().as_secs_f64();
                (pair[0], pair[1], seconds, works(pair[0], pair[1]))
            })
            .collect();
        let working: f64 = parts.iter().filter(|(.., works)| *works).map(|(_, _, seconds, _)| seconds).sum();
        let count = u32::try_from(timeline.bars.len()).unwrap_or(u32::MAX);
        let wanted = LEAST_WIDTH.max(f64::from(count) * BAR_WIDTH).min(MOST_WIDTH);
        let per_second = if working > 0.0 { wanted / working } else { 1.0 };
        let mut left = 0.0;
        let stretches = parts.into_iter().map(|(start, end, seconds, works)| {
            let full = seconds * per_second;
            let width = if works { full } else { full.min(LONGEST_WAIT) };
            let stretch = Stretch { start, end, left, width, is_short: width < full };
            left += width;
            stretch
        });
        let mut stretches: Vec<Stretch> = stretches.collect();
        // Many waits that are short each are long together.
        let factor = if left > MOST_WIDTH { MOST_WIDTH / left } else { 1.0 };
        for stretch in &mut stretches {
            stretch.left *= factor;
            stretch.width *= factor;
        }
        Self { stretches, width: (left * factor).max(LEAST_WIDTH / 2.0) }
    }

    /// Returns the place of a time, in pixels from the left.
    pub(super) fn x(&self, time: SystemTime) -> f64 {
        let at = self.stretches.partition_point(|stretch| stretch.end < time);
        let Some(stretch) = self.stretches.get(at) else { return self.width };
        let whole = stretch.end.duration_since(stretch.start).unwrap_or_default().as_secs_f64();
        let part = time.duration_since(stretch.start).unwrap_or_default().as_secs_f64();
        stretch.left + if whole > 0.0 { stretch.width * (part / whole).min(1.0) } else { 0.0 }
    }

    /// Returns the middle of each part that is drawn shorter than it was, with its length.
    pub(super) fn shortened(&self) -> impl Iterator<Item = (f64, Duration)> {
        let short = self.stretches.iter().filter(|stretch| stretch.is_short);
        short.map(|stretch| {
            (stretch.left + stretch.width / 2.0, stretch.end.duration_since(stretch.start).unwrap_or_default())
        })
    }

    /// Returns the ends of parts that are at least this far apart, for the marks of the axis.
    pub(super) fn marks(&self, apart: f64) -> Vec<(f64, SystemTime)> {
        let mut marks: Vec<(f64, SystemTime)> = Vec::new();
        for stretch in &self.stretches {
            if marks.last().is_none_or(|(x, _)| stretch.left - x >= apart) {
                marks.push((stretch.left, stretch.start));
            }
        }
        marks
    }
}

/// Returns a time in two units at most.
pub(super) fn short(time: Duration) -> String {
    let (seconds, millis) = (time.as_secs(), time.subsec_millis());
    match seconds {
        0 => format!("{millis} ms"),
        1..60 => format!("{seconds}.{} s", millis / 100),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}
