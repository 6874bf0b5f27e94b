//! `tplens serve parts`: the time to first token in parts: what the router saw, and within it what engines counted. What nobody
//! explains is a part.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use program::show::Show;
use program::{Stop, outputs};
use record::exit;
use serde::Serialize;
use stats::{Interval, distribution};
use view::serve::{maybe, significant, within};
use view::{Block, Document, Item, Section, Table, Tone};

use super::journal::Row;
use super::questions::{Counters, LINK, PREFILL, QUEUE};

/// The time to first token in parts, from a router's journal.
///
/// Parts are means over the requests that were served to their end. What engines counted has no interval: they tell sums only.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PartsArgs {
    /// The file that `tplens serve route --journal` wrote.
    #[arg(value_name = "JOURNAL")]
    journal: PathBuf,
    /// Write the figures to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page to this file, too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// One part.
#[derive(Debug, Clone, Serialize)]
struct Part {
    /// Which: `router` until the first engine's request is sent; `prefill-queue` and `prefill` as the prefill engine counts them;
    /// `prefill-reply`, what it did not count; `dispatch`, the router until the decode engine's request; `kv-transfer` on the link;
    /// `decode-queue` and `first-step` as the decode engine counts them; `unexplained`.
    code: &'static str,
    /// Mean, ms; `None` where nobody counted it.
    mean_ms: Option<f64>,
    /// The 95% interval of the mean; engines tell no more than sums.
    interval_ms: Option<Interval>,
    /// Requests.
    n: usize,
    /// Whether engines counted it.
    is_counted: bool,
}

/// The time to first token from the head of the request at the router to the first part of the reply.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Parts {
    schema: u32,
    /// Requests that were served to their end.
    n: usize,
    /// All others.
    failed: usize,
    dialect: String,
    /// The simulated machine of an engine.
    simulated: Option<String>,
    /// Whether both engines worked at once, so that parts overlap and only those of the decode engine add up.
    is_concurrent: bool,
    ttft_ms: f64,
    ttft_interval_ms: Option<Interval>,
    parts: Vec<Part>,
    /// Requests whose keys and values were left to a lease.
    stranded: usize,
    /// Requests that an engine counted, where others' are among them: its parts are left out.
    others: Option<usize>,
}

/// The parts of a journal, or of its last so many requests; `None` where none was served.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read(journal: &Path, last: Option<usize>) -> io::Result<Option<Parts>> {
    Ok(of(&bounded::text(journal, bounded::RECORD)?, last))
}

fn of(text: &str, last: Option<usize>) -> Option<Parts> {
    // Counters with the requests before them.
    let (mut rows, mut counters) = (Vec::new(), Vec::<(usize, Counters)>::new());
    for line in text.lines() {
        // The last line of a router that was killed may be half.
        if let Ok(row) = serde_json::from_str::<Row>(line) {
            rows.push(row);
        } else if let Ok(line) = serde_json::from_str::<Counters>(line) {
            counters.push((rows.len(), line));
        }
    }
    let first = last.map_or(0, |last| rows.len().saturating_sub(last));
    let counters = counters.into_iter().map(|(before, line)| Counters {
        is_end: line.is_end && before > first,
        ..line
    });
    Parts::of(&rows[first..], &counters.collect::<Vec<_>>())
}

/// An instant of a request, us.
type Stamp = fn(&Row) -> Option<u64>;

/// Milliseconds between two instants of each request.
fn between(rows: &[&Row], from: Stamp, to: Stamp) -> Vec<f64> {
    let ms = |row: &&Row| Some((to(row)? as f64 - from(row)? as f64) * 1e-3);
    rows.iter().filter_map(ms).collect()
}

/// By how much the first of these histograms that grew did: mean in ms and number.
fn grown(counters: &[Counters], is_prefill: bool, names: &[(&str, f64)]) -> Option<(f64, f64)> {
    names.iter().find_map(|(name, unit_ms)| {
        // The last line of each engine at the beginning and at the end.
        let mut engines: BTreeMap<&str, [Option<(f64, f64)>; 2]> = BTreeMap::new();
        for line in counters.iter().filter(|line| line.is_prefill == is_prefill) {
            let value = |suffix| line.values.get(&format!("{name}{suffix}")).copied();
            let both = value("_sum").zip(value("_count"));
            engines.entry(&line.engine).or_default()[usize::from(line.is_end)] = both;
        }
        let (mut sum, mut count) = (0.0, 0.0);
        for [begin, end] in engines.into_values() {
            // An engine that was read once only tells nothing of these requests.
            let (begin, end) = begin.zip(end)?;
            sum += end.0 - begin.0;
            count += end.1 - begin.1;
        }
        (count > 0.0).then(|| (sum / count * unit_ms, count))
    })
}

impl Part {
    /// What the router saw between two instants of each request.
    fn stamped(code: &'static str, rows: &[&Row], from: Stamp, to: Stamp) -> Self {
        let values = between(rows, from, to);
        let found = distribution(&values);
        Self {
            code,
            mean_ms: found.as_ref().map(|found| found.mean),
            interval_ms: found.and_then(|found| found.mean_interval),
            n: values.len(),
            is_counted: false,
        }
    }

    /// What engines counted: mean and number.
    fn counted(code: &'static str, found: Option<(f64, f64)>) -> Self {
        Self {
            code,
            mean_ms: found.map(|(mean, _)| mean),
            interval_ms: None,
            n: found.map_or(0, |(_, count)| count as usize),
            is_counted: true,
        }
    }

    /// What is left of a part without those within it.
    fn rest(self, code: &'static str, within: &[&Self]) -> Self {
        let within: f64 = within.iter().filter_map(|part| part.mean_ms).sum();
        Self {
            code,
            mean_ms: self.mean_ms.map(|ms| ms - within),
            interval_ms: None,
            ..self
        }
    }
}

impl Parts {
    /// The mean of a part, ms; `None` where nobody counted it.
    pub(crate) fn mean_ms(&self, code: &str) -> Option<f64> {
        self.parts.iter().find(|part| part.code == code)?.mean_ms
    }

    /// From the lines of a journal; `None` where no request was served.
    fn of(rows: &[Row], counters: &[Counters]) -> Option<Self> {
        let done: Vec<&Row> = rows.iter().filter(|row| row.outcome == "done").collect();
        let begun: Stamp = |_| Some(0);
        let ttft = between(&done, begun, |row| row.decode_first_us);
        let total = distribution(&ttft)?;
        let is_late = |row: &&Row| row.prefill_reply_us > row.decode_sent_us;
        let is_concurrent = done.iter().any(is_late);
        let is_single = done.iter().all(|row| row.prefill_sent_us.is_none());

        // One more than those of the router may be a probe's.
        let most = rows.len() + 1 + rows.len() / 10;
        let mut others = None;
        let mut counted = |code, is_prefill, names: &[(&str, f64)]| {
            let mut part = Part::counted(code, grown(counters, is_prefill, names));
            if part.n > most {
                others = Some(part.n);
                part.mean_ms = None;
            }
            part
        };
        let [p_queue, p_work] = [("prefill-queue", &QUEUE), ("prefill", &PREFILL)]
            .map(|(code, names)| counted(code, true, names));
        let [d_queue, d_step] = [("decode-queue", &QUEUE), ("first-step", &PREFILL)]
            .map(|(code, names)| counted(code, false, names));
        let link = Part::counted("kv-transfer", grown(counters, false, &LINK));
        let stamped = |code, from, to| Part::stamped(code, &done, from, to);
        let (asked, replied): (Stamp, Stamp) =
            (|row| row.prefill_sent_us, |row| row.prefill_reply_us);
        let (sent, first): (Stamp, Stamp) = (|row| row.decode_sent_us, |row| row.decode_first_us);
        let is_apart = !is_concurrent && !is_single;
        // What the decode engine waits for: where it is not asked last, the prefill engine, too.
        let within = [&p_queue, &p_work, &link, &d_queue, &d_step];
        let within = if is_apart { &within[2..] } else { &within };
        let left = stamped("decode", sent, first).rest("unexplained", within);
        let begin = stamped("router", begun, if is_apart { asked } else { sent });
        let reply = stamped("leg", asked, replied).rest("prefill-reply", &[&p_queue, &p_work]);
        let mut parts = vec![begin, p_queue, p_work];
        if is_apart {
            parts.extend([reply, stamped("dispatch", replied, sent)]);
        }
        parts.extend([link, d_queue, d_step, left]);
        Some(Self {
            schema: 1,
            n: ttft.len(),
            failed: rows.len() - done.len(),
            dialect: done.first()?.dialect.clone(),
            simulated: counters.iter().find_map(|line| line.simulated.clone()),
            is_concurrent,
            ttft_ms: total.mean,
            ttft_interval_ms: total.mean_interval,
            parts,
            stranded: rows.iter().filter(|row| row.lease_s.is_some()).count(),
            others,
        })
    }
}

/// Prints the parts, and gives the exit code.
///
/// # Errors
/// The journal cannot be read, or no request of it was served.
pub(crate) fn parts(args: &PartsArgs, show: Show) -> Result<u8, Stop> {
    let journal = args.journal.display();
    let parts = read(&args.journal, None);
    let parts = parts.map_err(|error| Stop::Usage(format!("cannot read {journal}: {error}")))?;
    let parts = parts.ok_or_else(|| {
        Stop::Refused(format!("{journal} holds no request that was served").into())
    })?;
    let document = document(&parts);
    Ok(exit::fold([
        outputs::with_json(show, &document, &parts, args.json.as_deref()),
        crate::show::page(args.html.as_deref(), &document),
    ]))
}

/// The document of the parts.
pub(crate) fn document(parts: &Parts) -> Document {
    let share = |ms: f64| ms / parts.ttft_ms * 100.0;
    let counted = parts.parts.iter();
    let counted = counted.filter_map(|part| Some((part, part.mean_ms?)));
    let largest = counted.max_by(|one, other| one.1.total_cmp(&other.1));
    let ttft = significant(parts.ttft_ms);
    let mut answer = vec![format!("TTFT at the router {ttft} ms (n {}).", parts.n)];
    answer.extend(largest.map(|(part, ms)| {
        let (code, share) = (part.code, share(ms));
        format!("Most of it: {code}, {} ms ({share:.0}%).", significant(ms))
    }));
    let warning = |count: usize, what: &str| {
        let text = format!("{count} requests {what}");
        (count > 0).then(|| Item::of(Tone::Warning, text))
    };
    let failed = warning(parts.failed, "were not served to their end");
    let stranded = warning(parts.stranded, "left keys and values to a lease");
    let stranded = stranded.map(|item| item.coded("kv-left-to-lease"));
    let others = parts.others.map(|counted| {
        let sent = parts.n + parts.failed;
        let text = format!(
            "An engine counted {counted} requests and the router sent {sent}: others' are left out with its parts"
        );
        Item::of(Tone::Warning, text)
    });
    let mut table = Table::under(["part", "mean ms", "95% interval", "% of TTFT", "n", "by"]);
    for part in &parts.parts {
        let share = part.mean_ms.map(|ms| format!("{:.1}", share(ms)));
        table.row([
            part.code.to_owned(),
            maybe(part.mean_ms),
            within(part.interval_ms),
            share.unwrap_or_else(|| "—".to_owned()),
            part.n.to_string(),
            if part.is_counted { "engine" } else { "router" }.to_owned(),
        ]);
    }
    let note = match parts.is_concurrent {
        true => {
            "Both engines are asked at once: the prefill engine's parts lie within the wait for the decode engine's first token."
        }
        false => "Without an engine's counters its parts are in the part that follows.",
    };
    let blocks = vec![Block::Table(table), Block::Paragraph(note.to_owned())];
    Document {
        title: format!("Time to first token in parts, {}", parts.dialect),
        simulated: parts.simulated.clone(),
        answer,
        findings: [failed, stranded, others].into_iter().flatten().collect(),
        sections: vec![Section::new("Parts", blocks)],
        made_by: format!("tplens serve parts {}", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_requests_are_those_of_a_load_that_had_pauses() {
        let row = |us: u64| {
            let row = Row {
                outcome: "done".to_owned(),
                decode_first_us: Some(us),
                ..Row::default()
            };
            serde_json::to_string(&row).unwrap()
        };
        let queued = |is_end: bool, sum: f64, count: f64| {
            let name = "vllm:request_queue_time_seconds";
            let values = [
                (format!("{name}_sum"), sum),
                (format!("{name}_count"), count),
            ];
            let line = Counters {
                schema: 1,
                engine: "e".to_owned(),
                is_prefill: true,
                is_end,
                simulated: None,
                values: values.into(),
            };
            serde_json::to_string(&line).unwrap()
        };
        // A warm-up of 9 ms, then three of 2 ms with a pause after the first.
        let lines = [
            queued(false, 0.0, 0.0),
            row(9000),
            queued(true, 1.0, 1.0),
            row(2000),
            queued(true, 1.001, 2.0),
            row(2000),
            row(2000),
            queued(true, 1.003, 4.0),
        ];
        let parts = of(&lines.join("\n"), Some(3)).unwrap();
        assert_eq!((parts.n, parts.ttft_ms), (3, 2.0));
        let queue = parts.mean_ms("prefill-queue").unwrap();
        assert!((queue - 1.0).abs() < 1e-6, "{queue}");

        // 36 requests of another client are in the counters.
        let lines = [&lines[..7], &[queued(true, 5.0, 40.0)]].concat();
        let parts = of(&lines.join("\n"), None).unwrap();
        assert_eq!(
            (parts.others, parts.mean_ms("prefill-queue")),
            (Some(40), None)
        );
    }
}
