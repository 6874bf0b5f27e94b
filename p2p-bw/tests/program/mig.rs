//! MIG: several instances of one GPU beside those of another, named by UUID.

use boxfile::{BoxFile, MigInstance};
use record::PeerVerdict;
use topology::PathType;

use super::common::{HOST, Scratch, gpu};

/// The UUID of an instance.
fn uuid(device: usize, instance: usize) -> String {
    format!("MIG-00000000-0000-5000-8000-0000000{device:02}{instance:03}")
}

/// Two GPUs, the first with three instances, the second with two.
fn five_instances() -> BoxFile {
    let mut described = BoxFile::builtin("rtxpro6000-mig").unwrap();
    described.name = "five-mig".to_owned();
    described.collective.clear();
    for (at, count) in [(0, 3), (1, 2)] {
        let instance = |number| MigInstance {
            profile: "1g.24gb".to_owned(),
            uuid: uuid(at, number),
            memory_mib: 24_000,
        };
        described.device[at].mig = (0..count).map(instance).collect();
    }
    described
}

#[test]
fn instances_of_one_gpu_and_of_two_are_measured_by_their_uuids() {
    let scratch = Scratch::new();
    let list = [uuid(0, 1), uuid(1, 1), uuid(0, 2)].join(",");
    let cases = "h2d_pinned_ce,d2d_write_ce,d2d_staged_ce";
    let kept = scratch.soft(&five_instances(), &["--gpus", &list, "--cases", cases]);
    let links = kept.links();
    let labels: Vec<String> = links
        .devices
        .iter()
        .map(|device| format!("{} {}", device.label, device.address.unwrap()))
        .collect();
    // The driver counts all instances of the first GPU, 0 to 2, before those of the second, 3 and 4.
    assert_eq!(
        labels,
        [
            "MIG1 0001:00:00.0",
            "MIG4 0002:00:00.0",
            "MIG2 0001:00:00.0"
        ]
    );
    let paths: Vec<PathType> = links.paths.iter().map(|pair| pair.path).collect();
    assert_eq!(paths, [PathType::Sys, PathType::Same, PathType::Sys]);
    // MIG takes peer access away, also between two instances of one GPU; through host memory all of them reach each other.
    assert_eq!(kept.probe(0, 2).verdict, PeerVerdict::Denied);
    assert_eq!(kept.probe(0, 1).verdict, PeerVerdict::Denied);
    for (from, to) in [(0, 1), (0, 2), (2, 0)] {
        assert!(
            kept.is_measured("d2d_staged_ce", gpu(from), gpu(to)),
            "{from} {to}"
        );
    }
    assert!(kept.is_measured("h2d_pinned_ce", HOST, gpu(2)));
    assert_eq!(kept.bad(), []);
}
