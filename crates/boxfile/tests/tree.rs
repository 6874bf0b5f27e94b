//! The generated sysfs tree: what files hold and where links lead. Reading it as a machine is tested in `topology`.

use boxfile::{BoxFile, Busy, Fault, Iommu, Link, Sensors, builtin_names, sysfs};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of this test's own, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        // Two tests may want one box at once.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("boxfile-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("temporary folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
        .trim_end()
        .to_owned()
}

fn tree(name: &str) -> (BoxFile, Folder) {
    let described = BoxFile::builtin(name).expect("built in");
    let folder = Folder::new(name);
    sysfs::write_tree(&described, &folder.0).expect("written");
    (described, folder)
}

#[test]
fn the_l40_tree_has_bridges_nodes_and_links() {
    let (described, folder) = tree("l40x4");
    let root = &folder.0;
    let gpu = "sys/bus/pci/devices/0000:61:00.0";
    let real = fs::canonicalize(root.join(gpu)).expect("the link leads somewhere");
    let wanted = fs::canonicalize(root)
        .expect("root")
        .join("sys/devices/pci0000:60/0000:60:01.1/0000:61:00.0");
    assert_eq!(real, wanted);
    assert_eq!(text(root, &format!("{gpu}/vendor")), "0x10de");
    assert_eq!(text(root, &format!("{gpu}/class")), "0x030200");
    assert_eq!(text(root, &format!("{gpu}/numa_node")), "0");
    assert_eq!(text(root, &format!("{gpu}/local_cpulist")), "0-127,256-383");
    assert_eq!(
        text(root, &format!("{gpu}/max_link_speed")),
        "16.0 GT/s PCIe"
    );
    assert_eq!(
        text(root, "sys/devices/system/node/node1/cpulist"),
        "128-255,384-511"
    );
    assert_eq!(text(root, "sys/devices/system/node/online"), "0-1");
    assert_eq!(text(root, "sys/devices/system/cpu/online"), "0-511");
    assert!(!text(root, "proc/cpuinfo").contains("hypervisor"));
    // Device 1 idles at Gen1: 2.5 GT/s, at both ends of its slot; device 0 is busy and does not.
    assert_eq!(
        text(root, &format!("{gpu}/current_link_speed")),
        "2.5 GT/s PCIe"
    );
    assert_eq!(
        text(root, "sys/bus/pci/devices/0000:60:01.1/current_link_speed"),
        "2.5 GT/s PCIe"
    );
    assert_eq!(
        text(root, "sys/bus/pci/devices/0000:21:00.0/current_link_speed"),
        "16.0 GT/s PCIe"
    );
    let full = Link {
        generation: 4,
        width: 16,
    };
    sysfs::set_slot_link(&described, root, 1, full).expect("set");
    assert_eq!(sysfs::current_link(root, "0000:61:00.0"), Some(full));
    assert_eq!(sysfs::current_link(root, "0000:60:01.1"), Some(full));
}

#[test]
fn a_guest_tree_has_a_hypervisor_and_no_link_files() {
    let (_, folder) = tree("rtxpro6000-mig");
    assert!(text(&folder.0, "proc/cpuinfo").contains("hypervisor"));
    let gpu = folder.0.join("sys/bus/pci/devices/0002:00:00.0");
    assert!(gpu.join("vendor").exists());
    assert!(!gpu.join("current_link_speed").exists() && !gpu.join("max_link_width").exists());
    assert_eq!(
        text(&folder.0, "sys/bus/pci/devices/0002:00:00.0/numa_node"),
        "2"
    );
}

#[test]
fn an_amd_tree_shows_x16_at_the_card_and_x8_at_the_slot() {
    let (_, folder) = tree("r9700-x8");
    let width = |address: &str| {
        text(
            &folder.0,
            &format!("sys/bus/pci/devices/{address}/current_link_width"),
        )
    };
    assert_eq!(
        [
            width("0000:03:00.0"),
            width("0000:02:00.0"),
            width("0000:01:00.0"),
            width("0000:00:01.1")
        ],
        ["16", "16", "8", "8"]
    );
}

#[test]
fn every_builtin_tree_can_be_written_twice() {
    for name in builtin_names() {
        let folder = Folder::new(&format!("twice-{name}"));
        let described = BoxFile::builtin(name).expect("built in");
        sysfs::write_tree(&described, &folder.0).expect("written");
        sysfs::write_tree(&described, &folder.0).expect("written again");
        let shown = fs::read_dir(folder.0.join("sys/bus/pci/devices"))
            .expect("listed")
            .count();
        assert_eq!(
            shown,
            described.port.len() + described.device.len() + described.nic.len()
        );
    }
}

#[test]
fn every_gpu_shows_the_window_to_its_memory() {
    let line = |name: &str, address: &str, number: usize| {
        let (_, folder) = tree(name);
        let path = format!("sys/bus/pci/devices/{address}/resource");
        let resource = text(&folder.0, &path);
        assert_eq!(resource.lines().count(), 13);
        let fields: Vec<u64> = resource
            .lines()
            .nth(number)
            .expect("13 lines")
            .split(' ')
            .map(|field| u64::from_str_radix(&field[2..], 16).expect("hexadecimal"))
            .collect();
        // Size, and the flags of a 64-bit prefetchable memory window.
        (fields[1] + 1 - fields[0], fields[2])
    };
    // 46068 MiB need a window of 64 GiB, 32624 MiB one of 32 GiB.
    assert_eq!(line("l40x4", "0000:61:00.0", 1), (64 << 30, 0x14_220c));
    assert_eq!(line("r9700-x8", "0000:03:00.0", 0), (32 << 30, 0x14_220c));
    assert_eq!(line("l40x4", "0000:61:00.0", 0), (1, 0));
}

#[test]
fn an_amd_tree_has_the_files_of_its_driver() {
    let mut described = BoxFile::builtin("r9700-x8").expect("built in");
    described.device[1].bar_mib = Some(256);
    described.device[1].busy = Some(Busy {
        memory_mib: 100,
        processes: Vec::new(),
    });
    described.device[1].sensors = Some(Sensors {
        power_w: Some(41.5),
        temperature_c: Some(50),
        utilization_percent: Some(7),
        slowdown_c: Some(100),
        shutdown_c: Some(105),
        junction_c: Some(99),
        junction_slowdown_c: Some(110),
        ..Sensors::default()
    });
    described.fault = vec![Fault::RetiredPages {
        device: 1,
        retired: 3,
        after_lost_data: 0,
        pending: true,
        after_readings: 0,
    }];
    let folder = Folder::new("amd-files");
    sysfs::write_tree(&described, &folder.0).expect("written");
    sysfs::write_tree(&described, &folder.0).expect("written again");
    let of = |card: usize, file: &str| {
        text(
            &folder.0,
            &format!("sys/class/drm/card{card}/device/{file}"),
        )
    };
    // 32624 MiB x 1048576, all of it in the window of device 0 and 256 MiB in that of device 1.
    assert_eq!(of(0, "mem_info_vram_total"), "34208743424");
    assert_eq!(of(0, "mem_info_vis_vram_total"), "34208743424");
    assert_eq!(of(1, "mem_info_vis_vram_total"), "268435456");
    assert_eq!(of(0, "mem_info_vram_used"), "0");
    assert_eq!(of(1, "mem_info_vram_used"), "104857600");
    assert_eq!(of(1, "gpu_busy_percent"), "7");
    assert_eq!(of(1, "hwmon/hwmon0/power1_average"), "41500000");
    assert_eq!(of(1, "hwmon/hwmon0/temp1_input"), "50000");
    assert_eq!(of(1, "hwmon/hwmon0/temp1_crit"), "100000");
    assert_eq!(of(1, "hwmon/hwmon0/temp1_emergency"), "105000");
    assert_eq!(of(1, "hwmon/hwmon0/temp1_label"), "edge");
    assert_eq!(of(1, "hwmon/hwmon0/temp2_input"), "99000");
    assert_eq!(of(1, "hwmon/hwmon0/temp2_crit"), "110000");
    assert_eq!(of(1, "hwmon/hwmon0/temp2_label"), "junction");
    // The kernel's form of a page: number, size and flag.
    let pages = of(1, "ras/gpu_vram_bad_pages");
    let lines: Vec<&str> = pages.lines().collect();
    assert_eq!(
        (lines.len(), lines[0], lines[2]),
        (
            3,
            "0x00000000 : 0x00001000 : P",
            "0x00000002 : 0x00001000 : R"
        )
    );
    assert_eq!(of(1, "vendor"), "0x1002");
    let silent = folder
        .0
        .join("sys/bus/pci/devices/0000:03:00.0/gpu_busy_percent");
    assert!(!silent.exists(), "what the box does not say is not shown");
}

#[test]
fn ports_show_access_control_and_functions_their_group() {
    let mut described = BoxFile::builtin("l40x4").expect("built in");
    described.iommu = Some(Iommu::Translated);
    described.port[0].acs_redirect = Some(true);
    described.port[1].acs_redirect = Some(false);
    let text_form = described.to_toml().expect("has a TOML form");
    assert!(text_form.contains("iommu = \"DMA\"") && text_form.contains("acs_redirect = false"));
    let folder = Folder::new("isolation");
    sysfs::write_tree(&described, &folder.0).expect("written");
    sysfs::write_tree(&described, &folder.0).expect("written again");
    let pci = |address: &str| folder.0.join("sys/bus/pci/devices").join(address);
    let control = |address: &str| {
        let config = fs::read(pci(address).join("config")).expect("config space");
        assert_eq!(config.len(), 4096);
        assert_eq!(config[0x100..0x104], [0x0d, 0x00, 0x01, 0x00]);
        u16::from_le_bytes([config[0x106], config[0x107]])
    };
    // Source validation 1, request redirect 4, completion redirect 8, upstream forwarding 16.
    assert_eq!(control("0000:20:01.1"), 29);
    assert_eq!(control("0000:60:01.1"), 0);
    assert!(!pci("0000:80:01.1").join("config").exists());
    let group = fs::canonicalize(pci("0000:61:00.0").join("iommu_group")).expect("leads there");
    assert_eq!(
        fs::read_to_string(group.join("type")).expect("type"),
        "DMA\n"
    );
    assert_eq!(
        fs::canonicalize(group.join("devices/0000:61:00.0")).expect("leads back"),
        fs::canonicalize(pci("0000:61:00.0")).expect("there")
    );
    let units = |root: &Path| fs::read_dir(root.join("sys/class/iommu")).map(Iterator::count);
    assert_eq!(units(&folder.0).expect("listed"), 1);
    described.iommu = Some(Iommu::Off);
    let off = Folder::new("isolation-off");
    sysfs::write_tree(&described, &off.0).expect("written");
    assert_eq!(units(&off.0).expect("listed"), 0);
    let (_, silent) = tree("l40x4");
    assert!(units(&silent.0).is_err(), "a box that does not say");
}

#[test]
fn a_box_of_metax_has_a_program_that_prints_its_links() {
    let (described, folder) = tree("mxc500x4");
    let program = folder.0.join("opt/mxdriver/bin/mx-smi");
    let run = |arguments: &[&str]| {
        std::process::Command::new(&program)
            .args(arguments)
            .output()
            .expect("runs")
    };
    let printed = run(&["topo", "-m"]);
    assert!(printed.status.success());
    let printed = String::from_utf8(printed.stdout).expect("text");
    let lines: Vec<Vec<&str>> = printed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0], ["Attached", "GPUs", ":", "4"]);
    assert_eq!(lines[2][..4], ["GPU0", "GPU1", "GPU2", "GPU3"]);
    let cpus = &described.node[0].cpus;
    assert_eq!(lines[3], ["GPU0", "X", "MX", "MX", "MX", "0", cpus]);
    assert_eq!(lines[6], ["GPU3", "MX", "MX", "MX", "X", "0", cpus]);
    assert!(!run(&["-L"]).status.success());
    let (_, nvidia) = tree("h200x8");
    assert!(!nvidia.0.join("opt").exists());
}

#[test]
fn errors_of_links_are_shown_at_0_and_counted_where_the_box_says_so() {
    let (mut described, folder) = tree("l40x4");
    let counted = |kind: &str| {
        let file = "sys/bus/pci/devices/0000:20:01.1/aer_dev_";
        fs::read_to_string(folder.0.join(format!("{file}{kind}"))).ok()
    };
    assert_eq!(counted("correctable"), None, "a tree that nobody loads");
    let fault = |address: &str, correctable| boxfile::Fault::LinkErrors {
        address: address.to_owned(),
        correctable,
        nonfatal: 0,
        fatal: 1,
    };
    // 3 + 4 of one function, and one of another.
    described.fault = vec![
        fault("0000:20:01.1", 3),
        fault("0000:20:01.1", 4),
        fault("0000:21:00.0", 1),
    ];
    described.validate("test").expect("it is a box");
    sysfs::show_link_errors(&described, &folder.0).expect("written");
    assert_eq!(counted("correctable").as_deref(), Some("TOTAL_ERR_COR 0\n"));
    sysfs::count_link_errors(&described, &folder.0).expect("written");
    assert_eq!(counted("correctable").as_deref(), Some("TOTAL_ERR_COR 7\n"));
    assert_eq!(
        counted("nonfatal").as_deref(),
        Some("TOTAL_ERR_NONFATAL 0\n")
    );
    assert_eq!(counted("fatal").as_deref(), Some("TOTAL_ERR_FATAL 2\n"));
    let (guest, folder) = tree("rtxpro6000-mig");
    sysfs::show_link_errors(&guest, &folder.0).expect("written");
    let address = &guest.device[0].address;
    let file = format!("sys/bus/pci/devices/{address}/aer_dev_correctable");
    assert!(!folder.0.join(file).exists(), "a guest is shown none");
}
