//! Metrics that exist only while they are asked for: values that are read then, and those of several parts under one name.

use std::fmt;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

use crate::kernel::metrics::Labels;

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Only grows, until the program starts anew.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How often a value was within each of several bounds.
    Histogram,
}

impl Kind {
    /// The word of the format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }

    fn of_the_format(self) -> MetricType {
        match self {
            Self::Counter => MetricType::Counter,
            Self::Gauge => MetricType::Gauge,
            Self::Histogram => MetricType::Histogram,
        }
    }
}

/// Values that are read when they are asked for.
pub(super) struct Read<F> {
    pub(super) kind: Kind,
    pub(super) values: F,
}

impl<F> fmt::Debug for Read<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Read").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<L: Labels, F: Fn() -> Vec<(L, f64)>> EncodeMetric for Read<F> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (labels, value) in (self.values)() {
            let mut encoder = encoder.encode_family(&labels)?;
            match self.kind {
                Kind::Counter => encoder.encode_counter::<NoLabelSet, _, f64>(&value, None)?,
                Kind::Gauge | Kind::Histogram => encoder.encode_gauge(&value)?,
            }
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        self.kind.of_the_format()
    }
}

/// Metrics that several parts have, told apart by labels.
#[derive(Debug)]
pub struct Each<L, M>(pub Vec<(L, M)>);

impl<L: Labels, M: EncodeMetric + TypedMetric> EncodeMetric for Each<L, M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(labels, metric)| metric.encode(encoder.encode_family(labels)?))
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}
