//! A box to be changed: two L40 below root ports of an EPYC, one RDMA card, and a process without limits. All of it is sound.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use doctor::{Device, Facts, Given, SharedMemory, Variable, Version};
use topology::{Fact, Machine, Repairs, RowRemaps, Sysfs};

/// The folder of a PCI function below `sys/devices`, by its address.
const FUNCTIONS: [(&str, &str); 6] = [
    ("0000:20:01.1", "pci0000:20/0000:20:01.1"),
    ("0000:21:00.0", "pci0000:20/0000:20:01.1/0000:21:00.0"),
    ("0000:60:01.1", "pci0000:60/0000:60:01.1"),
    ("0000:61:00.0", "pci0000:60/0000:60:01.1/0000:61:00.0"),
    ("0000:20:03.1", "pci0000:20/0000:20:03.1"),
    ("0000:22:00.0", "pci0000:20/0000:20:03.1/0000:22:00.0"),
];
/// The GPUs and the ports above them.
pub(crate) const GPUS: [&str; 2] = ["0000:21:00.0", "0000:61:00.0"];
pub(crate) const PORTS: [&str; 2] = ["0000:20:01.1", "0000:60:01.1"];

/// The card's folder in its class.
pub(crate) const NIC: &str = "sys/class/infiniband/mlx5_0";

/// A box that is written to a folder when it is read.
pub(crate) struct Bench {
    files: BTreeMap<String, Vec<u8>>,
    pub(crate) functions: Vec<(String, String)>,
    pub(crate) own: Option<String>,
    pub(crate) given: Given,
}

impl Bench {
    /// Nothing but an empty `sys`.
    pub(crate) fn blank() -> Self {
        let unknown = || "not asked".to_owned();
        Self {
            files: BTreeMap::new(),
            functions: Vec::new(),
            own: Some("not asked".to_owned()),
            given: Given {
                devices: vec![device(0), device(1)],
                undriven: Some("no driver answers".to_owned()),
                versions: Vec::new(),
                unversioned: vec!["no library answers".to_owned()],
                variables: Fact::Unknown(unknown()),
                shared_memory: Fact::Unknown(unknown()),
                kernel_log: Fact::Unknown(unknown()),
            },
        }
    }

    /// The box without a fault.
    pub(crate) fn sound() -> Self {
        let mut bench = Self::blank();
        bench.own = None;
        bench.functions = FUNCTIONS
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .to_vec();
        bench.given = Given {
            devices: [0, 1]
                .map(|place| Device {
                    name: Some("NVIDIA L40".to_owned()),
                    mig: Some(false),
                    repairs: Fact::Known(no_repairs()),
                    ..device(place)
                })
                .to_vec(),
            undriven: None,
            versions: vec![
                version("NVIDIA driver", "570.133.07"),
                version("NCCL", "2.28.9"),
            ],
            unversioned: Vec::new(),
            variables: Fact::Known(Vec::new()),
            shared_memory: Fact::Known(SharedMemory {
                bytes: 64 << 30,
                free_bytes: 60 << 30,
            }),
            kernel_log: Fact::Known(vec!["Linux version 6.1.0".to_owned()]),
        };
        bench.write_machine();
        bench.write_process();
        for gpu in GPUS {
            bench.function(gpu, ["0x10de", "0x26b5", "0x030200"]);
            // A window of 64 GiB: 0x3a0000000000 to 0x3a0fffffffff.
            let none = "0x0000000000000000 0x0000000000000000 0x0000000000000000";
            bench.pci(
                gpu,
                "resource",
                &format!("{none}\n0x00003a0000000000 0x00003a0fffffffff 0x000000000014220c"),
            );
        }
        for port in PORTS {
            bench.function(port, ["0x1022", "0x14ab", "0x060400"]);
            bench.acs(port, 0);
        }
        bench.function("0000:20:03.1", ["0x1022", "0x14ab", "0x060400"]);
        bench.function("0000:22:00.0", ["0x15b3", "0x1021", "0x020700"]);
        bench.write_nic("0000:22:00.0", NIC);
        bench
    }

    fn write_machine(&mut self) {
        for (path, text) in [
            (
                "proc/cpuinfo",
                "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9754 128-Core Processor\nflags\t\t: fpu sse2",
            ),
            (
                "proc/cmdline",
                "BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt",
            ),
            ("proc/sys/kernel/numa_balancing", "0"),
            ("proc/sys/kernel/osrelease", "6.1.0-37-amd64"),
            (
                "proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.07",
            ),
            ("sys/module/nvidia/refcnt", "0"),
            ("sys/module/nvidia_peermem/refcnt", "0"),
            ("sys/devices/system/cpu/online", "0-7"),
            ("sys/devices/system/cpu/cpufreq/boost", "1"),
            (
                "sys/devices/system/cpu/cpufreq/policy0/scaling_driver",
                "acpi-cpufreq",
            ),
            (
                "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
                "performance",
            ),
            ("sys/devices/system/node/node0/cpulist", "0-3"),
            ("sys/devices/system/node/node0/distance", "10 32"),
            (
                "sys/devices/system/node/node0/meminfo",
                "Node 0 MemTotal:  524288 kB",
            ),
            ("sys/devices/system/node/node1/cpulist", "4-7"),
            ("sys/devices/system/node/node1/distance", "32 10"),
            (
                "sys/devices/system/node/node1/meminfo",
                "Node 1 MemTotal:  524288 kB",
            ),
        ] {
            self.set(path, text);
        }
    }

    fn write_process(&mut self) {
        for (path, text) in [
            (
                "proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units\n\
                 Max open files            65535                1048576              files\n\
                 Max locked memory         unlimited            unlimited            bytes",
            ),
            (
                "proc/self/status",
                "Name:\tp2p-bw\nCapEff:\t0000000000000000\nSeccomp:\t0\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0-1",
            ),
            ("proc/self/cgroup", "0::/user.slice"),
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory pids"),
            ("sys/fs/cgroup/user.slice/cpu.max", "max 100000"),
        ] {
            self.set(path, text);
        }
    }

    fn write_nic(&mut self, address: &str, folder: &str) {
        let name = folder.rsplit('/').next().unwrap();
        self.pci(address, &format!("infiniband/{name}/node_type"), "1: CA");
        self.pci(address, &format!("net/{name}/mtu"), "9000");
        for (file, text) in [
            ("ports/1/state", "4: ACTIVE"),
            ("ports/1/rate", "200 Gb/sec (4X HDR)"),
            ("ports/1/counters/symbol_error", "0"),
            ("ports/1/hw_counters/packet_seq_err", "0"),
            ("ports/1/link_layer", "Ethernet"),
            ("ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001"),
            ("ports/1/gids/3", "0000:0000:0000:0000:0000:ffff:0a00:0001"),
            ("ports/1/gids/4", "0000:0000:0000:0000:0000:0000:0000:0000"),
            ("ports/1/gid_attrs/types/0", "IB/RoCE v1"),
            ("ports/1/gid_attrs/types/3", "RoCE v2"),
        ] {
            self.set(&format!("{folder}/{file}"), text);
        }
    }

    /// Puts a GPU below a switch with a card of its own, `mlx5_1` or `mlx5_2`.
    pub(crate) fn rail(&mut self, place: usize) {
        let (gpu, port, bus) = (GPUS[place], PORTS[place], 8 + place);
        let [up, to_gpu, to_card, card] =
            ["0:00", "1:00", "1:01", "2:00"].map(|rest| format!("0000:{bus}{rest}.0"));
        let above = format!("pci0000:{}/{port}/{up}", &port[5..7]);
        self.functions.retain(|(address, _)| address != gpu);
        for (address, below) in [
            (up.as_str(), above.clone()),
            (&to_gpu, format!("{above}/{to_gpu}")),
            (gpu, format!("{above}/{to_gpu}/{gpu}")),
            (&to_card, format!("{above}/{to_card}")),
            (&card, format!("{above}/{to_card}/{card}")),
        ] {
            self.functions.push((address.to_owned(), below));
        }
        for bridge in [&up, &to_gpu, &to_card] {
            self.function(bridge, ["0x1000", "0xc030", "0x060400"]);
            self.acs(bridge, 0);
        }
        self.function(&card, ["0x15b3", "0x1021", "0x020700"]);
        self.write_nic(&card, &format!("sys/class/infiniband/mlx5_{}", place + 1));
    }

    /// A function of node 0 with a Gen4 x16 link, no errors.
    pub(crate) fn function(&mut self, address: &str, [vendor, device, class]: [&str; 3]) {
        for (file, text) in [
            ("vendor", vendor),
            ("device", device),
            ("class", class),
            ("numa_node", "0"),
            ("current_link_speed", "16.0 GT/s PCIe"),
            ("current_link_width", "16"),
            ("max_link_speed", "16.0 GT/s PCIe"),
            ("max_link_width", "16"),
            ("aer_dev_correctable", "RxErr 0\nTOTAL_ERR_COR 0"),
            ("aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 0"),
            ("aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 0"),
        ] {
            self.pci(address, file, text);
        }
    }

    /// Sets a file below the root.
    pub(crate) fn set(&mut self, path: &str, text: &str) {
        self.files
            .insert(path.to_owned(), format!("{text}\n").into_bytes());
    }

    /// Sets a file of a PCI function.
    pub(crate) fn pci(&mut self, address: &str, file: &str, text: &str) {
        self.set(&format!("sys/bus/pci/devices/{address}/{file}"), text);
    }

    /// Takes away every file whose path begins so.
    pub(crate) fn remove(&mut self, beginning: &str) {
        let before = self.files.len();
        self.files.retain(|path, _| !path.starts_with(beginning));
        assert!(self.files.len() < before, "{beginning} removes nothing");
    }

    /// Configuration space of a port whose ACS control register, at 0x100 + 6, is this.
    pub(crate) fn acs(&mut self, port: &str, control: u16) {
        let mut config = vec![0; 4096];
        config[0x100..0x104].copy_from_slice(&0x0001_000d_u32.to_le_bytes());
        config[0x106..0x108].copy_from_slice(&control.to_le_bytes());
        self.files
            .insert(format!("sys/bus/pci/devices/{port}/config"), config);
    }

    /// Changes what a line of a file says.
    pub(crate) fn replace(&mut self, path: &str, from: &str, to: &str) {
        let text = String::from_utf8(self.files[path].clone()).unwrap();
        assert!(text.contains(from), "no {from} in {path}");
        self.files
            .insert(path.to_owned(), text.replace(from, to).into_bytes());
    }

    pub(crate) fn variable(&mut self, name: &str, value: &str) {
        let one = Variable {
            name: name.to_owned(),
            value: value.to_owned(),
            source: "environment".to_owned(),
        };
        match &mut self.given.variables {
            Fact::Known(variables) => variables.push(one),
            Fact::Unknown(_) => self.given.variables = Fact::Known(vec![one]),
        }
    }

    /// Takes away the RDMA card.
    pub(crate) fn no_nic(&mut self) {
        self.remove(NIC);
        self.remove("sys/bus/pci/devices/0000:22:00.0/infiniband");
    }

    /// The GPUs of the box become R9700.
    pub(crate) fn r9700(&mut self) {
        for gpu in GPUS {
            self.pci(gpu, "vendor", "0x1002");
            self.pci(gpu, "device", "0x7551");
        }
        for device in &mut self.given.devices {
            device.name = Some("AMD Radeon AI PRO R9700".to_owned());
        }
        self.given.versions = Vec::new();
        let nodes = "sys/class/kfd/kfd/topology/nodes";
        self.set(
            &format!("{nodes}/0/properties"),
            "cpu_cores_count 8\nsimd_count 0",
        );
        // 0x2100 and 0x6100: bus, device and function of the two GPUs.
        for (node, place) in [(1, 0x2100), (2, 0x6100)] {
            let text =
                format!("simd_count 128\ndomain 0\nlocation_id {place}\ngfx_target_version 120001");
            self.set(&format!("{nodes}/{node}/properties"), &text);
        }
        for (node, to) in [(1, 2), (2, 1)] {
            let folder = format!("{nodes}/{node}");
            // To the host's memory, and to the other GPU.
            self.set(
                &format!("{folder}/io_links/0/properties"),
                "type 2\nnode_to 0",
            );
            self.set(
                &format!("{folder}/p2p_links/0/properties"),
                &format!("type 2\nnode_to {to}"),
            );
        }
    }

    /// Writes the tree, reads it and takes it away again.
    pub(crate) fn facts(&self) -> Facts {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root =
            std::env::temp_dir().join(format!("tplens-doctor-{}-{number}", std::process::id()));
        self.write(&root);
        let sysfs = Sysfs::at(&root);
        let machine = Machine::read(&sysfs).unwrap();
        let own = match &self.own {
            None => Fact::Known(sysfs.clone()),
            Some(why) => Fact::Unknown(why.clone()),
        };
        let facts = Facts::read(&sysfs, &own, machine, self.given.clone());
        std::fs::remove_dir_all(&root).unwrap();
        facts
    }

    fn write(&self, root: &Path) {
        std::fs::create_dir_all(root.join("sys")).unwrap();
        for (address, below) in &self.functions {
            let target = root.join("sys/devices").join(below);
            std::fs::create_dir_all(&target).unwrap();
            link(&target, &root.join("sys/bus/pci/devices").join(address));
        }
        for (path, bytes) in &self.files {
            let path: PathBuf = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
    }
}

fn link(target: &Path, name: &Path) {
    std::fs::create_dir_all(name.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(target, name).unwrap();
}

fn device(place: usize) -> Device {
    Device {
        label: format!("GPU{place}"),
        name: None,
        address: Some(GPUS[place].parse().unwrap()),
        mig: None,
        repairs: Fact::Unknown("no driver was asked".to_owned()),
        nvlinks: Fact::Unknown("no driver was asked".to_owned()),
    }
}

/// Of a card from Ampere on: rows, and no pages.
fn no_repairs() -> Repairs {
    Repairs::told(Ok(RowRemaps::default()), Err("not available".to_owned()))
}

pub(crate) fn version(component: &str, text: &str) -> Version {
    Version {
        component: component.to_owned(),
        text: text.to_owned(),
        source: "the library".to_owned(),
    }
}
