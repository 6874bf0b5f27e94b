//! `tplens monitor` on simulated machines: what its lines say, and that nothing that hangs, dies or goes away stalls it.

use std::process::{Command, Stdio};

use boxfile::{BoxFile, Fault, Sensors, sysfs};
use record::MonitorLine;
use rustix::process::Signal;
use topology::PcieLink;

use super::common::{Scratch, gen4, two_gpus};
use super::monitored::{Monitored, sample, signal};

/// Two GPUs, the first with a value for everything that there is.
fn told() -> BoxFile {
    let mut described = two_gpus();
    described.device[0].sensors = Some(Sensors {
        power_w: Some(251.5),
        temperature_c: Some(71),
        slowdown_c: Some(92),
        shutdown_c: Some(95),
        most_operating_c: Some(88),
        // Not asked for where the threshold is reported.
        margin_c: Some(19),
        performance_state: Some(0),
        utilization_percent: Some(98),
        memory_utilization_percent: Some(40),
        sm_clock_mhz: Some(2490),
        memory_clock_mhz: Some(9001),
        pcie_rx_kb_per_s: Some(1_234_567),
        pcie_tx_kb_per_s: Some(7_654),
        pcie_replays: Some(3),
        // 4, software power cap, and 64, hardware thermal slowdown (nvml.h).
        throttle_bits: Some(68),
        ..Sensors::default()
    });
    described.fault = vec![Fault::RowRemaps {
        device: 0,
        corrected: 0,
        uncorrected: 2,
        pending: true,
        failed: false,
        after_readings: 0,
    }];
    described.device[1].sensors = None;
    described
}

#[test]
fn every_value_is_the_boxs_and_what_it_does_not_tell_has_a_reason() {
    let scratch = Scratch::new();
    let described = scratch.write_box(&told());
    let mut run = Monitored::start(
        &scratch,
        &["--sim", &described, "--duration", "0.05", "--hz", "20"],
    );
    let header = run.header();
    assert_eq!(
        (header.schema, header.hz, header.duration_s),
        (1, 20.0, Some(0.05))
    );
    assert_eq!(header.soft_box.as_deref(), Some("two-l40"));
    let addresses: Vec<String> = header
        .devices
        .iter()
        .map(|device| format!("{} {}", device.label, device.address.unwrap()))
        .collect();
    assert_eq!(addresses, ["GPU0 0000:21:00.0", "GPU1 0000:61:00.0"]);
    // The second device has no sensors: 7 values of the library, its two counters, its two of memory errors and its repairs, four of
    // temperature and their sensor. Of the first's only the pages: a card has remapped rows or retired pages.
    let gaps: Vec<(usize, &str)> = header
        .unavailable
        .iter()
        .map(|gap| (gap.device, gap.key.as_deref().unwrap()))
        .collect();
    let keys = [
        "ecc_corrected",
        "ecc_uncorrected",
        "memory_clock_mhz",
        "most_operating_c",
        "pcie_replays",
        "pcie_rx_kb_per_s",
        "pcie_tx_kb_per_s",
        "power_w",
        "retired_pages",
        "row_remaps",
        "shutdown_c",
        "slowdown_c",
        "sm_clock_mhz",
        "temperature_c",
        "temperature_margin_c",
        "temperature_sensor",
        "throttle",
        "utilisation_percent",
    ];
    let of_second = keys.map(|key| (1, key));
    let expected = [(0, "retired_pages")].into_iter().chain(of_second);
    assert_eq!(gaps, expected.collect::<Vec<_>>());
    let reason = header.unavailable[0].reason.to_lowercase();
    assert!(reason.contains("not available"), "{reason}");

    let values = run
        .until(|line| sample(line).filter(|sample| sample.device == 0))
        .values;
    let link = PcieLink::new(4, 16).ok();
    assert_eq!((values.slot_link, values.device_link), (link, link));
    assert_eq!(
        (
            values.pcie_rx_kb_per_s,
            values.pcie_tx_kb_per_s,
            values.pcie_replays
        ),
        (Some(1_234_567), Some(7_654), Some(3))
    );
    assert_eq!(
        (values.sm_clock_mhz, values.memory_clock_mhz),
        (Some(2490), Some(9001))
    );
    assert_eq!(
        (values.power_w, values.temperature_c),
        (Some(251.5), Some(71))
    );
    assert_eq!(values.temperature_sensor.as_deref(), Some("GPU"));
    // 92 - 71.
    assert_eq!(values.temperature_margin_c, Some(21));
    assert_eq!(
        [
            values.slowdown_c,
            values.shutdown_c,
            values.most_operating_c
        ],
        [Some(92), Some(95), Some(88)]
    );
    let rows = values.row_remaps.unwrap();
    assert_eq!((rows.corrected, rows.uncorrected), (0, 2));
    assert!(rows.pending && !rows.failed);
    assert_eq!(values.utilisation_percent, Some(98));
    assert_eq!(values.memory_used_bytes, Some(0));
    assert_eq!(
        values.throttle.unwrap(),
        ["software power cap", "hardware thermal slowdown"]
    );
    let (last, code, said) = run.end();
    let MonitorLine::End(end) = last else {
        panic!("the last line is {last:?}");
    };
    assert_eq!(
        (end.reason.as_str(), code, said.as_str()),
        ("duration", 0, "")
    );
    scratch.nobody_is_left();
}

#[test]
fn a_link_that_trains_down_is_seen_while_it_runs() {
    let scratch = Scratch::new();
    let described = told();
    let file = scratch.write_box(&described);
    let mut run = Monitored::start(&scratch, &["--sim", &file, "--gpus", "0", "--hz", "50"]);
    run.header();
    let width = |line| sample(line)?.values.slot_link.map(|link| link.width());
    assert_eq!(run.until(width), 16);
    sysfs::set_slot_link(&described, &run.tree(), 0, gen4(8)).unwrap();
    let eight = run.until(|line| {
        sample(line).filter(|sample| {
            sample
                .values
                .slot_link
                .is_some_and(|link| link.width() == 8)
        })
    });
    assert_eq!(eight.values.slot_link, PcieLink::new(4, 8).ok());
    signal(run.pid(), Signal::INT);
    let (last, code, _) = run.end();
    let MonitorLine::End(end) = last else {
        panic!("the last line is {last:?}");
    };
    assert_eq!((end.reason.as_str(), code), ("SIGINT", 130));
    scratch.nobody_is_left();
}

#[test]
fn a_reader_that_hangs_is_told_late_and_stalls_nothing() {
    let scratch = Scratch::new();
    let file = scratch.write_box(&told());
    let own = std::process::id().to_string();
    let arguments = ["--sim", &file, "--gpus", "0", "--hz", "20", "--pids", &own];
    let mut run = Monitored::start(&scratch, &arguments);
    run.header();
    run.until(sample);
    let sampler = run.sampler();
    signal(sampler, Signal::STOP);
    let late = |line| match line {
        MonitorLine::Late(late) => Some(late),
        _ => None,
    };
    // A busy machine may have made an earlier reading late for a moment.
    let first = run.until(|line| late(line).filter(|late| late.waited_ns > 300_000_000));
    assert!(
        first.what.contains("nvml has no answer after"),
        "{}",
        first.what
    );
    // Time goes on meanwhile: the process's CPU use is reported, and the wait grows.
    run.until(|line| matches!(line, MonitorLine::Cpu(_)).then_some(()));
    let second = run.until(late);
    assert!(second.at_ns > first.at_ns && second.waited_ns > first.waited_ns);
    signal(sampler, Signal::CONT);
    let after = run.until(sample);
    // The reading that was waited for, answered after the last line about it.
    assert!(after.asked_ns <= second.at_ns - second.waited_ns);
    assert!(after.answered_ns > second.at_ns);
    signal(run.pid(), Signal::TERM);
    let (_, code, said) = run.end();
    assert_eq!((code, said.as_str()), (143, ""));
    scratch.nobody_is_left();
}

#[test]
fn a_reader_that_dies_ends_the_lines_and_is_told() {
    let scratch = Scratch::new();
    let file = scratch.write_box(&told());
    let mut run = Monitored::start(&scratch, &["--sim", &file, "--hz", "20"]);
    run.header();
    run.until(sample);
    signal(run.sampler(), Signal::KILL);
    let (last, code, _) = run.end();
    let MonitorLine::End(end) = last else {
        panic!("the last line is {last:?}");
    };
    assert!(
        end.reason.contains("the process that reads devices ended"),
        "{}",
        end.reason
    );
    assert_eq!(code, 3);
}

#[test]
fn a_process_that_ends_is_gone_and_the_rest_goes_on() {
    let scratch = Scratch::new();
    let file = scratch.write_box(&told());
    let mut other = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = other.id().to_string();
    let mut run = Monitored::start(&scratch, &["--sim", &file, "--hz", "20", "--pids", &pid]);
    let header = run.header();
    assert_eq!(header.processes[0].command, "cat");
    let used = run.until(|line| match line {
        MonitorLine::Cpu(used) => Some(used),
        _ => None,
    });
    assert_eq!((used.pid, used.threads), (other.id(), 1));
    drop(other.stdin.take());
    other.wait().unwrap();
    let gone = run.until(|line| match line {
        MonitorLine::Gone { pid, .. } => Some(pid),
        _ => None,
    });
    assert_eq!(gone, used.pid);
    run.until(sample);
    signal(run.pid(), Signal::INT);
    assert_eq!(run.end().1, 130);
}
