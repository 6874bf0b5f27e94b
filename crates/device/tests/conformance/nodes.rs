//! Facts about the nodes of host memory and of threads, on simulated machines: nodes there are the box's, whatever this machine has.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use boxfile::BoxFile;
use device::pattern::Pattern;
use device::{Backend, Device, DeviceError, HostBuffer, HostKind, Stream};

use crate::bed::Bed;
use crate::copies::KINDS;

const BYTES: usize = 100_000;

/// The box behind the simulated driver.
fn described() -> BoxFile {
    BoxFile::resolve(&std::env::var("TPLENS_SOFT_BOX").unwrap()).unwrap()
}

/// Shows that bytes go both ways through a buffer.
fn carries<B: Backend>(bed: &Bed<B::Device>, host: &HostBuffer) {
    let (pattern, memory) = (
        Pattern::of(3, 1, host.len() as u64),
        bed.device.alloc(host.len()),
    );
    let memory = memory.unwrap();
    host.with_bytes(|bytes| pattern.fill(bytes)).unwrap();
    bed.stream
        .host_to_device((&memory, 0), (host, 0), host.len())
        .unwrap();
    bed.stream.synchronize().unwrap();
    host.with_bytes(|bytes| pattern.poison().fill(bytes))
        .unwrap();
    bed.stream
        .device_to_host((host, 0), (&memory, 0), host.len())
        .unwrap();
    bed.stream.synchronize().unwrap();
    let difference = host.with_bytes(|bytes| pattern.first_difference(bytes));
    assert_eq!(difference.unwrap(), None);
}

/// Every kind of host memory is on the node of the box that was named, and on none where none was.
pub(crate) fn every_kind_is_on_every_node<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let nodes: Vec<u32> = described().node.iter().map(|node| node.id).collect();
    for kind in KINDS {
        for node in &nodes {
            let host = bed.device.alloc_host(kind, BYTES, Some(*node)).unwrap();
            assert_eq!(host.kind(), kind);
            assert_eq!(host.node_now(), Ok(*node), "{kind:?}");
            carries::<B>(&bed, &host);
        }
        let anywhere = bed.device.alloc_host(kind, BYTES, None).unwrap();
        assert!(
            anywhere
                .node_now()
                .unwrap_err()
                .contains("no node of the simulated machine")
        );
        carries::<B>(&bed, &anywhere);
    }
}

/// A node that the box has not is refused in words that name it, for memory and for threads.
pub(crate) fn a_node_that_is_not_there_is_named<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    for absent in [77, u32::MAX] {
        for kind in KINDS {
            let refused = bed.device.alloc_host(kind, BYTES, Some(absent));
            let Err(DeviceError::HostMemory(numa::NumaError::Bind { node, errno, .. })) = refused
            else {
                panic!("{kind:?}: {refused:?}");
            };
            // EINVAL.
            assert_eq!((node, errno.0), (absent, 22));
        }
        let refused = bed.device.run_on(Some(absent));
        assert!(
            matches!(&refused, Err(DeviceError::Argument { why, .. }) if why.contains(&absent.to_string())),
            "{refused:?}"
        );
    }
    bed.works();
}

/// A thread runs on the nodes that have CPUs, and what it allocates through the driver is there.
pub(crate) fn a_thread_is_put_on_a_node<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    for node in described().node.iter().filter(|node| !node.cpus.is_empty()) {
        assert!(bed.device.run_on(Some(node.id)).unwrap());
        let pinned = bed
            .device
            .alloc_host(HostKind::Pinned, BYTES, None)
            .unwrap();
        assert_eq!(pinned.node_now(), Ok(node.id));
        carries::<B>(&bed, &pinned);
    }
    assert!(bed.device.run_on(None).unwrap());
    bed.works();
}

/// On a box that refuses every binding: no memory is given for a node, so that none is labelled with it.
pub(crate) fn a_refused_binding_gives_no_memory<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    for kind in KINDS {
        for node in described().node {
            match bed.device.alloc_host(kind, BYTES, Some(node.id)) {
                Err(DeviceError::HostMemory(refused @ numa::NumaError::Bind { .. })) => {
                    assert!(refused.is_forbidden());
                    assert!(refused.to_string().contains(&format!("node {}", node.id)));
                }
                other => panic!("{kind:?}: {other:?}"),
            }
        }
        let anywhere = bed.device.alloc_host(kind, BYTES, None).unwrap();
        assert!(anywhere.node_now().is_err());
    }
    bed.works();
}
