//! Names, units and attributes in the form that the exporter takes.

use std::sync::Arc;

use temporalio_common::telemetry::metrics::{
    CoreMeter, Counter, Gauge, Histogram, HistogramF64, MetricAttributes, MetricKeyValue, MetricParameters,
    NewAttributes,
};

/// A meter, and the rules of its exporter.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    meter: Arc<dyn CoreMeter>,
    /// `true` for Prometheus, whose names have no dots.
    has_plain_names: bool,
}

impl Meter {
    pub(super) fn new(meter: Arc<dyn CoreMeter>) -> Self {
        let of_exporter = meter.new_attributes(NewAttributes::default());
        Self { has_plain_names: matches!(of_exporter, MetricAttributes::Prometheus { .. }), meter }
    }

    /// Returns attributes of a value.
    pub(super) fn attributes(&self, attributes: &[(&'static str, &str)]) -> MetricAttributes {
        let pairs = attributes.iter().map(|(key, value)| MetricKeyValue::new(self.name(key), (*value).to_owned()));
        self.meter.new_attributes(NewAttributes::new(pairs.collect()))
    }

    pub(super) fn counter(&self, name: &str, unit: &'static str, description: &'static str) -> Counter {
        self.meter.counter(self.parameters(name, unit, description))
    }

    pub(super) fn gauge(&self, name: &str, unit: &'static str, description: &'static str) -> Gauge {
        self.meter.gauge(self.parameters(name, unit, description))
    }

    pub(super) fn histogram(&self, name: &str, unit: &'static str, description: &'static str) -> Histogram {
        self.meter.histogram(self.parameters(name, unit, description))
    }

    /// Returns a histogram of seconds, or of amounts. The histograms of durations of the runtime
    /// may have milliseconds.
    pub(super) fn histogram_f64(&self, name: &str, unit: &'static str, description: &'static str) -> HistogramF64 {
        self.meter.histogram_f64(self.parameters(name, unit, description))
    }

    fn parameters(&self, name: &str, unit: &'static str, description: &'static str) -> MetricParameters {
        let unit = match unit {
            unit if !self.has_plain_names => unit,
            "s" => "seconds",
            "By" => "bytes",
            // An annotation such as {token} is no unit of Prometheus.
            _ => "",
        };
        MetricParameters { name: self.name(name).into(), description: description.into(), unit: unit.into() }
    }

    fn name(&self, name: &str) -> String {
        if self.has_plain_names { name.replace('.', "_") } else { name.to_owned() }
    }
}
