//! Pictures of several results by load: throughput against latency, TTFT and TPOT, tokens a second.

use std::collections::BTreeMap;

use measure::import::serve::{Latency, ServeResult};
use report::{Axis, Plot, PlotPoint, PlotSeries, Shape};

use super::shapes::axis;

/// How much was asked of a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Load {
    /// So many in flight.
    Concurrency(f64),
    /// So many requests a second.
    Rate(f64),
    /// All at once, or not told: so many in flight in the mean.
    Seen(f64),
}

/// Where a load stands on an axis; nowhere on that of another kind of load.
pub(super) type Place = fn(&Load) -> Option<f64>;

impl Load {
    /// What was asked for; else what was seen.
    pub(super) fn of(result: &ServeResult) -> Option<Self> {
        let run = &result.run;
        let rate = run.request_rate_asked.filter(|rate| rate.is_finite());
        rate.map(Self::Rate)
            .or(run.concurrency_asked.map(Self::Concurrency))
            .or_else(|| result.in_flight().map(Self::Seen))
    }

    /// In words, without its unit where it is a number in flight.
    pub(super) fn words(self) -> String {
        match self {
            Self::Concurrency(places) => format!("{places}"),
            Self::Rate(rate) => format!("{rate}/s"),
            Self::Seen(mean) => format!("≈{mean:.1}"),
        }
    }
}

/// The pictures of results in groups, a series each.
pub(super) struct Pictures<'a> {
    pub(super) groups: BTreeMap<String, Vec<&'a ServeResult>>,
    pub(super) simulated: bool,
}

impl Pictures<'_> {
    /// A picture over all groups; `of` gives a result's point.
    fn plot(
        &self,
        title: String,
        labels: (&str, &str),
        of: impl Fn(&ServeResult) -> Option<PlotPoint>,
    ) -> Plot {
        let series = self.groups.iter().filter_map(|(name, results)| {
            let mut points: Vec<PlotPoint> =
                results.iter().filter_map(|result| of(result)).collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            (!points.is_empty()).then(|| PlotSeries {
                name: name.clone(),
                shape: Shape::Dotted,
                points,
            })
        });
        let series: Vec<PlotSeries> = series.collect();
        let all = || series.iter().flat_map(|series| &series.points);
        let across = axis(labels.0, all().map(|point| point.x));
        let up = axis(labels.1, all().map(|point| point.y));
        Plot {
            title,
            across,
            up,
            series,
            simulated: self.simulated,
        }
    }

    /// Tokens a second over the time that a request takes; each point has its load beside it.
    pub(super) fn throughput(&self) -> Plot {
        let mut plot = self.plot(
            "output tokens a second over mean end-to-end latency; beside each point its load"
                .to_owned(),
            ("mean E2EL (ms)", "output tokens/s"),
            |result| {
                Some(PlotPoint {
                    x: result.latency_ms()?,
                    y: result.output_tokens_per_s()?,
                    interval: None,
                    label: Load::of(result).map(Load::words),
                })
            },
        );
        // By load and not by latency, which may fall again.
        for series in &mut plot.series {
            series.shape = Shape::Dots;
        }
        plot.up.logarithmic = false;
        plot
    }

    pub(super) fn latency(&self, latency: Latency, label: &str, load: Place) -> Plot {
        let up = format!("mean {} (ms)", latency.name());
        let title = format!("{up} by load, with 95% intervals where raw values are there");
        self.plot(title, (label, &up), |result| {
            let spread = result.spread(latency)?;
            let interval = spread.mean_interval;
            Some(PlotPoint {
                x: load(&Load::of(result)?)?,
                y: spread.mean,
                interval: interval.map(|interval| (interval.low, interval.high)),
                label: None,
            })
        })
    }

    pub(super) fn tokens(&self, label: &str, load: Place) -> Plot {
        let mut plot = self.plot(
            "output tokens a second by load".to_owned(),
            (label, "output tokens/s"),
            |result| {
                Some(PlotPoint {
                    x: load(&Load::of(result)?)?,
                    y: result.output_tokens_per_s()?,
                    interval: None,
                    label: None,
                })
            },
        );
        plot.up = Axis {
            logarithmic: false,
            ..plot.up
        };
        plot
    }
}
