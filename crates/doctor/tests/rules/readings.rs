//! What is read stands in the facts with its file, and rules that have nothing to look at say nothing.

use doctor::{Value, Verdict};

use crate::bench::{Bench, NIC};
use crate::said;

#[test]
fn a_box_without_network_cards_has_no_findings_about_them() {
    let mut bench = Bench::sound();
    bench.no_nic();
    for rule in [
        "nic-link",
        "gid-index",
        "nic-slot",
        "nic-mtu",
        "nic-errors",
        "gpu-nic-distance",
        "gpu-nic-pairing",
        "gpu-nic-acs",
        "transfer-devices",
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
    let file = said("numa-balancing", &bench)[0]
        .evidence
        .get("in")
        .cloned();
    let expected = Value::Text("/proc/sys/kernel/numa_balancing".to_owned());
    assert_eq!(file, Some(expected));
}

#[test]
fn one_node_has_nothing_to_balance() {
    let mut bench = Bench::sound();
    bench.remove("sys/devices/system/node/node1");
    bench.set("proc/sys/kernel/numa_balancing", "1");
    let finding = &said("numa-balancing", &bench)[0];
    assert_eq!(finding.verdict, Verdict::Ok);
}
