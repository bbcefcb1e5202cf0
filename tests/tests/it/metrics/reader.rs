//! A meter that keeps what is recorded, and the check of it against the conventions.

use std::{
    collections::{BTreeMap, HashMap},
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use temporalio_common::telemetry::metrics::{
    CoreMeter, Counter, CounterBase, Gauge, GaugeBase, GaugeF64, Histogram, HistogramBase, HistogramDuration,
    HistogramF64, HistogramF64Base, MetricAttributable, MetricAttributes, MetricParameters, NewAttributes,
    NoOpCoreMeter, UpDownCounter,
};

/// The recorded values, by metric and attributes.
type Kept = Arc<Mutex<BTreeMap<(String, BTreeMap<String, String>), Values>>>;

/// The values of a metric with the same attributes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    instrument: &'static str,
    unit: String,
    pub(crate) all: Vec<f64>,
}

/// The meter.
#[derive(Debug, Default)]
pub(crate) struct Reader(Kept);

/// An instrument, with the attributes of a value once it has them.
struct Named {
    kept: Kept,
    params: MetricParameters,
    instrument: &'static str,
}

struct Bound {
    kept: Kept,
    key: (String, BTreeMap<String, String>),
    unit: String,
    instrument: &'static str,
}

impl Bound {
    fn keep(&self, value: f64) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let values = kept.entry(self.key.clone()).or_default();
        (values.instrument, values.unit) = (self.instrument, self.unit.clone());
        values.all.push(value);
    }
}

impl Named {
    fn bound(&self, attributes: &MetricAttributes) -> Bound {
        let MetricAttributes::NoOp(labels) = attributes else { panic!("not of this meter: {attributes:?}") };
        let labels = labels.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Bound {
            kept: Arc::clone(&self.kept),
            key: (self.params.name.to_string(), labels),
            unit: self.params.unit.to_string(),
            instrument: self.instrument,
        }
    }
}

macro_rules! kept {
    ($($base:ident, $name:ident, $value:ty;)*) => {$(
        impl $base for Bound {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            fn $name(&self, value: $value) {
                self.keep(value as f64);
            }
        }

        impl MetricAttributable<Box<dyn $base>> for Named {
            fn with_attributes(&self, attributes: &MetricAttributes) -> Result<Box<dyn $base>, Box<dyn Error>> {
                Ok(Box::new(self.bound(attributes)))
            }
        }
    )*};
}

kept! {
    CounterBase, adds, u64;
    HistogramBase, records, u64;
    GaugeBase, records, u64;
}

impl HistogramF64Base for Bound {
    fn records(&self, value: f64) {
        self.keep(value);
    }
}

impl MetricAttributable<Box<dyn HistogramF64Base>> for Named {
    fn with_attributes(&self, attributes: &MetricAttributes) -> Result<Box<dyn HistogramF64Base>, Box<dyn Error>> {
        Ok(Box::new(self.bound(attributes)))
    }
}

impl Reader {
    fn named(&self, params: MetricParameters, instrument: &'static str) -> Arc<Named> {
        Arc::new(Named { kept: Arc::clone(&self.0), params, instrument })
    }

    pub(crate) fn all(&self) -> BTreeMap<(String, BTreeMap<String, String>), Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The values of a metric, one line for each set of attributes: the sum of a counter, the latest value of a gauge, the
    /// number of durations, and all values of other histograms.
    pub(crate) fn lines(&self, is_shown: impl Fn(&str) -> bool) -> String {
        let line = |((name, labels), values): ((String, BTreeMap<String, String>), Values)| {
            let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let shown = match (values.instrument, &*values.unit) {
                ("counter", _) => values.all.iter().sum::<f64>().to_string(),
                ("gauge", _) => values.all.last().copied().unwrap_or_default().to_string(),
                (_, "s" | "By") => format!("count {}", values.all.len()),
                _ => {
                    let mut all = values.all;
                    all.sort_by(f64::total_cmp);
                    format!("{all:?}")
                }
            };
            format!("{name} {{{}}} {shown}", labels.join(", "))
        };
        self.all().into_iter().filter(|((name, _), _)| is_shown(name)).map(line).collect::<Vec<_>>().join("\n")
    }
}

impl CoreMeter for Reader {
    fn new_attributes(&self, attributes: NewAttributes) -> MetricAttributes {
        MetricAttributes::NoOp(Arc::new(HashMap::from(attributes)))
    }

    fn extend_attributes(&self, existing: MetricAttributes, _: NewAttributes) -> MetricAttributes {
        existing
    }

    fn counter(&self, params: MetricParameters) -> Counter {
        Counter::new(self.named(params, "counter"))
    }

    fn histogram(&self, params: MetricParameters) -> Histogram {
        Histogram::new(self.named(params, "histogram"))
    }

    fn histogram_f64(&self, params: MetricParameters) -> HistogramF64 {
        HistogramF64::new(self.named(params, "histogram"))
    }

    fn histogram_duration(&self, params: MetricParameters) -> HistogramDuration {
        NoOpCoreMeter.histogram_duration(params)
    }

    fn gauge(&self, params: MetricParameters) -> Gauge {
        Gauge::new(self.named(params, "gauge"))
    }

    fn gauge_f64(&self, params: MetricParameters) -> GaugeF64 {
        NoOpCoreMeter.gauge_f64(params)
    }

    fn up_down_counter(&self, params: MetricParameters) -> UpDownCounter {
        NoOpCoreMeter.up_down_counter(params)
    }
}

/// Checks names, instruments, units and attributes against the conventions: `tests/conventions/metrics.json`.
pub(crate) fn check_conventions(reader: &Reader) {
    let conventions: Value = serde_json::from_str(include_str!("../../../conventions/metrics.json")).expect("JSON");
    let names = |of: &Value| -> Vec<String> { serde_json::from_value(of.clone()).expect("a list of names") };
    for ((name, labels), values) in reader.all() {
        let convention = &conventions["metrics"][&name];
        assert!(convention.is_object(), "no convention for {name}");
        assert_eq!((values.instrument, &*values.unit), (text(&convention["instrument"]), text(&convention["unit"])));
        let (required, optional) = (names(&convention["required"]), names(&convention["optional"]));
        for name in &required {
            assert!(labels.contains_key(name), "{name} is missing: {labels:?}");
        }
        for label in labels.keys() {
            assert!(required.contains(label) || optional.contains(label), "{label} is in no convention of {name}");
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}
