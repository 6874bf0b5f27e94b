//! The library under the NVML bindings that tplens uses, unmodified. Each test starts itself again with a box in its
//! environment; expected values are those of the box files and of files that the test writes.

use boxfile::{BoxFile, Fault, Link, sysfs};
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{TemperatureSensor, TemperatureThreshold};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use std::path::PathBuf;
use std::process::Command;

const CHILD: &str = "SOFT_NVML_TEST_CHILD";

/// Runs `test` again as a child on a built-in box with a generated tree; in the child, answers the open library and the tree.
fn on_box(test: &str, name: &str) -> Option<(Result<Nvml, NvmlError>, PathBuf)> {
    on_described(test, &BoxFile::builtin(name).expect("built in"))
}

/// The same on a box that a test made.
fn on_described(test: &str, described: &BoxFile) -> Option<(Result<Nvml, NvmlError>, PathBuf)> {
    let test_program = std::env::current_exe().expect("own path");
    if let Some(folder) = std::env::var_os(CHILD) {
        let library = test_program
            .parent()
            .map(|deps| deps.join("libsoft_nvml.so"))
            .expect("a folder above");
        assert!(library.exists(), "{} was not built", library.display());
        return Some((
            Nvml::builder().lib_path(library.as_os_str()).init(),
            PathBuf::from(folder).join("tree"),
        ));
    }
    let folder = std::env::temp_dir().join(format!("soft-nvml-{test}-{}", std::process::id()));
    sysfs::write_tree(described, &folder.join("tree")).expect("written");
    std::fs::write(folder.join("box.toml"), described.to_toml().expect("TOML")).expect("written");
    let output = Command::new(test_program)
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, &folder)
        .env("TPLENS_SOFT_BOX", folder.join("box.toml"))
        .env("TPLENS_SOFT_SYSFS", folder.join("tree"))
        .output()
        .expect("the child starts");
    std::fs::remove_dir_all(&folder).expect("removed");
    let text = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .join("\n");
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
    None
}

#[test]
fn the_l40_box_answers_as_its_file_says() {
    let Some((nvml, tree)) = on_box("the_l40_box_answers_as_its_file_says", "l40x4") else {
        return;
    };
    let nvml = nvml.expect("opens");
    assert_eq!(nvml.sys_driver_version().expect("driver"), "570.133.07");
    assert_eq!(nvml.device_count().expect("count"), 4);

    let busy = nvml.device_by_index(0).expect("device 0");
    assert_eq!(busy.name().expect("name"), "NVIDIA L40");
    let memory = busy.memory_info().expect("memory");
    // 448 of 46068 MiB are somebody's, and 600 the driver's own.
    assert_eq!(
        (memory.used, memory.reserved, memory.free),
        (448 << 20, 600 << 20, (46068 - 448 - 600) << 20)
    );
    let pids: Vec<u32> = busy
        .running_compute_processes()
        .expect("processes")
        .iter()
        .map(|process| process.pid)
        .collect();
    assert_eq!(pids, [4242]);
    assert_eq!(busy.power_usage().expect("power"), 83_000);
    assert_eq!(
        busy.temperature(TemperatureSensor::Gpu)
            .expect("temperature"),
        45
    );
    assert_eq!(busy.current_pcie_link_gen().expect("generation"), 4);

    let idle = nvml
        .device_by_pci_bus_id("00000000:E1:00.0")
        .expect("by address");
    let pci = idle.pci_info().expect("address");
    assert_eq!(
        (pci.bus_id.as_str(), pci.pci_device_id),
        ("00000000:E1:00.0", 0x26b5_10de)
    );
    assert!(
        idle.running_compute_processes()
            .expect("processes")
            .is_empty()
    );
    // The box lets it idle at Gen1 x16; its card and slot can do Gen4 together although the slot alone does Gen5.
    assert_eq!(idle.current_pcie_link_gen().expect("generation"), 1);
    assert_eq!(idle.max_pcie_link_gen().expect("generation"), 4);
    let described = BoxFile::builtin("l40x4").expect("built in");
    sysfs::set_slot_link(
        &described,
        &tree,
        3,
        Link {
            generation: 4,
            width: 8,
        },
    )
    .expect("set");
    assert_eq!(
        (
            idle.current_pcie_link_gen().expect("generation"),
            idle.current_pcie_link_width().expect("width")
        ),
        (4, 8)
    );

    assert!(matches!(busy.mig_mode(), Err(NvmlError::NotSupported)));
    assert!(matches!(
        nvml.device_by_index(4),
        Err(NvmlError::InvalidArg)
    ));
}

#[test]
fn the_mig_guest_has_instances_and_no_links() {
    let Some((nvml, _)) = on_box("the_mig_guest_has_instances_and_no_links", "rtxpro6000-mig")
    else {
        return;
    };
    let nvml = nvml.expect("opens");
    let parent = nvml.device_by_index(1).expect("device 1");
    let mode = parent.mig_mode().expect("mode");
    assert_eq!((mode.current, mode.pending), (1, 1));
    assert_eq!(parent.mig_device_count().expect("count"), 1);
    let instance = parent.mig_device_by_index(0).expect("instance");
    assert_eq!(
        instance.uuid().expect("uuid"),
        "MIG-00000000-0000-5000-8000-000000000002"
    );
    assert!(instance.name().expect("name").ends_with("MIG 4g.96gb"));
    assert_eq!(instance.memory_info().expect("memory").total, 96_000 << 20);
    assert!(matches!(
        parent.mig_device_by_index(1),
        Err(NvmlError::NotFound)
    ));
    assert!(matches!(
        parent.current_pcie_link_gen(),
        Err(NvmlError::NotSupported)
    ));
    assert!(matches!(
        parent.max_pcie_link_width(),
        Err(NvmlError::NotSupported)
    ));
    assert!(matches!(parent.power_usage(), Err(NvmlError::NotSupported)));
}

#[test]
fn a_box_of_another_vendor_has_no_nvidia_driver() {
    let Some((nvml, _)) = on_box("a_box_of_another_vendor_has_no_nvidia_driver", "r9700-x16")
    else {
        return;
    };
    assert!(matches!(nvml, Err(NvmlError::DriverNotLoaded)));
}

#[test]
fn repairs_of_memory_are_told_from_a_reading_on_and_thresholds_where_the_box_has_them() {
    let mut described = BoxFile::builtin("l40x4").expect("built in");
    let sensors = described.device[1].sensors.get_or_insert_default();
    (sensors.slowdown_c, sensors.shutdown_c) = (Some(92), Some(95));
    described.device[3].sensors = None;
    let rows = |corrected, uncorrected, pending, after_readings| Fault::RowRemaps {
        device: 0,
        corrected,
        uncorrected,
        pending,
        failed: false,
        after_readings,
    };
    // One row for lost data stood before; two for corrected errors come with the second reading and wait.
    described.fault = vec![
        rows(0, 1, false, 0),
        rows(2, 0, true, 1),
        Fault::RetiredPages {
            device: 3,
            retired: 9,
            after_lost_data: 4,
            pending: true,
            after_readings: 0,
        },
    ];
    let test = "repairs_of_memory_are_told_from_a_reading_on_and_thresholds_where_the_box_has_them";
    let Some((nvml, _)) = on_described(test, &described) else {
        return;
    };
    let nvml = nvml.expect("opens");
    // nvml.h: remapped rows, corrected, uncorrected, pending, failure; retired pages, single bit, double bit, pending.
    let read = |index| -> Vec<Option<u32>> {
        let device = nvml.device_by_index(index).expect("device");
        let asked = [142, 143, 144, 145, 29, 30, 31].map(FieldId);
        let fields = device.field_values_for(&asked).expect("fields");
        let value = |field: Result<_, _>| match field {
            Ok(SampleValue::U32(value)) => Some(value),
            Ok(other) => panic!("{other:?}"),
            Err(NvmlError::NotSupported) => None,
            Err(error) => panic!("{error}"),
        };
        fields
            .into_iter()
            .map(|field| value(field.expect("a known kind").value))
            .collect()
    };
    let of_rows = |rows: [u32; 4]| -> Vec<Option<u32>> {
        rows.map(Some).into_iter().chain([None; 3]).collect()
    };
    assert_eq!(read(0), of_rows([0, 1, 0, 0]));
    assert_eq!(read(0), of_rows([2, 1, 1, 0]));
    assert_eq!(read(1), of_rows([0; 4]));
    // 9 - 4 pages are of the other cause.
    assert_eq!(read(3), [None, None, None, None, Some(5), Some(4), Some(1)]);
    let threshold = |index, threshold| {
        let device = nvml.device_by_index(index).expect("device");
        device.temperature_threshold(threshold).ok()
    };
    assert_eq!(threshold(1, TemperatureThreshold::Slowdown), Some(92));
    assert_eq!(threshold(1, TemperatureThreshold::Shutdown), Some(95));
    assert_eq!(threshold(1, TemperatureThreshold::GpuMax), None);
    assert_eq!(threshold(3, TemperatureThreshold::Slowdown), None);
}
