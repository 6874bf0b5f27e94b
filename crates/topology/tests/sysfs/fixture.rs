//! [`Tree`]: a sysfs tree in a temporary folder, removed when it is dropped.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use topology::{Machine, PciAddress, Sysfs};

pub(crate) const NVIDIA: u16 = 0x10de;
pub(crate) const AMD: u16 = 0x1002;
/// Vendor of AMD's host bridges and root ports, which is not the one of its cards.
pub(crate) const AMD_HOST: u16 = 0x1022;
pub(crate) const BRIDGE: u32 = 0x06_0400;
pub(crate) const DISPLAY_3D: u32 = 0x03_0200;
pub(crate) const VGA: u32 = 0x03_0000;

static COUNT: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("topology-test-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(root.join("sys/bus/pci/devices")).expect("temporary folder");
        Self { root }
    }

    pub(crate) fn sysfs(&self) -> Sysfs {
        Sysfs::at(&self.root)
    }

    pub(crate) fn machine(&self) -> Machine {
        Machine::read(&self.sysfs()).expect("the tree is whole")
    }

    /// A path of the tree as the file system has it.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn file(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder");
        fs::write(path, bytes).expect("file");
    }

    /// A function at the end of `path` (below `sys/devices`), with the link that leads to it.
    pub(crate) fn function(&self, path: &str, vendor: u16, class: u32, node: i32) {
        let (_, name) = path.rsplit_once('/').expect("a function is below a root");
        let folder = format!("sys/devices/{path}");
        self.file(&format!("{folder}/vendor"), format!("{vendor:#06x}\n"));
        self.file(&format!("{folder}/device"), "0x2bb5\n");
        self.file(&format!("{folder}/class"), format!("{class:#08x}\n"));
        self.file(&format!("{folder}/numa_node"), format!("{node}\n"));
        let link = self.root.join("sys/bus/pci/devices").join(name);
        symlink(format!("../../../devices/{path}"), link).expect("link");
    }

    /// A GPU at the end of `path` and every bridge above it that is not there yet.
    pub(crate) fn gpu(&self, path: &str, vendor: u16, node: i32) {
        self.bridges_above(path, node);
        self.function(path, vendor, DISPLAY_3D, node);
    }

    /// An AMD GPU whose last two bridges are the switch on its card.
    pub(crate) fn amd_card(&self, path: &str, node: i32) {
        let (downstream, _) = path.rsplit_once('/').expect("a card has a port above");
        let (upstream, _) = downstream.rsplit_once('/').expect("and one above that");
        self.bridges_above(upstream, node);
        self.function(upstream, AMD, BRIDGE, node);
        self.function(downstream, AMD, BRIDGE, node);
        self.function(path, AMD, VGA, node);
    }

    /// Every bridge above `path` that is not there yet.
    pub(crate) fn bridges_above(&self, path: &str, node: i32) {
        let steps: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
        for end in steps {
            let bridge = &path[..end];
            let name = bridge.rsplit('/').next().unwrap_or(bridge);
            let known = self.root.join("sys/bus/pci/devices").join(name);
            if name.parse::<PciAddress>().is_ok() && fs::symlink_metadata(&known).is_err() {
                self.function(bridge, AMD_HOST, BRIDGE, node);
            }
        }
    }

    /// The link files of a function: speed and width, current and maximum.
    pub(crate) fn link(&self, name: &str, current: (&str, &str), maximum: (&str, &str)) {
        for (which, (speed, width)) in [("current", current), ("max", maximum)] {
            let folder = format!("sys/bus/pci/devices/{name}");
            self.file(
                &format!("{folder}/{which}_link_speed"),
                format!("{speed}\n"),
            );
            self.file(
                &format!("{folder}/{which}_link_width"),
                format!("{width}\n"),
            );
        }
    }

    /// Configuration space whose PCI Express capability at 0x40 sets the payload limit `128 << code`.
    pub(crate) fn payload_code(&self, name: &str, code: u8) {
        let mut config = vec![0_u8; 256];
        config[0x34] = 0x40;
        config[0x40] = 0x10;
        config[0x48] = code << 5;
        self.file(&format!("sys/bus/pci/devices/{name}/config"), config);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // A folder that stays behind in the temporary folder breaks nothing.
        let _ = fs::remove_dir_all(&self.root);
    }
}

pub(crate) fn at(text: &str) -> PciAddress {
    text.parse().expect("an address")
}
