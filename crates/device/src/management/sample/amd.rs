//! A sample from the files of AMD's kernel driver (Documentation/gpu/amdgpu/thermal.rst).

use std::str::FromStr;

use topology::{PciAddress, RasErrors, RetiredPages, Sysfs};

use super::super::Answer;
use super::values::Sample;

/// Power in microwatts: averaged on most cards, of one moment on some.
const POWER: [&str; 2] = ["power1_average", "power1_input"];

/// Sensors of temperature: edge, junction and memory (thermal.rst), of which older cards have the first alone.
const SENSORS: std::ops::RangeInclusive<u32> = 1..=3;

/// Why the link that the kernel shows at the device is not reported: on cards with a switch it says nothing of the slot.
const CARDS_LINK: &str = "the device's own link may be the one inside the card, between its switch and its chip; see slot_link";

/// Reads the device at a PCI address now.
///
/// `pcie_bw` is not read: it counts for a second and is not there on current cards.
pub(in crate::management) fn sample(sysfs: &Sysfs, pci: &str) -> Sample {
    match pci.parse::<PciAddress>() {
        Ok(address) => {
            let errors = RasErrors::read(sysfs, address);
            Sample {
                ecc_corrected: errors.clone().map(|errors| errors.corrected),
                ecc_uncorrected: errors.map(|errors| errors.uncorrected),
                retired_pages: RetiredPages::read(sysfs, address),
                ..Files::of(sysfs, address).sample()
            }
        }
        Err(error) => Sample::missing(&error.to_string()),
    }
}

struct Files<'a> {
    sysfs: &'a Sysfs,
    folder: String,
    /// The device's own folder of sensors.
    sensors: Option<String>,
}

impl<'a> Files<'a> {
    fn of(sysfs: &'a Sysfs, address: PciAddress) -> Self {
        let folder = format!("sys/bus/pci/devices/{address}");
        let found = sysfs.names(format!("{folder}/hwmon"));
        let sensors = found.iter().find(|name| name.starts_with("hwmon"));
        Self {
            sensors: sensors.map(|name| format!("{folder}/hwmon/{name}")),
            sysfs,
            folder,
        }
    }

    fn number<T: FromStr>(&self, name: &str) -> Answer<T> {
        self.read(&self.folder, name)
    }

    fn sensor(&self, name: &str) -> Answer<u64> {
        match &self.sensors {
            Some(folder) => self.read(folder, name),
            None => Err(format!("{}/hwmon has no sensors", self.folder)),
        }
    }

    fn read<T: FromStr>(&self, folder: &str, name: &str) -> Answer<T> {
        let path = format!("{folder}/{name}");
        let text = self.sysfs.read_text(&path);
        let text = text.ok_or_else(|| format!("/{path} cannot be read"))?;
        text.parse().map_err(|_| format!("/{path} holds `{text}`"))
    }

    /// The sensor that is the nearest below its critical temperature, of those that have both, and how far that is; where none has, the
    /// first, which every card has, and why.
    ///
    /// The kernel calls it critical; the firmware lowers clocks at it (`TedgeLimit` and its like in drivers/gpu/drm/amd/pm/swsmu), and
    /// `_emergency` is where the device switches itself off.
    fn nearest(&self) -> (u32, Answer<i32>) {
        let of = |number: u32| {
            let now = self.sensor(&format!("temp{number}_input"))?;
            let critical = self.sensor(&format!("temp{number}_crit"))?;
            let milli = i128::from(critical) - i128::from(now);
            i32::try_from(milli.div_euclid(1000)).map_err(|_| format!("{milli} is no temperature"))
        };
        let known = SENSORS.filter_map(|number| Some((of(number).ok()?, number)));
        let first = *SENSORS.start();
        known.min().map_or_else(
            || (first, of(first)),
            |(margin, number)| (number, Ok(margin)),
        )
    }

    /// What a sensor is called: `edge`, `junction` or `mem`; by its files where they give no name.
    fn name(&self, sensor: u32) -> String {
        let label = self
            .sensors
            .as_ref()
            .and_then(|folder| self.sysfs.read_text(format!("{folder}/temp{sensor}_label")));
        label.unwrap_or_else(|| format!("temp{sensor}"))
    }

    fn sample(&self) -> Sample {
        // Hertz and thousandths of a degree.
        let mhz = |hertz: u64| u32::try_from(hertz / 1_000_000).unwrap_or(u32::MAX);
        let degrees = |milli: u64| u32::try_from(milli / 1000).unwrap_or(u32::MAX);
        let [averaged, momentary] = POWER.map(|name| self.sensor(name));
        let power = averaged.or_else(|first| {
            momentary.map_err(|second| match first == second {
                true => first,
                false => format!("{first}; {second}"),
            })
        });
        let (nearest, margin) = self.nearest();
        let of_nearest = |file: &str| self.sensor(&format!("temp{nearest}_{file}")).map(degrees);
        let temperature = of_nearest("input");
        Sample {
            pcie_replays: self.number("pcie_replay_count"),
            sm_clock_mhz: self.sensor("freq1_input").map(mhz),
            memory_clock_mhz: self.sensor("freq2_input").map(mhz),
            power_w: power.map(|microwatts| microwatts as f64 / 1e6),
            temperature_sensor: temperature.clone().map(|_| self.name(nearest)),
            temperature_c: temperature,
            temperature_margin_c: margin,
            slowdown_c: of_nearest("crit"),
            shutdown_c: of_nearest("emergency"),
            utilisation_percent: self.number("gpu_busy_percent"),
            memory_used_bytes: self.number("mem_info_vram_used"),
            device_link: Err(CARDS_LINK.to_owned()),
            ..Sample::missing("amdgpu has no file for it")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_files_and_what_has_no_file_says_so() {
        let root = std::env::temp_dir().join(format!("device-amd-{}", std::process::id()));
        let folder = root.join("sys/bus/pci/devices/0000:03:00.0");
        std::fs::create_dir_all(folder.join("hwmon/hwmon4")).unwrap();
        for (name, text) in [
            ("mem_info_vram_used", "1048576\n"),
            ("gpu_busy_percent", "97\n"),
            ("pcie_replay_count", "strange\n"),
            ("hwmon/hwmon4/power1_input", "215500000\n"),
            ("hwmon/hwmon4/temp1_input", "64999\n"),
            ("hwmon/hwmon4/temp1_crit", "100000\n"),
            ("hwmon/hwmon4/temp1_emergency", "105000\n"),
            ("hwmon/hwmon4/temp2_input", "98500\n"),
            ("hwmon/hwmon4/temp2_crit", "110000\n"),
            ("hwmon/hwmon4/temp2_label", "junction\n"),
            ("hwmon/hwmon4/temp3_input", "70000\n"),
            ("hwmon/hwmon4/freq1_input", "2350000000\n"),
        ] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let sample = sample(&Sysfs::at(&root), "0000:03:00.0");
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(sample.memory_used_bytes, Ok(1 << 20));
        assert_eq!(sample.utilisation_percent, Ok(97));
        // 215 500 000 uW, 64 999 m°C, 2 350 000 000 Hz.
        assert_eq!(sample.power_w, Ok(215.5));
        assert_eq!(sample.sm_clock_mhz, Ok(2350));
        // The junction is the nearest: 110 000 - 98 500 m°C, rounded down; 100 000 - 64 999 of the edge is more.
        assert_eq!(sample.temperature_margin_c, Ok(11));
        assert_eq!(sample.temperature_sensor, Ok("junction".to_owned()));
        assert_eq!((sample.temperature_c, sample.slowdown_c), (Ok(98), Ok(110)));
        let pages = sample.retired_pages.unwrap_err();
        assert!(pages.contains("gpu_vram_bad_pages"), "{pages}");
        let says = |answer: Answer<u32>, text: &str| {
            let why = answer.unwrap_err();
            assert!(why.contains(text), "{why}");
        };
        // Not the edge's 105.
        says(sample.shutdown_c, "temp2_emergency cannot be read");
        says(sample.memory_clock_mhz, "freq2_input cannot be read");
        says(sample.pcie_replays, "holds `strange`");
        says(sample.pcie_rx_kb_per_s, "no file");
        let link = sample.device_link.unwrap_err();
        assert!(link.contains("inside the card"), "{link}");
    }
}
