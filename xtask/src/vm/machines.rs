//! The emulated machines: how QEMU is told to build each, and what is known of each from its shape alone.
//!
//! Bus numbers are far apart: where two host bridges' buses come too near, QEMU starts and leaves a device out.

/// A machine.
pub(super) struct Machine {
    pub(super) name: &'static str,
    /// What it is there for.
    pub(super) about: &'static str,
    /// QEMU's arguments, between blanks.
    pub(super) arguments: &'static str,
    /// Nodes without CPUs.
    pub(super) memory_only: &'static [u32],
    /// Devices, and the node that their host bridge was given.
    pub(super) devices: &'static [(&'static str, u32)],
    /// Every two of the devices.
    pub(super) pairs: &'static [Pair],
}

/// Two devices, and their path's class by the two rules.
///
/// As `nvidia-smi topo -m`: one switch or none between them PIX, several PXB, one host bridge PHB, several host bridges of one
/// node NODE, else SYS. NCCL has no NODE: CPUs are its nodes, so all that meets at one is PHB.
pub(super) struct Pair {
    pub(super) a: &'static str,
    pub(super) b: &'static str,
    pub(super) smi: &'static str,
    pub(super) nccl: &'static str,
}

const fn pair(a: &'static str, b: &'static str, smi: &'static str, nccl: &'static str) -> Pair {
    Pair { a, b, smi, nccl }
}

/// All machines, one row each.
pub(super) const MACHINES: &[Machine] = &[
    Machine {
        name: "a",
        about: "two nodes with two devices each, below root ports of their own",
        arguments: "-m 512M -smp 4
            -object memory-backend-ram,id=m0,size=256M
            -object memory-backend-ram,id=m1,size=256M
            -numa node,nodeid=0,cpus=0-1,memdev=m0
            -numa node,nodeid=1,cpus=2-3,memdev=m1
            -numa dist,src=0,dst=1,val=21
            -device pxb-pcie,id=pxb0,bus=pcie.0,addr=0x10,bus_nr=0x40,numa_node=0
            -device pxb-pcie,id=pxb1,bus=pcie.0,addr=0x11,bus_nr=0x80,numa_node=1
            -device pcie-root-port,id=rp00,bus=pxb0,chassis=1,slot=1,x-speed=16,x-width=16
            -device pcie-root-port,id=rp01,bus=pxb0,chassis=2,slot=2
            -device pcie-root-port,id=rp10,bus=pxb1,chassis=3,slot=3,x-speed=8,x-width=8
            -device pcie-root-port,id=rp11,bus=pxb1,chassis=4,slot=4
            -device virtio-rng-pci,bus=rp00
            -drive if=none,id=d0,driver=null-co,size=1M
            -device nvme,serial=n0,drive=d0,bus=rp01
            -device e1000e,bus=rp10
            -device virtio-rng-pci,bus=rp11",
        memory_only: &[],
        devices: &[
            ("0000:41:00.0", 0),
            ("0000:42:00.0", 0),
            ("0000:81:00.0", 1),
            ("0000:82:00.0", 1),
        ],
        pairs: &[
            pair("0000:41:00.0", "0000:42:00.0", "PHB", "PHB"),
            pair("0000:81:00.0", "0000:82:00.0", "PHB", "PHB"),
            pair("0000:41:00.0", "0000:81:00.0", "SYS", "SYS"),
            pair("0000:41:00.0", "0000:82:00.0", "SYS", "SYS"),
            pair("0000:42:00.0", "0000:81:00.0", "SYS", "SYS"),
            pair("0000:42:00.0", "0000:82:00.0", "SYS", "SYS"),
        ],
    },
    Machine {
        name: "b",
        about: "four nodes, one of them with memory only and a device on it; two host bridges on node 0",
        arguments: "-m 1G -smp 4
            -object memory-backend-ram,id=m0,size=256M
            -object memory-backend-ram,id=m1,size=256M
            -object memory-backend-ram,id=m2,size=256M
            -object memory-backend-ram,id=m3,size=256M
            -numa node,nodeid=0,cpus=0-1,memdev=m0
            -numa node,nodeid=1,cpus=2,memdev=m1
            -numa node,nodeid=2,cpus=3,memdev=m2
            -numa node,nodeid=3,memdev=m3
            -numa dist,src=0,dst=1,val=12
            -numa dist,src=0,dst=2,val=32
            -numa dist,src=0,dst=3,val=17
            -numa dist,src=1,dst=2,val=32
            -numa dist,src=1,dst=3,val=28
            -numa dist,src=2,dst=3,val=28
            -device pxb-pcie,id=pxb0,bus=pcie.0,addr=0x10,bus_nr=0x40,numa_node=0
            -device pxb-pcie,id=pxb1,bus=pcie.0,addr=0x11,bus_nr=0x60,numa_node=0
            -device pxb-pcie,id=pxb2,bus=pcie.0,addr=0x12,bus_nr=0x80,numa_node=2
            -device pxb-pcie,id=pxb3,bus=pcie.0,addr=0x13,bus_nr=0xc0,numa_node=3
            -device pcie-root-port,id=rp0,bus=pxb0,chassis=1,slot=1
            -device pcie-root-port,id=rp1,bus=pxb1,chassis=2,slot=2
            -device pcie-root-port,id=rp2,bus=pxb2,chassis=3,slot=3
            -device pcie-root-port,id=rp3,bus=pxb3,chassis=4,slot=4
            -device virtio-rng-pci,bus=rp0
            -device virtio-rng-pci,bus=rp1
            -device virtio-rng-pci,bus=rp2
            -device virtio-rng-pci,bus=rp3",
        memory_only: &[3],
        devices: &[
            ("0000:41:00.0", 0),
            ("0000:61:00.0", 0),
            ("0000:81:00.0", 2),
            ("0000:c1:00.0", 3),
        ],
        pairs: &[
            pair("0000:41:00.0", "0000:61:00.0", "NODE", "PHB"),
            pair("0000:41:00.0", "0000:81:00.0", "SYS", "SYS"),
            pair("0000:41:00.0", "0000:c1:00.0", "SYS", "SYS"),
            pair("0000:61:00.0", "0000:81:00.0", "SYS", "SYS"),
            pair("0000:61:00.0", "0000:c1:00.0", "SYS", "SYS"),
            pair("0000:81:00.0", "0000:c1:00.0", "SYS", "SYS"),
        ],
    },
    Machine {
        name: "c",
        about: "a switch, and a second one behind it with two devices, all on node 1",
        arguments: "-m 512M -smp 4
            -object memory-backend-ram,id=m0,size=256M
            -object memory-backend-ram,id=m1,size=256M
            -numa node,nodeid=0,cpus=0-1,memdev=m0
            -numa node,nodeid=1,cpus=2-3,memdev=m1
            -device pxb-pcie,id=pxb1,bus=pcie.0,addr=0x10,bus_nr=0x40,numa_node=1
            -device pcie-root-port,id=rp0,bus=pxb1,chassis=1,slot=1
            -device x3130-upstream,id=up0,bus=rp0
            -device xio3130-downstream,id=dn00,bus=up0,chassis=10,slot=10
            -device xio3130-downstream,id=dn01,bus=up0,chassis=11,slot=11
            -device x3130-upstream,id=up1,bus=dn01
            -device xio3130-downstream,id=dn10,bus=up1,chassis=12,slot=12
            -device xio3130-downstream,id=dn11,bus=up1,chassis=13,slot=13
            -device virtio-rng-pci,bus=dn00
            -device virtio-rng-pci,bus=dn10
            -device e1000e,bus=dn11",
        memory_only: &[],
        devices: &[
            ("0000:43:00.0", 1),
            ("0000:46:00.0", 1),
            ("0000:47:00.0", 1),
        ],
        pairs: &[
            pair("0000:46:00.0", "0000:47:00.0", "PIX", "PIX"),
            pair("0000:43:00.0", "0000:46:00.0", "PXB", "PXB"),
            pair("0000:43:00.0", "0000:47:00.0", "PXB", "PXB"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_two_devices_of_a_machine_have_their_classes() {
        for machine in MACHINES {
            let count = machine.devices.len();
            // n devices make n (n - 1) / 2 pairs.
            assert_eq!(machine.pairs.len(), count * (count - 1) / 2);
            for (index, (a, _)) in machine.devices.iter().enumerate() {
                for (b, _) in &machine.devices[index + 1..] {
                    let named = |pair: &&Pair| pair.a == *a && pair.b == *b;
                    assert_eq!(machine.pairs.iter().filter(named).count(), 1, "{a} {b}");
                }
            }
        }
    }
}
