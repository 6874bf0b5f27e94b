//! The tables of collectives: what stands between their points, what is refused, and what the built-in boxes say.

use boxfile::{BoxFile, CollectiveKind, CollectiveLibrary, Origin};

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
    assert_eq!(table.origin, Origin::Assumed("test".to_owned()));
    let launch = table.launch_us.as_ref().expect("there");
    assert_eq!(launch.origin, Origin::Published("somebody".to_owned()));
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
            ["collective[0].ranks = 3", "has 2 devices"],
        ),
        (
            refused("[[1024, 10], [65536, 40.0], [131072, 50.0]]", "[]"),
            ["collective[0].points", "at least one"],
        ),
        (
            refused("65536", "1024"),
            ["collective[0].points[1] = 1024", "ascend"],
        ),
        (refused("1024", "0"), ["collective[0].points[0]", "ascend"]),
        (
            refused("40.0", "-1.0"),
            ["collective[0].points[1] = -1", "above 0"],
        ),
        (
            refused("40.0", "inf"),
            ["collective[0].points[1] = inf", "finite"],
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
        (refused("\"nccl\"", "\"rccl\""), ["rccl", "line"]),
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
            ["fault[0].rank = 2", "ranks 0 to 1"],
        ),
        (
            with("[[fault]]\nkind = \"collective_init_failure\"\nrank = 0\ncode = 7")
                .expect_err("no failure"),
            ["fault[0].code = 7", "1 to 6"],
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
}
