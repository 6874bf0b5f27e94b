//! What tools of others print of transfers between hosts.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;

use import::transfers::{Transfers, read};

fn fixture(name: &str) -> Transfers {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/transfers");
    read(&folder.join(name)).unwrap()
}

/// Bytes, GB/s and number of each row.
fn rows(read: &Transfers) -> Vec<(f64, f64, u64)> {
    let rounded = |value: f64| (value * 1e3).round() / 1e3;
    let row = |row: &import::transfers::Timed| (row.bytes, rounded(row.gb_per_s()), row.n);
    read.rows.iter().map(row).collect()
}

#[test]
fn perftest_says_megabytes_and_means_mebibytes() {
    let gbits = fixture("ib_write_bw-gbits.txt");
    assert_eq!(
        (gbits.tool, gbits.test.as_deref()),
        ("perftest", Some("RDMA_Write BW"))
    );
    assert_eq!(gbits.device.as_deref(), Some("mlx5_0"));
    // 391.8 Gbit/s are 48.975 GB/s.
    assert_eq!(rows(&gbits)[4], (1_048_576.0, 48.975, 20_000));
    assert_eq!(gbits.rows.len(), 5);
    assert!(!gbits.rows[0].is_alone);
    // 11,708.31 * 1,048,576 = 12.277e9.
    assert_eq!(
        rows(&fixture("ib_read_bw-mb.txt")),
        [(65_536.0, 12.277, 1000)]
    );
}

#[test]
fn a_latency_is_the_typical_time_of_one_message() {
    let latency = fixture("ib_write_lat.txt");
    assert!(latency.rows.iter().all(|row| row.is_alone));
    let times: Vec<f64> = latency.rows.iter().map(|row| row.seconds * 1e6).collect();
    assert!(
        (times[0] - 1.05).abs() < 1e-9 && (times[1] - 2.14).abs() < 1e-9,
        "{times:?}"
    );
}

#[test]
fn of_ucx_the_whole_run_counts_and_says_its_size() {
    // 9,765.62 MiB/s * 1.6 us = 16,384; 40,000 MiB/s * 25 us = 1 MiB.
    let ucx = fixture("ucx_perftest.txt");
    assert_eq!(
        rows(&ucx),
        [(16_384.0, 10.24, 1000), (1_048_576.0, 41.943, 1000)]
    );
}

#[test]
fn perftests_own_file_says_no_unit_and_its_messages_do() {
    // 0.046706 million a second of 1 MiB are 49 GB/s: Gbit/s, and not MiB/s.
    let json = fixture("ib_write_bw.json");
    assert_eq!(rows(&json), [(1_048_576.0, 48.975, 20_000)]);
    assert_eq!(json.test.as_deref(), Some("RDMA Write BW"));
    assert_eq!(json.device.as_deref(), Some("mlx5_0"));
    let latency = &fixture("ib_write_lat.json").rows[0];
    assert!(latency.is_alone && (latency.seconds * 1e6 - 1.05).abs() < 1e-9);
}

#[test]
fn of_ucx_final_numbers_and_csv_are_read_and_intervals_are_not() {
    // 1.21 MiB/s * 12,943.348 us = 16,422; 1.40 MiB/s * 11,165.975 us = 16,392: rates have two digits.
    let last = fixture("ucx_perftest-final.txt");
    assert_eq!(rows(&last), [(16_422.0, 0.001, 1000)]);
    assert!(last.rows[0].is_alone);
    let csv = fixture("ucx_perftest.csv");
    assert_eq!(rows(&csv), [(16_392.0, 0.001, 200)]);
    assert_eq!(csv.tool, "ucx_perftest");
}

#[test]
fn of_mooncake_a_batch_is_worked_out() {
    let mooncake = fixture("transfer_engine_bench.txt");
    // 0.11 GB/s for 4 s in 1693 batches: 259,894 bytes, of 16 times 16 KiB.
    assert_eq!(rows(&mooncake), [(259_894.0, 0.11, 1693)]);
    assert_eq!(mooncake.tool, "transfer_engine_bench");
}
