//! The files of a GPU's function beyond those of every PCI function: its address windows, and what AMD's driver shows; instances of MIG
//! as NVIDIA's driver shows them.

use super::{below, link, put};
use crate::{BoxError, BoxFile, Device, Fault, Vendor};
use std::path::Path;

/// Lines of the file `resource` of a function: six windows, the ROM, and six for virtual functions (linux/pci.h).
const WINDOWS: usize = 13;
/// A 64-bit prefetchable memory window: IORESOURCE_MEM_64, _SIZEALIGN, _PREFETCH, _MEM of linux/ioport.h and the low bits
/// of the register.
const PREFETCHABLE: u64 = 0x14_220c;
/// Where the first window lies; the others follow at multiples of [`SPACE`].
const FIRST: u64 = 0x1000_0000_0000;
/// Room for one window: 2^30 MiB is the most memory that a device has.
const SPACE: u64 = 1 << 50;

pub(super) fn write(described: &BoxFile, root: &Path) -> Result<(), BoxError> {
    for (index, device) in described.device.iter().enumerate() {
        let below = below(described, &device.address)?;
        let folder = root.join("sys/devices").join(&below);
        put(
            &folder.join("resource"),
            &windows(described.vendor, device, index),
        )?;
        for instance in 0..device.mig.len() {
            let file = format!("capabilities/gpu{index}/mig/gi{instance}/access");
            put(
                &root.join("proc/driver/nvidia").join(file),
                "DeviceFileMode: 256",
            )?;
        }
        if described.vendor == Vendor::AMD {
            write_amd(device, &folder)?;
            write_bad_pages(described, index, &folder)?;
            let card = format!("drm/card{index}");
            link(Path::new("../.."), &folder.join(&card).join("device"))?;
            let target = Path::new("../../devices").join(&below).join(&card);
            link(&target, &root.join("sys/class").join(&card))?;
        }
    }
    Ok(())
}

/// The window's size in bytes: a power of two.
fn window_bytes(device: &Device) -> u64 {
    (device.bar_mib.unwrap_or(device.memory_mib) << 20).next_power_of_two()
}

/// One line for each window: first address, last address, flags; zeros where there is none.
fn windows(vendor: Vendor, device: &Device, index: usize) -> String {
    // AMD shows its memory in the first window; NVIDIA in the second, behind its registers; of MetaX nothing is known.
    let place = usize::from(vendor != Vendor::AMD);
    let first = FIRST + index as u64 * SPACE;
    let line = |number: usize| {
        let (first, last, flags) = if number == place {
            (first, first + window_bytes(device) - 1, PREFETCHABLE)
        } else {
            (0, 0, 0)
        };
        format!("0x{first:016x} 0x{last:016x} 0x{flags:016x}")
    };
    (0..WINDOWS).map(line).collect::<Vec<_>>().join("\n")
}

/// As the kernel's amdgpu shows it: sizes in bytes, power in microwatts, temperature in thousandths of a degree Celsius.
fn write_amd(device: &Device, folder: &Path) -> Result<(), BoxError> {
    let total = device.memory_mib << 20;
    let used = device.busy.as_ref().map_or(0, |busy| busy.memory_mib << 20);
    let sensors = device.sensors.clone().unwrap_or_default();
    let monitor = |file: &str| format!("hwmon/hwmon0/{file}");
    let files = [
        ("mem_info_vram_total".to_owned(), Some(total)),
        (
            "mem_info_vis_vram_total".to_owned(),
            Some(total.min(window_bytes(device))),
        ),
        ("mem_info_vram_used".to_owned(), Some(used)),
        (
            "gpu_busy_percent".to_owned(),
            sensors.utilization_percent.map(u64::from),
        ),
        (
            "mem_busy_percent".to_owned(),
            sensors.memory_utilization_percent.map(u64::from),
        ),
        (
            monitor("power1_average"),
            sensors.power_w.map(|watts| (watts * 1e6).round() as u64),
        ),
    ];
    let degrees = [
        ("temp1_input", sensors.temperature_c),
        ("temp1_crit", sensors.slowdown_c),
        ("temp1_emergency", sensors.shutdown_c),
        ("temp2_input", sensors.junction_c),
        ("temp2_crit", sensors.junction_slowdown_c),
    ]
    .map(|(file, degrees)| {
        (
            monitor(file),
            degrees.map(|degrees| u64::from(degrees) * 1000),
        )
    });
    let files = files.into_iter().chain(degrees);
    for (file, value) in files {
        if let Some(value) = value {
            put(&folder.join(file), &value.to_string())?;
        }
    }
    // Names as in amdgpu_pm.c.
    for (number, name, there) in [
        (1, "edge", sensors.temperature_c),
        (2, "junction", sensors.junction_c),
    ] {
        if there.is_some() {
            put(&folder.join(monitor(&format!("temp{number}_label"))), name)?;
        }
    }
    put(&folder.join(monitor("name")), "amdgpu")
}

/// The kernel's list of pages that are out of use (`ras/gpu_vram_bad_pages`: number, size, flag), at devices with such a fault: cards
/// without ECC have no such file.
fn write_bad_pages(described: &BoxFile, device: usize, folder: &Path) -> Result<(), BoxError> {
    let mut flags = Vec::new();
    for fault in &described.fault {
        if let Fault::RetiredPages {
            device: of,
            retired,
            pending,
            ..
        } = fault
            && *of == device
        {
            flags.extend((0..*retired).map(|page| if *pending && page == 0 { 'P' } else { 'R' }));
        }
    }
    if flags.is_empty() {
        return Ok(());
    }
    let line = |(page, flag): (usize, &char)| format!("0x{page:08x} : 0x00001000 : {flag}");
    let lines: Vec<String> = flags.iter().enumerate().map(line).collect();
    put(&folder.join("ras/gpu_vram_bad_pages"), &lines.join("\n"))
}
