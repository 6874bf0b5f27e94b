//! A study of engines apart, as a document.

use std::path::Path;

use import::serve::Spread;
use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::study::Apart;
use super::words;

impl Apart {
    /// The document.
    pub(super) fn document(&self, folder: &Path) -> Document {
        let name = format!("{}P{}D", self.prefill, self.decode);
        let gain = self.over_aggregated.map_or_else(String::new, significant);
        let unknown = || format!("{name} beside nothing: --aggregated says whether to split.");
        let open = |part: &String| {
            let (all, part) = (self.doubted.join(", "), folder.join(part));
            let part = part.display();
            format!(
                "Whether to split stays open: `tplens show {part}` says why {all} cannot count."
            )
        };
        let (tone, code, verdict) = match (self.doubted.first(), self.decided) {
            (Some(part), _) => (Tone::Open, None, open(part)),
            (None, Some(decided)) => words::verdict(decided, &gain),
            (None, None) => (Tone::Open, None, unknown()),
        };
        let of_parts = crate::route::document(&self.parts);
        let limit = words::limit(self.limit);
        let busy = format!(
            "Prefill works {:.0}% of the time, the link {}%.",
            self.prefill_busy * 100.0,
            self.link_busy
                .map_or_else(|| "—".to_owned(), |busy| format!("{:.0}", busy * 100.0))
        );
        let rate = significant(self.split.run.requests_per_s);
        let mut answer = vec![
            verdict,
            format!("{name}: {rate} req/s; limited by {limit}."),
        ];
        answer.extend(of_parts.answer);
        let mut findings = of_parts.findings;
        findings.extend(code.map(|code| Item::of(tone, busy).coded(code)));
        if !self.by_mean.is_empty() {
            let text = format!(
                "Judged by the mean, too few values for a p99: {}.",
                self.by_mean.join(", ")
            );
            findings.push(Item::of(Tone::Warning, text));
        }
        if !self.limited.is_empty() {
            let limited = self.limited.join(", ");
            let text = format!("The load generator was the limit: {limited}");
            findings.push(Item::of(Tone::Warning, text).coded("client-limited"));
        }
        let again = "run the same command again on a quiet machine, into another folder.";
        let next = (!self.limited.is_empty()).then(|| Next::plain(again));
        let mut table = Table::under([
            "engines",
            "GPUs",
            "in flight",
            "req/s",
            "req/s and GPU",
            "TTFT ms",
            "p99",
            "TPOT ms",
            "ITL p99",
            "n",
        ]);
        let rows = [
            Some(&self.split),
            self.aggregated.as_ref(),
            Some(&self.prefill_alone),
            self.decode_alone.as_ref(),
        ];
        for row in rows.into_iter().flatten() {
            let cell = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), significant);
            let (run, is_split) = (&row.run, row.name == "split");
            let mean = |of: Option<Spread>| cell(of.map(|of| of.mean));
            let p99 = |of: Option<Spread>| cell(of.and_then(|of| of.p99));
            table.row([
                if is_split { &name } else { row.name }.to_owned(),
                row.gpus.to_string(),
                cell(run.concurrency_asked),
                significant(run.requests_per_s),
                significant(run.requests_per_s / f64::from(row.gpus)),
                mean(run.ttft_ms),
                p99(run.ttft_ms),
                mean(run.tpot_ms),
                p99(run.itl_ms),
                run.completed.to_string(),
            ]);
        }
        let mut sections = vec![Section::new(
            "Under the same load a GPU",
            vec![Block::Table(table)],
        )];
        sections.extend(of_parts.sections);
        Document {
            title: format!("Prefill and decode apart, {}", self.model),
            simulated: self.simulated.clone(),
            tone,
            answer,
            findings,
            next: next.into_iter().collect(),
            sections,
            made_by: format!("tplens study {}", env!("CARGO_PKG_VERSION")),
        }
    }
}
