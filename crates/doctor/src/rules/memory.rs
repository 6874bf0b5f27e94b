//! Memory of the host: balancing, huge pages, shared memory.

use topology::Fact;

use super::MACHINE;
use crate::{Facts, Finding};

/// What NCCL's page gives a container.
const SHARED_WANTED: u64 = 1 << 30;
/// What Docker gives a container that asks for nothing.
const SHARED_OF_DOCKER: u64 = 64 << 20;

pub(super) fn balancing(facts: &Facts) -> Vec<Finding> {
    let read = &facts.host.numa_balancing;
    let nodes = facts.machine.nodes.len();
    vec![match read.told() {
        Err(why) => Finding::cannot_tell(MACHINE, why),
        Ok(0) => Finding::ok(MACHINE, format!("{}: 0", read.source)),
        Ok(mode) if nodes == 1 => Finding::ok(
            MACHINE,
            format!("{}: {mode}, and there is one node", read.source),
        ),
        Ok(mode) => Finding::warn(
            MACHINE,
            format!("{}: {mode}, and there are {nodes} nodes", read.source),
            "sysctl kernel.numa_balancing=0 as root",
        ),
    }]
}

pub(super) fn transparent_huge_pages(facts: &Facts) -> Vec<Finding> {
    let read = &facts.host.transparent_huge_pages;
    vec![match read.told() {
        Err(why) => Finding::cannot_tell(MACHINE, why),
        Ok(word) if word == "never" => Finding::warn(
            MACHINE,
            format!("{}: {word}", read.source),
            format!("echo madvise > {} as root", read.source),
        ),
        Ok(word) => Finding::ok(MACHINE, format!("{}: {word}", read.source)),
    }]
}

pub(super) fn reserved_huge_pages(facts: &Facts) -> Vec<Finding> {
    let read = &facts.host.reserved_huge;
    vec![match read.told() {
        Err(why) => Finding::cannot_tell(MACHINE, why),
        Ok([held, all]) => {
            let seen = format!(
                "{}: reserved pages hold {} of {} MiB",
                read.source,
                held >> 20,
                all >> 20
            );
            if held > &(all / 2) {
                Finding::warn(
                    MACHINE,
                    seen,
                    "sysctl vm.nr_hugepages=N as root, with no more than what asks for them needs",
                )
            } else {
                Finding::ok(MACHINE, seen)
            }
        }
    }]
}

pub(super) fn shared_memory(facts: &Facts) -> Vec<Finding> {
    let subject = "/dev/shm";
    let shared = match &facts.given.shared_memory {
        Fact::Known(shared) => shared,
        Fact::Unknown(why) => return vec![Finding::cannot_tell(subject, why)],
    };
    let seen = format!(
        "{} MiB, of which {} MiB are free",
        shared.bytes >> 20,
        shared.free_bytes >> 20
    );
    let todo = "in a container: --shm-size=1g or more, or --ipc=host; else mount -o remount,size=16G /dev/shm as root";
    vec![if shared.bytes <= SHARED_OF_DOCKER {
        Finding::bad(
            subject,
            format!("{seen}; a container that asks for nothing gets 64 MiB"),
            todo,
        )
    } else if shared.bytes < SHARED_WANTED {
        Finding::warn(subject, seen, todo)
    } else if shared.free_bytes < SHARED_WANTED {
        Finding::warn(
            subject,
            seen,
            "see what fills it (ls -l /dev/shm); files of processes that were killed stay until they are removed",
        )
    } else {
        Finding::ok(subject, seen)
    }]
}
