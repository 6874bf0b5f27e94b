//! The tables of collectives: what stands between their points, what is refused, and what the built-in boxes say.

use boxfile::{BoxFile, CollectiveKind, CollectiveLibrary, Fault, Limits, Protocol, Transport};

const TABLE: &str = r#"
[[collective]]
library = "nccl"
kind = "all_reduce"
ranks = 2
points = [[1024, 10], [65536, 40.0], [131072, 50.0]]
assumed = "test"
launch_us = { value = 20.0, published = "somebody" }
"#;

/// The box with two devices, and these tables instead of its own.
fn with(tables: &str) -> Result<BoxFile, String> {
    let mut described = BoxFile::builtin("rtxpro6000-mig").expect("built in");
    described.collective.clear();
    let text = described.to_toml().expect("has a TOML form");
    BoxFile::from_toml(&format!("{text}\n{tables}"), "test").map_err(|error| error.to_string())
}

fn refused(from: &str, to: &str) -> String {
    assert!(TABLE.contains(from), "{from} is not in the table");
    with(&TABLE.replacen(from, to, 1)).expect_err("the box must be refused")
}

#[test]
fn times_between_points_are_linear_in_logarithms() {
    let described = with(TABLE).expect("valid");
    let us = |bytes| {
        let (library, kind) = (CollectiveLibrary::Nccl, CollectiveKind::AllReduce);
        described.collective_us(library, kind, 2, bytes)
    };
    let near = |bytes, expected: f64| {
        let found = us(bytes).expect("there");
        assert!((found - expected).abs() < 1e-9, "{bytes}: {found}");
    };
    // Below the first point its time; at points theirs.
    for (bytes, us) in [(1, 10.0), (1024, 10.0), (65536, 40.0), (131072, 50.0)] {
        near(bytes, us);
    }
    // 1 KiB to 64 KiB are 6 doublings for a factor of 4: 8 KiB is 3 of them, a factor of 2; 2 KiB is 1, a factor of 4^(1/6).
    near(8192, 20.0);
    near(2048, 10.0 * 2.0_f64.powf(2.0 / 6.0));
    // Above the last its bandwidth: 10 times the bytes, 10 times the time.
    near(1_310_720, 500.0);
    assert_eq!(us(0), None);
    let other = |library, kind, ranks| described.collective_us(library, kind, ranks, 1024);
    assert_eq!(
        other(CollectiveLibrary::Nccl, CollectiveKind::AllGather, 2),
        None
    );
    assert_eq!(
        other(CollectiveLibrary::Custom, CollectiveKind::AllReduce, 2),
        None
    );
    assert_eq!(
        other(CollectiveLibrary::Nccl, CollectiveKind::AllReduce, 3),
        None
    );
}

#[test]
fn a_table_carries_its_origin_and_comes_back() {
    let described = with(TABLE).expect("valid");
    let table = &described.collective[0];
    assert_eq!(table.assumed.as_deref(), Some("test"));
    let launch = table.launch_us.as_ref().expect("there");
    assert_eq!(launch.published.as_deref(), Some("somebody"));
    let text = described.to_toml().expect("has a TOML form");
    assert_eq!(BoxFile::from_toml(&text, "test").expect("reads"), described);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_key() {
    for (message, parts) in [
        (
            refused("ranks = 2", "ranks = 1"),
            ["collective[0].ranks = 1", "2 ranks or more"],
        ),
        (
            refused("ranks = 2", "ranks = 3"),
            ["collective[0].ranks = 3", "a device for each"],
        ),
        (
            refused("[[1024, 10], [65536, 40.0], [131072, 50.0]]", "[]"),
            ["collective[0].points", "a curve has points"],
        ),
        (refused("65536", "1024"), ["collective[0].points", "ascend"]),
        (refused("1024", "0"), ["collective[0].points", "ascend"]),
        (
            refused("40.0", "-1.0"),
            ["collective[0].points", "0 or more"],
        ),
        (
            refused("value = 20.0", "value = 0.0"),
            ["collective[0].launch_us", "above 0"],
        ),
        (
            refused("assumed = \"test\"", ""),
            ["exactly one of", "collective"],
        ),
        (
            refused("assumed = \"test\"", "assumed = \"a\"\npublished = \"b\""),
            ["exactly one of", "collective"],
        ),
        (refused("\"nccl\"", "\"xccl\""), ["xccl", "line"]),
        (
            refused("ranks = 2", "ranks = 2\nprotocol = \"ll\""),
            ["unknown variant `ll`", "line"],
        ),
        (
            refused("ranks = 2", "ranks = 2\ntransport = \"net\""),
            ["unknown variant `net`", "line"],
        ),
        (
            refused("launch_us", "start_us"),
            ["unknown field", "start_us"],
        ),
        (
            with(&TABLE.repeat(2)).expect_err("twice"),
            ["collective[1]", "has one [[collective]] table"],
        ),
        (
            with("[[fault]]\nkind = \"collective_hang\"\nrank = 2\nafter_calls = 0")
                .expect_err("no such rank"),
            ["fault[0].rank = 2", "no device for this rank"],
        ),
    ] {
        for part in parts {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }
}

/// From ai-dynamo/aiconfigurator, systems/data/rtx_pro_6000_server, as its table rounds to a tenth.
#[test]
fn the_built_in_curves_say_what_was_published() {
    let us = |name, library, kind, bytes| {
        let described = BoxFile::builtin(name).expect("built in");
        described.collective_us(library, kind, 2, bytes)
    };
    let (nccl, custom) = (CollectiveLibrary::Nccl, CollectiveLibrary::Custom);
    let (reduce, gather) = (CollectiveKind::AllReduce, CollectiveKind::AllGather);
    assert_eq!(us("rtxpro6000-bare", nccl, reduce, 262_144), Some(18.5));
    assert_eq!(us("rtxpro6000-bare", custom, reduce, 262_144), Some(11.1));
    // nccl-tests gives 14.63 us for a whole of 256 KiB of 2 ranks: 128 KiB each.
    assert_eq!(us("rtxpro6000-bare", nccl, gather, 131_072), Some(14.6));
    // 39.317 us x 1.6 = 62.9; without peer access there is no kernel over peer memory.
    assert_eq!(us("rtxpro6000-mig", nccl, reduce, 262_144), Some(62.9));
    assert_eq!(us("rtxpro6000-mig", custom, reduce, 262_144), None);
    assert_eq!(us("r9700-x16", nccl, reduce, 262_144), None);
    // 22.16 us for the sum of 512 KiB, of which each of 2 ranks gets 256 KiB.
    let scatter = CollectiveKind::ReduceScatter;
    assert_eq!(us("rtxpro6000-bare", nccl, scatter, 262_144), Some(22.2));
    // 8 B cost what the smallest published size does: 6.34 us for 512 B.
    assert_eq!(us("rtxpro6000-bare", nccl, reduce, 8), Some(6.3));
}

/// Tables of one operation that differ in protocol and transport, each of one point: the same time up to 1000 bytes, above
/// that in proportion.
const CHOICES: &str = r#"
[[collective]]
library = "rccl"
kind = "all_reduce"
ranks = 2
protocol = "LL"
transport = "p2p"
points = [[1000, 10.0], [10000, 100.0]]
assumed = "test"

[[collective]]
library = "rccl"
kind = "all_reduce"
ranks = 2
protocol = "Simple"
transport = "p2p"
points = [[1000, 30.0], [10000, 40.0]]
assumed = "test"

[[collective]]
library = "rccl"
kind = "all_reduce"
ranks = 2
transport = "shm"
points = [[1000, 5.0], [10000, 90.0]]
assumed = "test"

[[collective]]
library = "mccl"
kind = "all_gather"
ranks = 2
transport = "shm"
points = [[1000, 0], [2000, 0.0], [4000, 8.0]]
assumed = "test"

[[collective]]
library = "mccl"
kind = "reduce_scatter"
ranks = 2
protocol = "LL128"
points = [[1000, 7.0]]
assumed = "test"
"#;

#[test]
fn a_library_takes_the_fastest_table_within_its_limits() {
    let described = with(CHOICES).expect("valid");
    let (rccl, ring) = (CollectiveLibrary::Rccl, CollectiveKind::AllReduce);
    let take = |bytes, transport, protocols: &[Protocol]| {
        let limits = Limits {
            transport,
            protocols: protocols.to_vec(),
        };
        let taken = described.collective_of(rccl, ring, 2, bytes, &limits);
        taken.map(|(table, us)| (table.protocol, table.transport, us))
    };
    let (ll, ll128, simple) = (Protocol::Ll, Protocol::Ll128, Protocol::Simple);
    let (p2p, shm) = (Some(Transport::P2p), Some(Transport::Shm));
    // Small by LL (10 against 30), large by Simple (40 against 100); host memory would be faster for the small one.
    assert_eq!(take(1000, None, &[]), Some((Some(ll), p2p, 10.0)));
    assert_eq!(take(10_000, None, &[]), Some((Some(simple), p2p, 40.0)));
    assert_eq!(take(1000, p2p, &[]), Some((Some(ll), p2p, 10.0)));
    assert_eq!(take(1000, p2p, &[simple]), Some((Some(simple), p2p, 30.0)));
    assert_eq!(take(1000, None, &[ll128, ll]), Some((Some(ll), p2p, 10.0)));
    assert_eq!(take(1000, p2p, &[ll128]), None);
    // A table without a protocol fits any.
    assert_eq!(take(1000, shm, &[ll128]), Some((None, shm, 5.0)));
    assert_eq!(take(10_000, shm, &[]), Some((None, shm, 90.0)));
}

#[test]
fn host_memory_counts_where_there_is_nothing_else_and_no_transport_fits_both() {
    let described = with(CHOICES).expect("valid");
    let take = |kind, transport| {
        let limits = Limits {
            transport,
            ..Limits::default()
        };
        let taken = described.collective_of(CollectiveLibrary::Mccl, kind, 2, 1000, &limits);
        taken.map(|(_, us)| us)
    };
    let (cast, scatter) = (CollectiveKind::AllGather, CollectiveKind::ReduceScatter);
    assert_eq!(take(cast, None), Some(0.0));
    assert_eq!(take(cast, Some(Transport::P2p)), None);
    assert_eq!(take(scatter, Some(Transport::P2p)), Some(7.0));
    assert_eq!(take(scatter, Some(Transport::Shm)), Some(7.0));
    assert_eq!(take(CollectiveKind::AllReduce, None), None);
}

#[test]
fn a_time_may_be_zero_and_rises_from_there_with_the_logarithm_of_the_bytes() {
    let described = with(CHOICES).expect("valid");
    let us = |bytes| {
        let (mccl, cast) = (CollectiveLibrary::Mccl, CollectiveKind::AllGather);
        described.collective_us(mccl, cast, 2, bytes)
    };
    assert_eq!((us(1), us(1500)), (Some(0.0), Some(0.0)));
    // From 2000 to 4000 bytes is one doubling: 2000 x sqrt(2) = 2828 is half of it.
    let half = us(2828).expect("there");
    assert!((half - 4.0).abs() < 0.01, "{half}");
}

#[test]
fn tables_and_faults_of_a_protocol_come_back() {
    let fault = r#"
[[fault]]
kind = "collective_hang"
rank = 1
after_calls = 0
protocol = "LL"
"#;
    let described = with(&format!("{CHOICES}{fault}")).expect("valid");
    assert_eq!(
        described.fault,
        [Fault::CollectiveHang {
            rank: 1,
            after_calls: 0,
            protocol: Some(Protocol::Ll)
        }]
    );
    let text = described.to_toml().expect("has a TOML form");
    assert_eq!(BoxFile::from_toml(&text, "test").expect("reads"), described);
    // The same table twice is refused; one that differs in protocol alone is not, as above.
    let twice = with(&CHOICES.replace("\"LL\"", "\"Simple\"")).expect_err("twice");
    assert!(twice.contains("collective[1]"), "{twice}");
}

#[test]
fn every_built_in_box_has_all_operations_of_its_vendors_library() {
    for (name, library, groups) in [
        ("h200x8", CollectiveLibrary::Nccl, &[2, 4, 8][..]),
        ("l40x4", CollectiveLibrary::Nccl, &[2, 4]),
        ("mxc500x4", CollectiveLibrary::Mccl, &[2, 4]),
        ("r9700-x16", CollectiveLibrary::Rccl, &[2]),
        ("r9700-x8", CollectiveLibrary::Rccl, &[2]),
        ("rtxpro6000-bare", CollectiveLibrary::Nccl, &[2]),
        ("rtxpro6000-mig", CollectiveLibrary::Nccl, &[2]),
    ] {
        let described = BoxFile::builtin(name).expect("built in");
        assert_eq!(described.collective_library(), Some(library), "{name}");
        for ranks in groups {
            for kind in [
                CollectiveKind::AllReduce,
                CollectiveKind::AllGather,
                CollectiveKind::ReduceScatter,
            ] {
                let us = described.collective_us(library, kind, *ranks, 8);
                assert!(us.is_some(), "{name} {kind:?} {ranks}");
            }
        }
    }
    // The name of every box stands above.
    assert_eq!(boxfile::builtin_names().len(), 7);
    let custom = r#"
[[collective]]
library = "custom"
kind = "all_reduce"
ranks = 2
points = [[1, 1]]
assumed = "test"
"#;
    assert_eq!(with(custom).expect("valid").collective_library(), None);
}

#[test]
fn without_peer_access_the_boxes_that_can_lose_it_are_slower() {
    let reduce = |name, ranks, bytes, transport| {
        let described = BoxFile::builtin(name).expect("built in");
        let limits = Limits {
            transport,
            ..Limits::default()
        };
        let (nccl, reduce) = (CollectiveLibrary::Nccl, CollectiveKind::AllReduce);
        let taken = described.collective_of(nccl, reduce, ranks, bytes, &limits);
        taken.map(|(_, us)| us).expect("there")
    };
    let shm = Some(Transport::Shm);
    for (name, ranks) in [("l40x4", 2), ("l40x4", 4), ("rtxpro6000-bare", 2)] {
        // 1.1 times at 64 KiB and 1.35 times at 4 MiB, but for rounding to a tenth.
        for (bytes, factor) in [(65536, 1.1), (4 << 20, 1.35)] {
            let ratio = reduce(name, ranks, bytes, shm) / reduce(name, ranks, bytes, None);
            assert!(
                (ratio / factor - 1.0).abs() < 0.01,
                "{name} {ranks}: {ratio}"
            );
        }
    }
    // A MIG pair has nothing but host memory.
    assert_eq!(reduce("rtxpro6000-mig", 2, 262_144, shm), 62.9);
    assert_eq!(reduce("rtxpro6000-mig", 2, 262_144, None), 62.9);
}

/// RCCL of ROCm 7.2 takes LL up to about 890 KB; the box is made to do so.
#[test]
fn the_r9700_box_changes_its_protocol_where_rccl_does() {
    let described = BoxFile::builtin("r9700-x16").expect("built in");
    let taken = |bytes| {
        let (rccl, reduce) = (CollectiveLibrary::Rccl, CollectiveKind::AllReduce);
        let taken = described.collective_of(rccl, reduce, 2, bytes, &Limits::default());
        taken.and_then(|(table, _)| table.protocol)
    };
    assert_eq!(taken(800_000), Some(Protocol::Ll));
    assert_eq!(taken(1_000_000), Some(Protocol::Simple));
}
