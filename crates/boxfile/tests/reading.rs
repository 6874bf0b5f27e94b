//! Reading, refusing and writing box files. What a simulated driver makes of them is tested in `softbox`.

use boxfile::{BoxFile, Fault, Figure, Link, builtin_names};

/// A box with two devices on two nodes, as small as the format allows.
const SMALL: &str = r#"
schema = 1
name = "small"
title = "two devices"
vendor = "nvidia"
driver = "570.1"
driver_api = 12080
guest = false
cpu_model = "none"
driver_staging_fraction = { value = 0.5, assumed = "test" }

[[node]]
id = 0
cpus = "0-1"
distances = [10, 20]
memory_gib = 1
[[node]]
id = 1
cpus = "2-3"
distances = [20, 10]
memory_gib = 1

[[port]]
address = "0000:20:01.0"
parent = "pci0000:20"
pci_id = "1022:1483"
node = 0
link = { generation = 4, width = 16 }

[[segment]]
id = "root0"
gbps = { value = 30.0, assumed = "test" }
duplex = true

[[device]]
address = "0000:21:00.0"
parent = "0000:20:01.0"
uuid = "GPU-00000000-0000-0000-0000-000000000001"
name = "A"
pci_id = "10de:26b5"
class = "030200"
node = 0
memory_mib = 1024
copy_engines = 2
link = { generation = 4, width = 16 }
h2d_pinned = { value = 26, published = "somebody" }
d2h_pinned = { value = 26.0, assumed = "test" }
h2d_pageable = { value = 8.0, assumed = "test" }
d2h_pageable = { value = 8.0, assumed = "test" }
local = { value = 300.0, assumed = "test" }
copy_latency_us = { value = 2.0, assumed = "test" }
host_segments = ["root0"]

[[device]]
address = "0000:22:00.0"
parent = "pci0000:22"
uuid = "GPU-00000000-0000-0000-0000-000000000002"
name = "A"
pci_id = "10de:26b5"
class = "030200"
node = 1
memory_mib = 1024
copy_engines = 2
h2d_pinned = { value = 26.0, assumed = "test" }
d2h_pinned = { value = 26.0, assumed = "test" }
h2d_pageable = { value = 8.0, assumed = "test" }
d2h_pageable = { value = 8.0, assumed = "test" }
local = { value = 300.0, assumed = "test" }
copy_latency_us = { value = 2.0, assumed = "test" }

[peer_default]
access = true
same_node = { value = 24.0, assumed = "test" }
cross_node = { value = 20.0, assumed = "test" }
latency_us = { value = 3.0, assumed = "test" }
"#;

/// A table of a device's kernels with one figure that cannot be.
const KERNELS: &str = r#"[device.kernels]
h2d = { value = 20.0, assumed = "test" }
d2h = { value = 20.0, assumed = "test" }
local = { value = 200.0, assumed = "test" }
launch_us = { value = 0.0, assumed = "test" }
host_chase_ns = { value = 900.0, assumed = "test" }
local_chase_ns = { value = 300.0, assumed = "test" }
"#;

fn refused(text: &str) -> String {
    BoxFile::from_toml(text, "small.toml")
        .expect_err("the box must be refused")
        .to_string()
}

fn changed(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from} is not in the small box");
    refused(&SMALL.replacen(from, to, 1))
}

fn with(extra: &str) -> String {
    refused(&format!("{SMALL}\n{extra}"))
}

#[test]
fn every_builtin_box_is_valid_and_named_like_its_file() {
    for name in builtin_names() {
        let read = BoxFile::resolve(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.name, name);
        assert!(BoxFile::builtin(name).is_some());
    }
    assert!(BoxFile::builtin("no-such-box").is_none());
}

#[test]
fn a_box_written_and_read_again_is_equal() {
    for name in builtin_names() {
        let mut read = BoxFile::builtin(name).expect("built in");
        read.fault.push(Fault::InitFailure { code: 999 });
        let text = read.to_toml().expect("has a TOML form");
        assert_eq!(
            BoxFile::from_toml(&text, name).expect("reads back"),
            read,
            "{text}"
        );
    }
}

#[test]
fn figures_carry_their_origin() {
    let small = BoxFile::from_toml(SMALL, "small.toml").expect("valid");
    assert_eq!(
        small.device[0].h2d_pinned,
        Figure {
            value: 26.0,
            published: Some("somebody".to_owned()),
            assumed: None,
        }
    );
    let neither = changed(
        r#"{ value = 26, published = "somebody" }"#,
        "{ value = 26 }",
    );
    assert!(neither.contains("exactly one of"), "{neither}");
    // The line of h2d_pinned, counted from the text itself.
    let line = 1 + SMALL
        .lines()
        .position(|line| line.starts_with("h2d_pinned"))
        .expect("there");
    assert!(neither.contains(&format!("line {line}")), "{neither}");
}

#[test]
fn built_in_boxes_are_in_the_order_of_the_alphabet() {
    let names = builtin_names();
    assert!(names.is_sorted() && names.contains(&"l40x4"), "{names:?}");
}

#[test]
fn a_vendor_is_any_word_and_nothing_else() {
    let other = SMALL.replacen("vendor = \"nvidia\"", "vendor = \"acme\"", 1);
    let read = BoxFile::from_toml(&other, "small.toml").expect("valid");
    assert_eq!(read.vendor.as_str(), "acme");
    let wrong = changed("vendor = \"nvidia\"", "vendor = \"Acme 2\"");
    assert!(
        wrong.contains("Acme 2") && wrong.contains("line"),
        "{wrong}"
    );
}

#[test]
fn an_unknown_key_is_refused_with_its_line() {
    let line = 1 + SMALL
        .lines()
        .position(|line| line.starts_with("memory_mib"))
        .expect("there");
    let message = changed("memory_mib = 1024", "memory_gb = 1");
    assert!(
        message.contains("small.toml") && message.contains("memory_gb"),
        "{message}"
    );
    assert!(message.contains(&format!("line {line}")), "{message}");
    let fault = with("[[fault]]\nkind = \"device_lost\"\ndevice = 0\nafter_copies = 1\nwhen = 3");
    assert!(fault.contains("when") && fault.contains("line"), "{fault}");
    let kind = with("[[fault]]\nkind = \"gremlin\"");
    assert!(kind.contains("gremlin"), "{kind}");
}

#[test]
fn errors_name_key_and_value() {
    for (message, parts) in [
        (
            changed("schema = 1", "schema = 2"),
            ["schema = 2", "schema 1"],
        ),
        (
            changed("host_segments = [\"root0\"]", "host_segments = [\"root9\"]"),
            ["device[0].host_segments", "root9"],
        ),
        (
            changed("value = 30.0", "value = 0.0"),
            ["segment[0].gbps", "above 0"],
        ),
        (
            changed("value = 300.0", "value = inf"),
            ["device[0].local", "inf"],
        ),
        (
            changed("value = 300.0", "value = nan"),
            ["device[0].local", "nan"],
        ),
        (
            changed("0000:22:00.0", "0000:21:00.0"),
            ["device[1].address", "unique"],
        ),
        (
            changed("0000:22:00.0", "22:00.0"),
            ["device[1].address", "22:00.0"],
        ),
        (
            changed("parent = \"0000:20:01.0\"", "parent = \"0000:99:01.0\""),
            ["device[0].parent", "0000:99:01.0"],
        ),
        (
            changed("parent = \"pci0000:20\"", "parent = \"0000:20:01.0\""),
            ["port[0].parent", "ring"],
        ),
        (
            changed("generation = 4", "generation = 9"),
            ["port[0].link", "Gen9 x16"],
        ),
        (
            changed("cpus = \"2-3\"", "cpus = \"1-3\""),
            ["node[1].cpus", "one node only"],
        ),
        (changed("node = 0\n", "node = 7\n"), ["port[0].node", "7"]),
        (
            with("[[peer]]\npair = [0, 2]"),
            ["peer[0].pair", "devices 0 to 1"],
        ),
        (
            with("[[peer]]\npair = [0, 1]\n[[peer]]\npair = [1, 0]"),
            ["peer[1].pair", "one [[peer]] table"],
        ),
        (
            with("[[fault]]\nkind = \"nvlink_down\"\ndevice = 0\nlink = 0"),
            ["fault[0]", "no such link"],
        ),
        (
            with("[[fault]]\nkind = \"link_errors\"\naddress = \"0000:ff:00.0\""),
            ["fault[0]", "no such link"],
        ),
        (
            with("[[fault]]\nkind = \"wrong_data\"\ndevice = 0"),
            ["fault[0]", "which"],
        ),
        (
            with("[[fault]]\nkind = \"drop_data\"\npair = [1, 1]"),
            ["fault[0].pair", "two different"],
        ),
        (
            with("[[fault]]\nkind = \"slow_way\"\npair = [0, 1]\npercent = 100"),
            ["fault[0].percent", "1 to 99 percent"],
        ),
        (
            changed(
                "[peer_default]\n",
                "[peer_default]\nchase_ns = { value = 0.0, assumed = \"t\" }\n",
            ),
            ["peer_default.chase_ns", "above 0"],
        ),
        (
            changed(
                "[[device]]\naddress = \"0000:22",
                &format!("{KERNELS}\n[[device]]\naddress = \"0000:22"),
            ),
            ["device[0].kernels.launch_us", "above 0"],
        ),
        (
            changed("copy_engines = 2", "copy_engines = 2\nbar_mib = 0"),
            ["device[0].bar_mib", "1 to 2^30"],
        ),
        (
            changed("guest = false", "guest = false\niommu = \"on\""),
            ["iommu", "identity"],
        ),
    ] {
        for part in parts {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }
}

#[test]
fn an_unknown_name_lists_the_builtin_boxes() {
    let message = BoxFile::resolve("l40x5")
        .expect_err("no such box")
        .to_string();
    assert!(
        message.contains("l40x5") && message.contains("l40x4") && message.contains("h200x8"),
        "{message}"
    );
}

#[test]
fn peer_paths_follow_nodes_and_exceptions() {
    let small = BoxFile::from_toml(SMALL, "small.toml").expect("valid");
    let path = small.peer_path(0, 1);
    // Nodes 0 and 1: cross_node, 20 GB/s.
    assert_eq!(
        (path.access, path.gbps, path.latency_us, path.staged),
        (true, Some(20.0), Some(3.0), false)
    );
    let exception = "[[peer]]\npair = [1, 0]\nstaged = true\ngbps = { value = 9.0, assumed = \"t\" }\nlatency_us = { value = 14.0, assumed = \"t\" }";
    let small = BoxFile::from_toml(&format!("{SMALL}\n{exception}"), "small.toml").expect("valid");
    let path = small.peer_path(0, 1);
    assert_eq!(
        (path.access, path.gbps, path.latency_us, path.staged),
        (true, Some(9.0), Some(14.0), true)
    );
}

#[test]
fn figures_of_kernels_are_read_and_fall_back() {
    let small = BoxFile::from_toml(SMALL, "small.toml").expect("old boxes load");
    assert!(small.device[0].kernels.is_none() && small.device[0].multiprocessors.is_none());
    let path = small.peer_path(0, 1);
    // The pair's 20 GB/s, and no latency of a load.
    assert_eq!(
        (path.kernel_read, path.kernel_write, path.chase_ns),
        (Some(20.0), Some(20.0), None)
    );
    let own = "kernel_read = { value = 2.0, assumed = \"t\" }\nchase_ns = { value = 900.0, assumed = \"t\" }";
    let text = format!(
        "{SMALL}{own}\n[[peer]]\npair = [1, 0]\nkernel_write = {{ value = 7.0, assumed = \"t\" }}"
    );
    let small = BoxFile::from_toml(&text, "small.toml").expect("valid");
    let path = small.peer_path(0, 1);
    assert_eq!(
        (path.kernel_read, path.kernel_write, path.chase_ns),
        (Some(2.0), Some(7.0), Some(900.0))
    );
    let l40 = BoxFile::builtin("l40x4").expect("built in");
    let takes = |name| {
        let read = BoxFile::builtin(name).expect("built in");
        read.device.iter().all(|device| device.kernels.is_some())
    };
    assert!(takes("l40x4") && takes("h200x8") && takes("r9700-x8") && !takes("mxc500x4"));
    let kernels = l40.device[0].kernels.clone().expect("takes kernels");
    assert!(kernels.h2d.value <= l40.device[0].h2d_pinned.value);
}

#[test]
fn mig_instances_have_no_peer_access_by_default() {
    let mig = BoxFile::builtin("rtxpro6000-mig").expect("built in");
    assert!(!mig.peer_path(0, 1).access);
    let mut bare = BoxFile::builtin("rtxpro6000-bare").expect("built in");
    assert!(bare.peer_path(0, 1).access);
    bare.device[0].mig = mig.device[0].mig.clone();
    assert!(!bare.peer_path(0, 1).access);
}

#[test]
fn an_amd_card_shows_its_slot_at_its_own_switch() {
    let x8 = BoxFile::builtin("r9700-x8").expect("built in");
    assert_eq!(
        x8.device[0].link,
        Some(Link {
            generation: 5,
            width: 16
        })
    );
    assert_eq!(
        x8.slot_link(0),
        Some(Link {
            generation: 5,
            width: 8
        })
    );
    assert_eq!(x8.slot_ends(0), ["0000:00:01.1", "0000:01:00.0"]);
    let l40 = BoxFile::builtin("l40x4").expect("built in");
    assert_eq!(l40.slot_ends(1), ["0000:60:01.1", "0000:61:00.0"]);
    assert_eq!(
        BoxFile::builtin("rtxpro6000-mig")
            .expect("built in")
            .slot_link(0),
        None
    );
}

#[test]
fn raw_rates_are_those_of_the_specification() {
    let raw = |generation, width| Link { generation, width }.raw_gbps().expect("exists");
    // Gen4 x16: 16 GT/s x 16 lanes x 128/130 / 8 = 31.508 GB/s; Gen1 x16: 2.5 x 16 x 0.8 / 8 = 4.
    assert!((raw(4, 16) - 31.508).abs() < 0.001);
    assert!((raw(1, 16) - 4.0).abs() < 1e-9);
    assert!(
        Link {
            generation: 7,
            width: 1
        }
        .raw_gbps()
        .is_none()
    );
}

#[test]
fn utf_16_is_named_with_and_without_its_mark() {
    let folder = std::env::temp_dir().join(format!("tplens-utf16-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("box.toml");
    let bytes: Vec<u8> = SMALL.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [&[0xff, 0xfe], bytes.as_slice()].concat();
    let said = [bytes, marked].map(|bytes| {
        std::fs::write(&path, bytes).unwrap();
        BoxFile::read(&path).unwrap_err().to_string()
    });
    std::fs::remove_dir_all(&folder).unwrap();
    for words in said {
        assert!(
            words.contains("UTF-16") && words.ends_with("save it as UTF-8"),
            "{words}"
        );
    }
}
