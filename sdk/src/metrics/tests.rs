use std::{collections::HashMap, sync::Arc};

use rstest::rstest;
use temporalio_common::telemetry::metrics::{
    Counter, Gauge, GaugeF64, Histogram, HistogramDuration, HistogramF64, MetricAttributes, MetricParameters,
    NewAttributes, NoOpCoreMeter, UpDownCounter,
};

use super::*;

#[rstest]
#[case::latest("gen_ai_latest_experimental", false)]
#[case::both("http/dup, gen_ai/dup", true)]
#[case::nothing("", false)]
fn both_sets_of_names_are_opted_in(#[case] value: &str, #[case] has_both: bool) {
    assert_eq!(asks_for_both(value), has_both);
}

/// A meter with attributes of Prometheus, which keeps the names and units of instruments.
#[derive(Debug, Default)]
struct Plain(Mutex<Vec<String>>);

impl Plain {
    fn keep(&self, params: &MetricParameters) {
        let mut names = self.0.lock().expect("nothing panics");
        names.push(format!("{} {}", params.name, params.unit));
    }
}

impl CoreMeter for Plain {
    fn new_attributes(&self, attributes: NewAttributes) -> MetricAttributes {
        MetricAttributes::Prometheus { labels: Arc::new(attributes.into()) }
    }

    fn extend_attributes(&self, existing: MetricAttributes, _: NewAttributes) -> MetricAttributes {
        existing
    }

    fn counter(&self, params: MetricParameters) -> Counter {
        self.keep(&params);
        NoOpCoreMeter.counter(params)
    }

    fn histogram(&self, params: MetricParameters) -> Histogram {
        self.keep(&params);
        NoOpCoreMeter.histogram(params)
    }

    fn histogram_f64(&self, params: MetricParameters) -> HistogramF64 {
        self.keep(&params);
        NoOpCoreMeter.histogram_f64(params)
    }

    fn histogram_duration(&self, params: MetricParameters) -> HistogramDuration {
        NoOpCoreMeter.histogram_duration(params)
    }

    fn gauge(&self, params: MetricParameters) -> Gauge {
        self.keep(&params);
        NoOpCoreMeter.gauge(params)
    }

    fn gauge_f64(&self, params: MetricParameters) -> GaugeF64 {
        NoOpCoreMeter.gauge_f64(params)
    }

    fn up_down_counter(&self, params: MetricParameters) -> UpDownCounter {
        NoOpCoreMeter.up_down_counter(params)
    }
}

#[test]
fn names_of_prometheus_have_no_dots_and_units_no_annotations() {
    let plain = Arc::new(Plain::default());
    let metrics = Metrics::new(Arc::<Plain>::clone(&plain)).with_earlier_names();
    let names = plain.0.lock().expect("nothing panics").clone();
    assert!(names.contains(&"gen_ai_client_inference_duration seconds".to_owned()), "{names:?}");
    assert!(names.contains(&"gen_ai_client_token_usage ".to_owned()), "{names:?}");
    let is_valid = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_ ".contains(&byte));
    assert!(names.iter().all(is_valid), "{names:?}");
    let attributes = metrics.0.instruments.meter.attributes(&[("gen_ai.tool.name", "a.b")]);
    let MetricAttributes::Prometheus { labels } = attributes else { panic!("{attributes:?}") };
    assert_eq!(labels.as_prom_labels(), HashMap::from([("gen_ai_tool_name", "a.b".to_owned())]));
}

#[test]
fn a_part_of_a_run_is_counted_once_and_the_memory_is_bounded() {
    let metrics = Metrics::new(Arc::new(NoOpCoreMeter));
    assert!(metrics.is_new("a".to_owned()));
    assert!(!metrics.is_new("a".to_owned()));
    for part in 0..REMEMBERED {
        assert!(metrics.is_new(part.to_string()));
    }
    assert!(metrics.is_new("a".to_owned()), "the oldest is forgotten");
}
