//! Engines that are split on paper, as a document.

use std::fmt;

use view::serve::significant;
use view::{Block, Document, Item, Section, Table};

use super::paper::{Arrangement, OnPaper};
use super::words;
use crate::explain::range;

impl OnPaper {
    /// The document.
    pub(crate) fn document(&self) -> Document {
        let asked = &self.asked;
        let is_best = (self.best.prefill, self.best.decode) == (asked.prefill, asked.decode);
        let gain = self.over_aggregated.as_ref().map(|gain| {
            let is_doubtful = gain.low < 1.0 && gain.high > 1.0;
            let doubt = if is_doubtful { "probably " } else { "" };
            format!("{doubt}{}", range(gain, 2))
        });
        let gain = gain.unwrap_or_default();
        let (tone, code, verdict) = words::verdict(self.decided, &gain);
        let rate = |row: &Arrangement| format!("{} req/s", range(&row.requests_per_s, 1));
        let (limit, gpus) = (words::limit(asked.limit), asked.gpus);
        let serves = format!(
            "{asked} serves {} on {gpus} GPUs; limited by {limit}.",
            rate(asked)
        );
        let best = match is_best {
            true => "Predicted, not measured.".to_owned(),
            false => {
                let best = format!("{}, {}", self.best, rate(&self.best));
                format!("Predicted, not measured. Best on these GPUs: {best}.")
            }
        };
        let mut table = Table::under([
            "engines",
            "GPUs",
            "req/s",
            "TTFT ms",
            "p99",
            "TPOT ms",
            "ITL p99",
            "in flight",
            "limited by",
        ]);
        let mut rows = vec![asked, &self.aggregated];
        if !is_best {
            rows.insert(1, &self.best);
        }
        for row in rows {
            let ms = |seconds: f64| significant(seconds * 1e3);
            table.row([
                row.to_string(),
                row.gpus.to_string(),
                range(&row.requests_per_s, 1),
                ms(row.ttft_s),
                ms(row.ttft_p99_s),
                ms(row.figures.tpot_s),
                ms(row.figures.itl_p99_s),
                format!("{:.0}", row.figures.batch),
                words::limit(row.limit).to_owned(),
            ]);
        }
        let figures = &asked.figures;
        let mut parts = Table::under(["part of TTFT", "mean ms", "%"]);
        for (part, seconds) in [
            ("wait for other prompts", figures.wait_s),
            ("prefill", figures.prefill_s),
            ("keys and values on the link", figures.transfer_s),
            ("first decode step", figures.first_step_s),
        ] {
            let share = format!("{:.0}", seconds / asked.ttft_s * 100.0);
            parts.row([part.to_owned(), significant(seconds * 1e3), share]);
        }
        let busy = format!(
            "Prefill works {:.0}% of the time, decode engines hold {:.0} of {:.0} sequences.",
            figures.prefill_busy * 100.0,
            figures.batch,
            self.sequences
        );
        let heading = match self.has_limits {
            true => "Largest loads within the limits",
            false => "Largest loads at any latency: --ttft, --tpot and --itl set limits",
        };
        let mut item = Item::of(tone, busy);
        item.code = code;
        Document {
            title: format!(
                "{} on {}, {} in and {} out: {} of TP{} and TP{} on paper",
                self.model,
                self.gpu.as_deref().unwrap_or("unnamed GPUs"),
                self.input_tokens,
                self.output_tokens,
                asked,
                self.tp[0],
                self.tp[1]
            ),
            simulated: self.simulated.clone(),
            tone,
            answer: vec![verdict, serves, best],
            findings: vec![item],
            sections: vec![
                Section::new(heading, vec![Block::Table(table)]),
                Section::new("", vec![Block::Table(parts)]),
            ],
            made_by: format!("tplens predict {}", env!("CARGO_PKG_VERSION")),
            ..Document::default()
        }
    }
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefill {
            Some(prefill) => write!(f, "{prefill}P{}D", self.decode),
            None => write!(f, "{} aggregated", self.decode),
        }
    }
}
