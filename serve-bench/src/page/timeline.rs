//! What went on over the time of a run: requests in flight, tokens a second, failures, the server's counters and its machine.

use std::collections::BTreeMap;

use measure::record::{
    MonitorLine, MonitorSample, Serve, ServeRequest, ServeSummary, ServerCounters, ServerMachine,
    ServerValues,
};
use report::{Axis, Block, Plot, PlotPoint, PlotSeries, Section, Shape};

use super::shapes::point;

/// Instants at which requests in flight are counted.
const INSTANTS: u32 = 400;

/// Spans that tokens are counted in, at most; a span is a whole number of the lengths below.
const SPANS: f64 = 150.0;

/// Lengths of spans, s.
const LENGTHS: [f64; 13] = [
    0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0, 3600.0,
];

/// A number of a reading of the server's counters.
type Gauge = fn(&ServerValues) -> Option<f64>;

/// A number of a reading of a device.
type Value = fn(&MonitorSample) -> Option<f64>;

/// The pictures, all over the same time.
pub(super) fn section(serve: &Serve, summary: &ServeSummary, simulated: bool) -> Section {
    let end_s = summary.duration_s;
    let first_ms = serve.requests.iter().map(|one| one.sent_ms);
    let from_ms = first_ms.fold(f64::INFINITY, f64::min);
    let from_ms = if from_ms.is_finite() { from_ms } else { 0.0 };
    let time = Time {
        from_ms,
        end_s,
        simulated,
    };
    let counters = serve
        .server
        .as_ref()
        .and_then(|server| server.counters.as_ref());
    let machine = serve
        .server
        .as_ref()
        .and_then(|server| server.machine.as_ref());
    let mut plots = vec![time.in_flight(&serve.requests, counters)];
    plots.push(time.tokens(&serve.requests));
    plots.push(time.failures(&serve.requests));
    if let Some(counters) = counters {
        plots.push(time.cache(counters));
    }
    if let Some(machine) = machine {
        plots.extend(time.devices(machine));
        plots.push(time.processes(machine));
    }
    plots.retain(|plot| plot.series.iter().any(|series| !series.points.is_empty()));
    Section {
        heading: "Over time".to_owned(),
        blocks: plots.into_iter().map(Block::Plot).collect(),
    }
}

/// The time that all pictures share.
struct Time {
    /// The first request's sending, ms.
    from_ms: f64,
    end_s: f64,
    simulated: bool,
}

impl Time {
    fn plot(&self, title: String, up: &str, series: Vec<PlotSeries>) -> Plot {
        Plot {
            title,
            across: Axis {
                label: "s since the first request".to_owned(),
                range: Some((0.0, self.end_s)),
                ..Axis::default()
            },
            up: Axis {
                label: up.to_owned(),
                ..Axis::default()
            },
            series,
            simulated: self.simulated,
        }
    }

    fn second(&self, ms: f64) -> f64 {
        (ms - self.from_ms) / 1e3
    }

    /// Whether an instant is in the picture; readings right before and after it are.
    fn shows(&self, second: f64) -> bool {
        (0.0..=self.end_s).contains(&second)
    }

    fn in_flight(&self, requests: &[ServeRequest], counters: Option<&ServerCounters>) -> Plot {
        let sorted = |of: fn(&ServeRequest) -> f64| {
            let mut instants: Vec<f64> = requests.iter().map(|one| self.second(of(one))).collect();
            instants.sort_by(f64::total_cmp);
            instants
        };
        let (sent, ended) = (sorted(|one| one.sent_ms), sorted(|one| one.ended_ms));
        let points = (0..=INSTANTS).map(|index| {
            let at = self.end_s * f64::from(index) / f64::from(INSTANTS);
            let begun = sent.partition_point(|instant| *instant <= at);
            let over = ended.partition_point(|instant| *instant <= at);
            point(at, (begun - over) as f64)
        });
        let mut series = vec![PlotSeries {
            name: "in flight, as seen here".to_owned(),
            shape: Shape::Steps,
            points: points.collect(),
        }];
        let by_server: [(&str, Gauge); 2] = [
            ("running, as the server says", |values| values.running),
            ("waiting, as the server says", |values| values.waiting),
        ];
        for (name, of) in by_server {
            let points = counters.map_or_else(Vec::new, |counters| self.read(counters, of));
            if !points.is_empty() {
                series.push(PlotSeries {
                    name: name.to_owned(),
                    shape: Shape::Dotted,
                    points,
                });
            }
        }
        self.plot("requests in flight".to_owned(), "requests", series)
    }

    /// A gauge over the readings.
    fn read(&self, counters: &ServerCounters, of: Gauge) -> Vec<PlotPoint> {
        let readings = counters.readings.iter().filter_map(|reading| {
            let at = self.second(f64::midpoint(reading.asked_ms, reading.answered_ms));
            Some(point(at, of(&reading.values)?)).filter(|point| self.shows(point.x))
        });
        readings.collect()
    }

    /// Length of the spans that something is counted in, s.
    fn span_s(&self) -> f64 {
        let fits = |length: &f64| self.end_s / length <= SPANS;
        LENGTHS.into_iter().find(fits).unwrap_or(self.end_s / SPANS)
    }

    /// Counts in spans, as a rate; the last span counts for as long as it lasted.
    fn rate(&self, counted: impl Iterator<Item = (f64, f64)>) -> Vec<PlotPoint> {
        let span = self.span_s();
        let mut spans: BTreeMap<u64, f64> = BTreeMap::new();
        for (second, count) in counted {
            let within = second.clamp(0.0, self.end_s.max(0.0));
            *spans.entry((within / span) as u64).or_default() += count;
        }
        let Some(last) = spans.keys().next_back().copied() else {
            return Vec::new();
        };
        let mut points: Vec<PlotPoint> = (0..=last)
            .map(|index| {
                let from = index as f64 * span;
                let length = span.min(self.end_s - from).max(span * 0.05);
                point(from, spans.get(&index).copied().unwrap_or(0.0) / length)
            })
            .collect();
        // The last step is as long as its span.
        points.extend(points.last().cloned().map(|last| PlotPoint {
            x: self.end_s,
            ..last
        }));
        points
    }

    fn tokens(&self, requests: &[ServeRequest]) -> Plot {
        let counted = requests.iter().flat_map(|one| {
            let chunks = one.token_chunks_ms.len();
            let even = one
                .output_tokens
                .map_or(1.0, |tokens| f64::from(tokens) / chunks as f64);
            let known = one.chunk_tokens.len() == chunks;
            one.token_chunks_ms
                .iter()
                .enumerate()
                .map(move |(index, at)| {
                    let tokens = if known {
                        f64::from(one.chunk_tokens[index])
                    } else {
                        even
                    };
                    (self.second(*at), tokens)
                })
        });
        let title = format!("output tokens a second, in spans of {} s", self.span_s());
        let series = PlotSeries {
            name: "output tokens".to_owned(),
            shape: Shape::Steps,
            points: self.rate(counted),
        };
        self.plot(title, "tokens/s", vec![series])
    }

    /// Requests that failed by kind, where there are some.
    fn failures(&self, requests: &[ServeRequest]) -> Plot {
        let mut kinds: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        for one in requests {
            if let Some(error) = &one.error {
                let instants = kinds.entry(error.kind).or_default();
                instants.push(self.second(one.ended_ms));
            }
        }
        let series = kinds.into_iter().map(|(kind, mut instants)| {
            instants.sort_by(f64::total_cmp);
            let step = instants.len().div_ceil(INSTANTS as usize);
            let counted = instants.iter().enumerate().step_by(step);
            let mut points: Vec<PlotPoint> = counted
                .map(|(index, at)| point(*at, (index + 1) as f64))
                .collect();
            points.insert(0, point(0.0, 0.0));
            points.push(point(self.end_s, instants.len() as f64));
            PlotSeries {
                name: kind.to_string(),
                shape: Shape::Steps,
                points,
            }
        });
        let series = series.collect();
        self.plot("requests that failed so far".to_owned(), "requests", series)
    }

    fn cache(&self, counters: &ServerCounters) -> Plot {
        let points = self.read(counters, |values| values.kv_used.map(|part| part * 100.0));
        let series = PlotSeries {
            name: "KV cache in use".to_owned(),
            shape: Shape::Dotted,
            points,
        };
        self.plot("the server's key-value cache".to_owned(), "%", vec![series])
    }

    /// Power, clock, use and PCIe bytes, a series for each device.
    fn devices(&self, machine: &ServerMachine) -> Vec<Plot> {
        let values: [(&str, &str, Value); 4] = [
            ("power", "W", |s| s.values.power_w),
            ("SM clock", "MHz", |s| s.values.sm_clock_mhz.map(f64::from)),
            ("time with a kernel", "%", |s| {
                s.values.utilisation_percent.map(f64::from)
            }),
            ("PCIe bytes, both directions", "GB/s", |s| {
                let (rx, tx) = (s.values.pcie_rx_kb_per_s?, s.values.pcie_tx_kb_per_s?);
                Some((f64::from(rx) + f64::from(tx)) / 1e6)
            }),
        ];
        let plots = values.into_iter().map(|(title, unit, of)| {
            let devices = machine.header.devices.iter().enumerate();
            let series = devices.map(|(index, device)| PlotSeries {
                name: device.label.clone(),
                shape: Shape::Line,
                points: machine
                    .lines
                    .iter()
                    .filter_map(|line| {
                        let MonitorLine::Sample(sample) = line else {
                            return None;
                        };
                        let at = self.second(machine.at_ms(sample.answered_ns));
                        let value = of(sample).filter(|_| sample.device == index)?;
                        Some(point(at, value)).filter(|point| self.shows(point.x))
                    })
                    .collect(),
            });
            let mut plot = self.plot(title.to_owned(), unit, series.collect());
            plot.simulated |= machine.header.soft_box.is_some();
            plot
        });
        plots.collect()
    }

    /// CPUs that the server's processes use together, a series for each NUMA node.
    fn processes(&self, machine: &ServerMachine) -> Plot {
        let mut nodes: BTreeMap<u32, BTreeMap<u64, f64>> = BTreeMap::new();
        for line in &machine.lines {
            if let MonitorLine::Cpu(cpu) = line {
                for used in &cpu.by_node {
                    // Processes are read one right after the other, so their lines of one look have one instant.
                    let at = nodes.entry(used.node).or_default();
                    *at.entry(cpu.at_ns).or_default() += used.cpus;
                }
            }
        }
        let series = nodes.into_iter().map(|(node, used)| PlotSeries {
            name: format!("node {node}"),
            shape: Shape::Line,
            points: used
                .into_iter()
                .map(|(ns, cpus)| point(self.second(machine.at_ms(ns)), cpus))
                .filter(|point| self.shows(point.x))
                .collect(),
        });
        let series = series.collect();
        self.plot(
            "CPUs in use by the server's processes".to_owned(),
            "CPUs",
            series,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(end_s: f64) -> Time {
        Time {
            from_ms: 1000.0,
            end_s,
            simulated: false,
        }
    }

    fn xy(points: &[PlotPoint]) -> Vec<(f64, f64)> {
        points.iter().map(|point| (point.x, point.y)).collect()
    }

    #[test]
    fn spans_are_round_and_few() {
        // 12 s in 150 spans are 0.08 s each, the next length 0.1; 1000 s: 6.7 s, so 10.
        assert_eq!((time(12.0).span_s(), time(1000.0).span_s()), (0.1, 10.0));
    }

    #[test]
    fn tokens_are_counted_in_spans_as_a_rate() {
        let one = ServeRequest {
            sent_ms: 1000.0,
            ended_ms: 1250.0,
            token_chunks_ms: vec![1050.0, 1060.0, 1240.0],
            chunk_tokens: vec![1, 3, 2],
            output_tokens: Some(6),
            ..ServeRequest::default()
        };
        let plot = time(0.25).tokens(std::slice::from_ref(&one));
        let rounded: Vec<(f64, f64)> = xy(&plot.series[0].points)
            .into_iter()
            .map(|(x, y)| ((x * 1e6).round() / 1e6, y.round()))
            .collect();
        // 4 tokens in the first 0.1 s: 40/s; none; 2 in the 0.05 s that are left: 40/s.
        assert_eq!(
            rounded,
            [(0.0, 40.0), (0.1, 0.0), (0.2, 40.0), (0.25, 40.0)]
        );
    }

    #[test]
    fn what_is_in_flight_was_sent_and_has_not_ended() {
        let one = |sent_ms, ended_ms| ServeRequest {
            sent_ms,
            ended_ms,
            ..ServeRequest::default()
        };
        let plot = time(4.0).in_flight(&[one(1000.0, 3000.0), one(2000.0, 5000.0)], None);
        let at = |second: f64| {
            let points = &plot.series[0].points;
            points.iter().find(|point| point.x >= second).map(|p| p.y)
        };
        // The clock of the picture begins with the first request: one until 1 s, two until 2 s, one until 4 s.
        assert_eq!(
            [at(0.5), at(1.5), at(2.5), at(4.0)],
            [Some(1.0), Some(2.0), Some(1.0), Some(0.0)]
        );
    }
}
