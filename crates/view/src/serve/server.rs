//! The server's side of a run: its own counters beside ours, its machine, and what the load generator took.

use std::collections::BTreeSet;

use record::{
    Distribution, MonitorLine, MonitorSample, Serve, ServeClient, ServeSummary, ServerChange,
    ServerCounters, ServerMachine, ServerMean, Stamps,
};

use crate::cell::{maybe, ms, or_absent, significant};
use crate::document::{Block, Section, Table};

/// Its sections; none where nothing was read.
pub(super) fn sections(serve: &Serve, summary: Option<&ServeSummary>) -> Vec<Section> {
    let mut sections = Vec::new();
    if let Some(server) = &serve.server {
        let mut blocks = Vec::new();
        if let Some(read) = &server.counters {
            blocks.extend(counters(read, summary));
        }
        if let Some(why) = &server.no_counters {
            blocks.push(Block::Paragraph(format!("counters not read: {why}")));
        }
        sections.push(Section::detail("The server's own counters", blocks));
        let blocks = match (&server.machine, &server.no_machine) {
            (Some(seen), _) => machine(seen, summary),
            (None, Some(why)) => vec![Block::Paragraph(format!("not seen: {why}"))],
            (None, None) => Vec::new(),
        };
        sections.push(Section::detail("The server's machine", blocks));
    }
    let client = serve.client.iter();
    sections.extend(client.map(|it| Section::detail("The load generator", client_blocks(it))));
    sections.retain(|section| !section.blocks.is_empty());
    sections
}

fn counters(counters: &ServerCounters, summary: Option<&ServeSummary>) -> Vec<Block> {
    let readings = format!(
        "{} readings of {} ({} names), {} without an answer",
        counters.readings.len(),
        counters.url,
        counters.engine,
        counters.missed
    );
    let mut blocks = vec![Block::Paragraph(readings)];
    let change = counters.change.as_ref();
    blocks.extend(change.map(|change| Block::Table(beside(change, summary))));
    blocks
}

/// The server's numbers and ours.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of tokens are far below 2^53"
)]
fn beside(change: &ServerChange, summary: Option<&ServeSummary>) -> Table {
    let mean = |mean: Option<ServerMean>| mean.map(|mean| mean.mean_ms);
    let kv_percent = change.kv_used_most.map(|part| part * 100.0);
    let count = |of: fn(&ServeSummary) -> Option<u64>| summary.and_then(of).map(|it| it as f64);
    let of_mean = |of: fn(&ServeSummary) -> &Option<Distribution>| {
        let of = summary.and_then(|summary| of(summary).as_ref());
        of.map(|of| of.mean)
    };
    let completed = count(|of| Some(of.completed.into()));
    let gap = summary.and_then(ServeSummary::token_gap_ms);
    let rows = [
        ("requests", change.requests, completed),
        (
            "prompt tokens",
            change.prompt_tokens,
            count(|of| of.input_tokens),
        ),
        ("prompt tokens from a cache", change.cached_tokens, None),
        (
            "generated tokens",
            change.generated_tokens,
            count(|of| of.output_tokens),
        ),
        (
            "mean TTFT (ms)",
            mean(change.ttft),
            of_mean(|of| &of.ttft_ms),
        ),
        ("mean queue time (ms)", mean(change.queue), None),
        ("mean ITL (ms)", mean(change.itl), gap),
        (
            "mean TPOT (ms)",
            mean(change.tpot),
            of_mean(|of| &of.tpot_ms),
        ),
        (
            "mean time generating a token (ms)",
            mean(change.generation),
            None,
        ),
        (
            "mean E2EL (ms)",
            mean(change.e2el),
            of_mean(|of| &of.e2el_ms),
        ),
        ("preemptions", change.preemptions, None),
        ("most running", change.running_most, None),
        ("most waiting", change.waiting_most, None),
        ("most KV cache in use (%)", kv_percent, None),
    ];
    let mut table = Table::under(["", "by the server", "here"]);
    for (name, theirs, ours) in rows {
        if let Some(theirs) = theirs {
            table.row([name.to_owned(), significant(theirs), maybe(ours)]);
        }
    }
    table
}

fn machine(machine: &ServerMachine, summary: Option<&ServeSummary>) -> Vec<Block> {
    let end_ms = summary.map_or(f64::INFINITY, |summary| summary.duration_s * 1e3);
    let samples = || {
        machine.lines.iter().filter_map(|line| match line {
            MonitorLine::Sample(sample) => Some(&**sample),
            _ => None,
        })
    };
    let within =
        |sample: &&MonitorSample| (0.0..=end_ms).contains(&machine.at_ms(sample.answered_ns));
    let mut table = Table::under([
        "",
        "power (W)",
        "SM clock (MHz)",
        "busy (%)",
        "PCIe in (GB/s)",
        "PCIe out (GB/s)",
        "throttled by",
        "n",
    ]);
    for (index, device) in machine.header.devices.iter().enumerate() {
        let own: Vec<&MonitorSample> = samples()
            .filter(within)
            .filter(|s| s.device == index)
            .collect();
        let mean = |of: fn(&MonitorSample) -> Option<f64>| {
            let values: Vec<f64> = own.iter().filter_map(|sample| of(sample)).collect();
            #[expect(clippy::cast_precision_loss, reason = "readings of a run")]
            let n = values.len() as f64;
            maybe((!values.is_empty()).then(|| values.iter().sum::<f64>() / n))
        };
        let causes: BTreeSet<&str> = own
            .iter()
            .filter_map(|sample| sample.values.throttle.as_ref())
            .flatten()
            .map(String::as_str)
            .collect();
        table.row([
            device.label.clone(),
            mean(|s| s.values.power_w),
            mean(|s| s.values.sm_clock_mhz.map(f64::from)),
            mean(|s| s.values.utilisation_percent.map(f64::from)),
            mean(|s| s.values.pcie_rx_kb_per_s.map(|rate| f64::from(rate) / 1e6)),
            mean(|s| s.values.pcie_tx_kb_per_s.map(|rate| f64::from(rate) / 1e6)),
            causes.into_iter().collect::<Vec<_>>().join(", "),
            own.len().to_string(),
        ]);
    }
    let processes = format!("server's processes: {}", machine.processes);
    let mut blocks = vec![Block::Table(table), Block::Paragraph(processes)];
    if let Some(name) = &machine.header.soft_box {
        blocks.push(Block::Paragraph(format!("SIMULATED on {name}")));
    }
    blocks
}

fn client_blocks(client: &ServeClient) -> Vec<Block> {
    let percent = |part: Option<f64>| or_absent(part.map(|part| format!("{:.0}%", part * 100.0)));
    let lag = |of: &Option<Distribution>| {
        let lag = of.as_ref();
        or_absent(lag.map(|of| format!("mean {}, most {} (n={})", ms(of.mean), ms(of.max), of.n)))
    };
    let stamped = percent(client.kernel_stamped);
    let stamps = match client.stamps {
        Stamps::AtReceipt => format!("by the kernel, {stamped} of the reads"),
        Stamps::AtRead => "when the program read the socket".to_owned(),
    };
    let mut table = Table::under(["", ""]);
    for (name, value) in [
        ("on a CPU", percent(client.busy)),
        ("waiting for a CPU", percent(client.starved)),
        ("send lag", lag(&client.send_lag_ms)),
        ("read lag", lag(&client.read_lag_ms)),
        ("instants of replies", stamps),
        ("connections made anew", client.reconnects.to_string()),
    ] {
        table.row([name.to_owned(), value]);
    }
    vec![Block::Table(table)]
}
