//! What is read stands in the facts with its file, and rules that have nothing to look at say nothing.

use doctor::Verdict;
use topology::Fact;

use crate::bench::{Bench, NIC};
use crate::said;

#[test]
fn a_box_without_network_cards_has_no_findings_about_them() {
    let mut bench = Bench::sound();
    bench.no_nic();
    for rule in [
        "nic-link",
        "gid-index",
        "gpu-nic-distance",
        "gpu-nic-memory",
    ] {
        assert_eq!(said(rule, &bench), [], "{rule}");
    }
}

#[test]
fn infiniband_has_no_index_of_roce() {
    let mut bench = Bench::sound();
    bench.set(&format!("{NIC}/ports/1/link_layer"), "InfiniBand");
    assert_eq!(said("gid-index", &bench), []);
    assert_eq!(said("nic-link", &bench)[0].verdict, Verdict::Ok);
}

#[test]
fn findings_name_the_gpu_the_pair_the_port_and_the_file() {
    let bench = Bench::sound();
    let subject = |rule: &str| said(rule, &bench)[0].subject.clone();
    assert_eq!(subject("large-bar"), "GPU0");
    assert_eq!(subject("acs-redirect"), "GPU0-GPU1");
    assert_eq!(subject("nic-link"), "mlx5_0 port 1");
    assert_eq!(subject("memlock"), "this process");
    let seen = said("numa-balancing", &bench)[0].seen.clone();
    assert!(
        seen.starts_with("/proc/sys/kernel/numa_balancing: "),
        "{seen}"
    );
}

#[test]
fn one_node_has_nothing_to_balance() {
    let mut bench = Bench::sound();
    bench.remove("sys/devices/system/node/node1");
    bench.set("proc/sys/kernel/numa_balancing", "1");
    let finding = &said("numa-balancing", &bench)[0];
    assert_eq!(finding.verdict, Verdict::Ok);
    assert!(finding.seen.contains("one node"), "{}", finding.seen);
}

#[test]
fn root_is_not_told_to_become_root_and_a_machine_without_hypervisor_has_no_host() {
    let todo = |bench: &Bench, rule: &str| said(rule, bench)[0].todo.clone();
    let mut bench = Bench::sound();
    bench.given.kernel_log = Fact::Unknown("it is empty".to_owned());
    bench.set("proc/cmdline", "quiet");
    let advice = todo(&bench, "kernel-log").unwrap();
    assert!(advice.contains("run this as root"), "{advice}");
    assert_eq!(todo(&bench, "iommu-translates"), None);
    // Bit 21 is CAP_SYS_ADMIN.
    bench.replace(
        "proc/self/status",
        "CapEff:\t0000000000000000",
        "CapEff:\t0000000000200000",
    );
    let advice = todo(&bench, "kernel-log").unwrap();
    assert!(!advice.contains("run this"), "{advice}");
    // Of a box that is played nobody can look closer.
    bench.own = Some("a soft box is played".to_owned());
    assert_eq!(todo(&bench, "kernel-log"), None);
}

#[test]
fn the_comparison_names_all_gpus_and_the_arm() {
    let mut bench = Bench::sound();
    bench.variable("NCCL_P2P_LEVEL", "PIX");
    let todo = said("nccl-p2p-level", &bench)[0].todo.clone().unwrap();
    assert!(
        todo.contains(
            "cargo xtask allreduce --gpus 0,1 --launches 6 --arm \"sys: NCCL_P2P_LEVEL=SYS\";"
        ),
        "{todo}"
    );
}
