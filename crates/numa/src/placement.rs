//! [`placement`]: where the pages of a range of addresses are, as the kernel says.
//!
//! It asks and moves nothing. Pages change their node when the kernel balances or the administrator migrates, so ask
//! again after a measurement that matters.

use std::collections::BTreeMap;

use crate::error::NumaError;
use crate::ffi;
use crate::question::{MOVE_PAGES, nodes_of};

/// The most pages that are asked about; of a larger range as many pages are taken, spread evenly.
const SAMPLE_PAGES: u64 = 4096;

/// Where the pages of a range are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagePlacement {
    /// What answered: [`MOVE_PAGES`], [`GET_MEMPOLICY`](crate::GET_MEMPOLICY), or for some pages [`NUMA_MAPS`](crate::NUMA_MAPS).
    pub by: &'static str,
    /// Size of a page in bytes; a huge page is asked about once for each page of this size.
    pub page_bytes: usize,
    /// Pages in the range, the first and the last one in part perhaps.
    pub pages: u64,
    /// Pages the kernel was asked about: all, or [`SAMPLE_PAGES`] spread evenly from the first to the last.
    pub asked: u64,
    /// Pages on each node.
    pub per_node: BTreeMap<u32, u64>,
    /// Pages that have no memory yet (`ENOENT`): never touched, or swapped out.
    pub not_present: u64,
    /// Pages the kernel gives no node for, by error number; `EFAULT` (14) for the zero page, for device memory and for
    /// addresses that are not mapped.
    pub unanswered: BTreeMap<i32, u64>,
}

impl PagePlacement {
    /// The node that holds every page that was asked about; `None` where they differ or one has no answer.
    pub fn single_node(&self) -> Option<u32> {
        let (&node, &count) = self.per_node.first_key_value()?;
        (count == self.asked).then_some(node)
    }
}

/// Where the pages of `bytes` bytes from the address `start` on are; they need not be page aligned.
///
/// The range may be any memory of this process, also such as a vendor's library has pinned. An empty range has no pages.
/// Source: move_pages(2) without target nodes; where the system forbids that call, get_mempolicy(2) with `MPOL_F_NODE` and
/// `MPOL_F_ADDR` for pages that are there. By the second, what is not mapped counts as not present, and pages that other
/// mappings share have no answer.
///
/// # Errors
/// [`NumaError::Refused`]: both are refused.
pub fn placement(start: usize, bytes: usize) -> Result<PagePlacement, NumaError> {
    let page_bytes = ffi::page_bytes();
    let addresses = sample(start, bytes, page_bytes);
    let mut placement = PagePlacement {
        by: MOVE_PAGES,
        page_bytes,
        pages: page_count(start, bytes, page_bytes),
        asked: addresses.len() as u64,
        per_node: BTreeMap::new(),
        not_present: 0,
        unanswered: BTreeMap::new(),
    };
    if addresses.is_empty() {
        return Ok(placement);
    }
    let answers = nodes_of(&addresses, page_bytes)?;
    placement.by = answers.by;
    for answer in answers.nodes {
        match u32::try_from(answer) {
            Ok(node) => *placement.per_node.entry(node).or_default() += 1,
            Err(_) if answer == -libc::ENOENT => placement.not_present += 1,
            Err(_) => *placement.unanswered.entry(-answer).or_default() += 1,
        }
    }
    Ok(placement)
}

/// As [`placement`], and every page is asked about, however many there are: one part of [`SAMPLE_PAGES`] after the other.
pub fn placement_of_all(start: usize, bytes: usize) -> Result<PagePlacement, NumaError> {
    let page_bytes = ffi::page_bytes();
    let pages = page_count(start, bytes, page_bytes);
    let first = start - start % page_bytes;
    let mut all = placement(start, 0)?;
    all.pages = pages;
    for begin in (0..pages).step_by(SAMPLE_PAGES as usize) {
        let count = (pages - begin).min(SAMPLE_PAGES) as usize;
        let part = placement(first + begin as usize * page_bytes, count * page_bytes)?;
        all.by = part.by;
        all.asked += part.asked;
        all.not_present += part.not_present;
        for (node, count) in part.per_node {
            *all.per_node.entry(node).or_default() += count;
        }
        for (errno, count) in part.unanswered {
            *all.unanswered.entry(errno).or_default() += count;
        }
    }
    Ok(all)
}

/// The call that says where pages of this process are, `move_pages` or `get_mempolicy`; `None` where both are refused.
///
/// A filter that refuses a call stays as long as the process, so that one answer holds for all later questions.
pub fn answering_call() -> Option<&'static str> {
    let touched = 0_u8;
    placement(&raw const touched as usize, 1)
        .ok()
        .map(|answer| answer.by)
}

fn page_count(start: usize, bytes: usize, page_bytes: usize) -> u64 {
    match bytes {
        0 => 0,
        _ => ((start.saturating_add(bytes - 1)) / page_bytes - start / page_bytes + 1) as u64,
    }
}

/// Addresses of the pages to ask about, from the first to the last.
fn sample(start: usize, bytes: usize, page_bytes: usize) -> Vec<usize> {
    let pages = page_count(start, bytes, page_bytes);
    let asked = pages.min(SAMPLE_PAGES);
    let first = start - start % page_bytes;
    (0..asked)
        // `asked` is 4096 at most and `pages` 2^52, so that the product fits.
        .map(|i| {
            if asked > 1 {
                i * (pages - 1) / (asked - 1)
            } else {
                0
            }
        })
        .map(|page| first + page as usize * page_bytes)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_a_small_range_is_asked_about() {
        // Bytes 4000 to 12199 lie in the pages at 0, 4096 and 8192.
        assert_eq!(sample(4000, 8200, 4096), [0, 4096, 8192]);
        assert_eq!(sample(8192, 1, 4096), [8192]);
        assert_eq!(sample(8192, 4096, 4096), [8192]);
        assert!(sample(8192, 0, 4096).is_empty());
    }

    #[test]
    fn a_large_range_is_sampled_evenly_from_the_first_page_to_the_last() {
        // 1 GiB of 4 KiB pages: 262144 pages, 4096 of them, (262144 - 1) / 4095 = 64.02 pages apart.
        let addresses = sample(1 << 30, 1 << 30, 4096);
        assert_eq!(addresses.len(), 4096);
        assert_eq!(addresses[0], 1 << 30);
        assert_eq!(addresses[4095], (1 << 31) - 4096);
        for pair in addresses.windows(2) {
            let pages = (pair[1] - pair[0]) / 4096;
            assert!((64..=65).contains(&pages), "{pages}");
        }
    }

    #[test]
    fn a_single_node_needs_an_answer_for_every_page() {
        let mut placement = PagePlacement {
            by: MOVE_PAGES,
            page_bytes: 4096,
            pages: 10,
            asked: 10,
            per_node: BTreeMap::from([(1, 10)]),
            not_present: 0,
            unanswered: BTreeMap::new(),
        };
        assert_eq!(placement.single_node(), Some(1));
        placement.per_node = BTreeMap::from([(0, 1), (1, 9)]);
        assert_eq!(placement.single_node(), None);
        placement.per_node = BTreeMap::from([(1, 9)]);
        placement.not_present = 1;
        assert_eq!(placement.single_node(), None);
        placement.per_node.clear();
        assert_eq!(placement.single_node(), None);
    }
}
