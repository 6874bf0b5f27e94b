//! [`GpuFiles`]: which GPUs a process has open, by the device files in `/proc/PID/fd`.
//!
//! It sees who opened a GPU and not who computes on it: a process that opens all GPUs before it takes one has all of them. A file
//! that all GPUs share (`/dev/nvidiactl`, `/dev/kfd`, `/dev/mxcd`) tells nothing and is not looked for.

use std::collections::{BTreeMap, BTreeSet};

use topology::{PciAddress, Sysfs, nvidia_files};

/// The last names of device files, each with the GPU that it leads to.
#[derive(Debug, Default)]
pub(super) struct GpuFiles {
    gpus: BTreeMap<String, PciAddress>,
}

/// What is looked for, in words.
pub(super) const LOOKED_FOR: &str = "/dev/nvidiaN (by the minor numbers in /proc/driver/nvidia/gpus), /dev/nvidia-caps/nvidia-capN (MIG) and /dev/dri/renderDN (AMD, MetaX)";

impl GpuFiles {
    /// The files that the kernel and NVIDIA's driver list.
    pub(super) fn read(sysfs: &Sysfs) -> Self {
        let mut gpus = nvidia_files(sysfs);
        for name in sysfs.names("sys/class/drm") {
            let device = sysfs.canonical(format!("sys/class/drm/{name}/device"));
            let address = device
                .as_deref()
                .and_then(|device| device.file_name()?.to_str()?.parse().ok());
            if let Some(address) = address.filter(|_| name.starts_with("renderD")) {
                gpus.insert(name, address);
            }
        }
        Self { gpus }
    }

    /// Whether a GPU can be found at all.
    pub(super) fn is_empty(&self) -> bool {
        self.gpus.is_empty()
    }

    /// The GPUs that a process has open; none where its files are hidden from this user.
    pub(super) fn opened(&self, sysfs: &Sysfs, pid: u32) -> BTreeSet<PciAddress> {
        let folder = format!("proc/{pid}/fd");
        let files = sysfs.names(&folder).into_iter();
        files
            .filter_map(|file| sysfs.link_name(format!("{folder}/{file}")))
            .filter_map(|name| self.gpus.get(&name).copied())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn open_device_files_lead_to_their_gpus() {
        let root = std::env::temp_dir().join(format!("p2p-bw-gpu-files-{}", std::process::id()));
        // Minor numbers need not follow the order of addresses.
        let information = |minor: u32| format!("Model: \t\t X\nDevice Minor: \t {minor}\n");
        write(
            &root,
            "proc/driver/nvidia/gpus/0000:21:00.0/information",
            &information(1),
        );
        write(
            &root,
            "proc/driver/nvidia/gpus/0000:61:00.0/information",
            &information(0),
        );
        write(
            &root,
            "proc/driver/nvidia/capabilities/gpu1/mig/gi2/access",
            "DeviceFileMinor: 21\n",
        );
        write(
            &root,
            "proc/driver/nvidia/capabilities/gpu1/mig/gi2/ci0/access",
            "DeviceFileMinor: 22\n",
        );
        write(
            &root,
            "sys/devices/pci0000:40/0000:43:00.0/vendor",
            "0x1002\n",
        );
        write(&root, "sys/class/drm/version", "drm\n");
        let drm = root.join("sys/class/drm/renderD128");
        std::fs::create_dir_all(&drm).unwrap();
        symlink(
            "../../../devices/pci0000:40/0000:43:00.0",
            drm.join("device"),
        )
        .unwrap();
        for (pid, files) in [
            (10, &["/dev/nvidia0", "/dev/nvidiactl", "socket:[1]"][..]),
            (
                11,
                &[
                    "/dev/nvidia-caps/nvidia-cap22",
                    "/dev/nvidia1",
                    "/dev/nvidia1",
                ],
            ),
            (12, &["/dev/dri/renderD128", "/dev/kfd"]),
            (13, &["/dev/null"]),
        ] {
            let folder = root.join(format!("proc/{pid}/fd"));
            std::fs::create_dir_all(&folder).unwrap();
            for (number, file) in files.iter().enumerate() {
                symlink(file, folder.join(number.to_string())).unwrap();
            }
        }
        let sysfs = Sysfs::at(&root);
        let files = GpuFiles::read(&sysfs);
        let opened = |pid| {
            let gpus = files.opened(&sysfs, pid).into_iter();
            gpus.map(|gpu| gpu.to_string()).collect::<Vec<_>>()
        };
        assert!(!files.is_empty());
        assert_eq!(opened(10), ["0000:61:00.0"]);
        assert_eq!(opened(11), ["0000:21:00.0"]);
        assert_eq!(opened(12), ["0000:43:00.0"]);
        assert!(opened(13).is_empty() && opened(14).is_empty());
        std::fs::remove_dir_all(&root).unwrap();
        assert!(GpuFiles::read(&sysfs).is_empty());
    }
}
