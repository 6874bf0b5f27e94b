//! The server beside a load as text.

use super::*;
use crate::record::{
    BackendFacts, MonitorDevice, MonitorHeader, MonitorProcess, MonitorValues, NodeUse,
    ServerReading, ServerValues,
};

#[test]
fn what_the_server_does_not_count_has_no_row() {
    let change = ServerChange {
        seconds: 2.0,
        requests: Some(20.0),
        ttft: Some(ServerMean {
            mean_ms: 50.0,
            count: 20.0,
        }),
        running_most: Some(4.0),
        kv_used_most: Some(0.25),
        ..ServerChange::default()
    };
    let server = ServeServer {
        counters: Some(ServerCounters {
            url: "http://127.0.0.1:8000/metrics".to_owned(),
            engine: "vLLM".to_owned(),
            readings: vec![ServerReading::default(); 3],
            missed: 1,
            change: Some(change),
        }),
        cautions: vec!["something else asks it, too".to_owned()],
        ..ServeServer::default()
    };
    let summary = ServeSummary {
        completed: 20,
        ..ServeSummary::default()
    };
    insta::assert_snapshot!(figures(Some(&server), Some(&summary), ""), @r"
    Server's own counters beside ours
                           by the server  here
      Requests that ended             20    20
      Mean TTFT (ms)               50.00     —
      at most 4 running, — waiting, 25% of the KV cache, as seen in 3 readings over 2.00 s of http://127.0.0.1:8000/metrics (vLLM names), 1 without an answer in time
    ");
    assert_eq!(
        cautions(Some(&server)),
        "CAUTION: something else asks it, too\n"
    );
    assert_eq!(ServerValues::default(), ServerReading::default().values);
}

#[test]
fn a_machine_is_averaged_over_the_measured_part() {
    let sample = |at_ms: u64, power_w: f64, mhz: u32| {
        let ns = at_ms * 1_000_000;
        MonitorLine::Sample(Box::new(MonitorSample {
            device: 0,
            asked_ns: ns,
            answered_ns: ns,
            values: MonitorValues {
                power_w: Some(power_w),
                sm_clock_mhz: Some(mhz),
                throttle: Some(vec!["power cap".to_owned()]),
                ..MonitorValues::default()
            },
            missing: BTreeMap::new(),
        }))
    };
    let cpu = |at_ms: u64, cpus: f64| {
        MonitorLine::Cpu(MonitorCpu {
            pid: 77,
            at_ns: at_ms * 1_000_000,
            over_ns: 500_000_000,
            threads: 3,
            by_node: vec![NodeUse { node: 1, cpus }],
            unplaced: 0.0,
        })
    };
    let machine = ServerMachine {
        header: MonitorHeader {
            schema: 1,
            program: "p2p-bw".to_owned(),
            version: "0.1.0".to_owned(),
            started: String::new(),
            started_unix_ns: None,
            boot_id: None,
            hz: 2.0,
            duration_s: None,
            soft_box: None,
            backend: BackendFacts {
                name: "cuda".to_owned(),
                ..BackendFacts::default()
            },
            devices: vec![MonitorDevice {
                label: "GPU0".to_owned(),
                name: "a GPU".to_owned(),
                uuid: None,
                address: None,
                node: None,
                mig: None,
            }],
            processes: vec![MonitorProcess {
                pid: 77,
                command: "server".to_owned(),
            }],
            values: Vec::new(),
            unavailable: Vec::new(),
        },
        // Its clock began a second before the run.
        began_ms: -1000.0,
        lines: vec![
            sample(500, 50.0, 300),
            sample(1500, 200.0, 2500),
            sample(2500, 300.0, 2400),
            sample(9000, 60.0, 300),
            cpu(500, 9.0),
            cpu(1500, 1.0),
            cpu(2000, 2.0),
        ],
        processes: "who listens on port 8000".to_owned(),
    };
    let server = ServeServer {
        machine: Some(machine),
        ..ServeServer::default()
    };
    let summary = ServeSummary {
        duration_s: 2.0,
        ..ServeSummary::default()
    };
    // Within 0 to 2 s are those at 500 and 1500 ms: (200 + 300) / 2 W; CPU (1 x 0.5 s + 2 x 0.5 s) / 1 s.
    insta::assert_snapshot!(figures(Some(&server), Some(&summary), ""), @r"
    The machine during the load, by p2p-bw 0.1.0 (cuda)
            power (W)  SM clock (MHz)  busy (%)  PCIe in (GB/s)  PCIe out (GB/s)  memory (GiB)  held down by  n
      GPU0     250.00    2400 .. 2500         —               —                —             —     power cap  2
      means over the measured part; the clock from least to most
      server's processes: who listens on port 8000
      server (77): 1.50 CPUs on node 1
    ");
}

#[test]
fn why_there_is_nothing_is_a_line() {
    let server = ServeServer {
        no_counters: Some("/metrics answers 404 Not Found".to_owned()),
        no_machine: Some("no p2p-bw".to_owned()),
        ..ServeServer::default()
    };
    assert_eq!(
        figures(Some(&server), None, ""),
        "\nserver's own counters: none, /metrics answers 404 Not Found\n\nthe server's machine: not seen, no p2p-bw\n"
    );
    assert_eq!(figures(None, None, ""), "");
}
