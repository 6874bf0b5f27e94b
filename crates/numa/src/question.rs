//! The kernel's two calls that say on which node a page is, and which of them answers here.
//!
//! `move_pages` is the one to ask: it changes nothing. Filters of containers that let memory be bound refuse it all the same, as
//! Docker's default one does whatever the capabilities; `get_mempolicy` goes with `mbind` there (`CAP_SYS_NICE`), and answers then.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use libc::c_int;

use crate::error::{NumaError, hint};
use crate::ffi;

/// The call that is asked first.
pub const MOVE_PAGES: &str = "move_pages";
/// The call that is asked where the first one is forbidden.
pub const GET_MEMPOLICY: &str = "get_mempolicy";

/// What is read for pages that the first call refuses.
pub const NUMA_MAPS: &str = "numa_maps";
const NUMA_MAPS_FILE: &str = "/proc/self/numa_maps";

/// What tells of pages before `get_mempolicy` is asked, which would make those that are missing.
const PAGEMAP: &str = "/proc/self/pagemap";
/// Bits of an entry (Documentation/admin-guide/mm/pagemap.rst): the page is in memory; nothing else maps it.
const PRESENT: u64 = 1 << 63;
const EXCLUSIVE: u64 = 1 << 56;

/// Each page's node, or the negated error number of its own.
pub(crate) struct Answers {
    pub(crate) by: &'static str,
    pub(crate) nodes: Vec<c_int>,
}

/// Asks where the pages that hold these addresses are; another call is tried where the system forbids the first.
pub(crate) fn nodes_of(addresses: &[usize], page_bytes: usize) -> Result<Answers, NumaError> {
    let errno = match ffi::nodes_of_pages(addresses) {
        Ok(nodes) if nodes.contains(&-libc::EFAULT) => {
            return Ok(by_maps(addresses, nodes));
        }
        Ok(nodes) => {
            return Ok(Answers {
                by: MOVE_PAGES,
                nodes,
            });
        }
        Err(errno) => errno,
    };
    let instead = match errno.forbids() {
        true => by_policy(addresses, page_bytes),
        false => Err(String::new()),
    };
    instead
        .map(|nodes| Answers {
            by: GET_MEMPOLICY,
            nodes,
        })
        .map_err(|refused| NumaError::Refused {
            what: format!("asking where pages are ({MOVE_PAGES}{refused})"),
            errno,
            hint: hint(errno),
        })
}

/// The answers of `move_pages`, and for pages that it refuses, as it does a driver's, what the list of mappings says.
fn by_maps(addresses: &[usize], mut nodes: Vec<c_int>) -> Answers {
    let maps = std::fs::read_to_string(NUMA_MAPS_FILE).unwrap_or_default();
    let mut by = MOVE_PAGES;
    for (address, answer) in addresses.iter().zip(&mut nodes) {
        if *answer == -libc::EFAULT
            && let Some(node) = node_of_mapping(&maps, *address)
        {
            (*answer, by) = (node, NUMA_MAPS);
        }
    }
    Answers { by, nodes }
}

/// The one node that holds all counted pages of the mapping of an address; `None` where there are several, or none is counted.
///
/// A line is `start policy [file=...] [anon=n] ... [Nnode=pages]...` (proc_pid_numa_maps(5)), in the order of addresses; a mapping ends
/// where the next one begins at the latest.
fn node_of_mapping(maps: &str, address: usize) -> Option<c_int> {
    let start = |line: &str| usize::from_str_radix(line.split(' ').next()?, 16).ok();
    let line = maps
        .lines()
        .take_while(|line| start(line).is_some_and(|start| start <= address))
        .last()?;
    // The zero page belongs to no node, and only a file's or a device's mapping is refused besides.
    line.contains(" file=").then_some(())?;
    let mut nodes = line.split(' ').filter_map(|word| {
        let (node, _) = word.strip_prefix('N')?.split_once('=')?;
        node.parse().ok()
    });
    let node = nodes.next()?;
    nodes.next().is_none().then_some(node)
}

/// The same by `get_mempolicy`, one page after the other; what refused it, where that is not the page's own error.
///
/// It answers for the zero page, too, which stands for every page that was only read and is no memory of the process; a page
/// that another mapping shares is unknown from it and gets `EFAULT`, as the zero page does from `move_pages`.
fn by_policy(addresses: &[usize], page_bytes: usize) -> Result<Vec<c_int>, String> {
    let unreadable = |error: io::Error| format!(", {PAGEMAP}: {error}");
    let pagemap = File::open(PAGEMAP).map_err(unreadable)?;
    let mut nodes = Vec::with_capacity(addresses.len());
    for &address in addresses {
        let answer = match entry(&pagemap, address / page_bytes).map_err(unreadable)? {
            entry if entry & PRESENT == 0 => -libc::ENOENT,
            entry if entry & EXCLUSIVE == 0 => -libc::EFAULT,
            _ => match ffi::node_of_page(address) {
                Ok(node) => node,
                Err(errno) if errno.forbids() => return Err(format!(", {GET_MEMPOLICY}: {errno}")),
                Err(errno) => -errno.0,
            },
        };
        nodes.push(answer);
    }
    Ok(nodes)
}

/// A page's entry; 0, as of a page that is not there, beyond the end of the address space.
fn entry(pagemap: &File, page: usize) -> io::Result<u64> {
    let mut entry = [0; size_of::<u64>()];
    let at = (page * size_of::<u64>()) as u64;
    match pagemap.read_exact_at(&mut entry, at) {
        Ok(()) => Ok(u64::from_ne_bytes(entry)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_of_one_node_answers_for_a_page_that_the_kernel_refuses() {
        let maps = "7f0000000000 default anon=4 dirty=4 N0=3 N1=1 kernelpagesize_kB=4\n\
                    7f0000100000 bind:1 file=/dev/nvidia0 mapped=512 N1=512 kernelpagesize_kB=4\n\
                    7f0000300000 default file=/dev/nvidia0\n\
                    7f0000400000 default file=/dev/nvidia0 mapped=2 N0=1 N1=1\n";
        // A page of the second mapping, all 512 of which are on node 1.
        assert_eq!(node_of_mapping(maps, 0x7f00_0010_2000), Some(1));
        // Memory of a process of its own, one of which nothing is counted, one of two nodes, and one before all.
        for address in [0x7f00_0000_0000, 0x7f00_0030_0000, 0x7f00_0040_0000, 0x1000] {
            assert_eq!(node_of_mapping(maps, address), None, "{address:x}");
        }
    }
}
