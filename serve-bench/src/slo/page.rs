//! The page of a search: the answer, the verdict curve, every run.

use report::{Block, Page, Section, Table, VerdictSeries, Verdicts};

use super::report::{Answer, Decision};

impl Answer {
    /// The page.
    pub(super) fn page(&self) -> Page {
        Page {
            title: format!("largest {} within {}", self.search, self.slo.join(" and ")),
            simulated: self.simulated.clone(),
            answer: self.says.clone(),
            sections: vec![
                Section {
                    heading: "verdicts".to_owned(),
                    blocks: vec![Block::Verdicts(self.curve())],
                },
                Section {
                    heading: "runs".to_owned(),
                    blocks: vec![
                        Block::Paragraph(
                            "Statistics in ms with their 95% intervals, over all runs of the same load."
                                .to_owned(),
                        ),
                        Block::Table(Table {
                            heads: self.heads(),
                            rows: self.rows(),
                        }),
                    ],
                },
            ],
            made_by: format!("serve-bench slo {}", env!("CARGO_PKG_VERSION")),
        }
    }

    /// The last run of each load, which speaks for all of them, over load.
    fn curve(&self) -> Verdicts {
        let mut last: Vec<&Decision> = Vec::new();
        for run in &self.runs {
            last.retain(|earlier| earlier.at != run.at);
            last.push(run);
        }
        last.sort_by(|one, other| one.at.total_cmp(&other.at));
        let series = self.slo.iter().zip(&self.limits_ms).enumerate();
        let series = series.map(|(index, (name, limit))| VerdictSeries {
            name: name.clone(),
            points: last
                .iter()
                .filter_map(|run| {
                    let seen = run.judged.seen.get(index)?;
                    let interval = seen.interval_ms;
                    let part = |ms: f64| ms / limit;
                    let interval = interval.map(|(low, high)| (part(low), part(high)));
                    Some((run.at, part(seen.value_ms?), interval))
                })
                .collect(),
        });
        Verdicts {
            title: format!(
                "statistics as parts of their limits by load ({})",
                self.unit
            ),
            axis: self.unit.clone(),
            series: series.collect(),
            loads: last
                .iter()
                .map(|run| (run.at, run.judged.verdict.words().to_owned()))
                .collect(),
            met: self.found.and_then(|found| found.met),
        }
    }
}
