//! [`HugePages`]: larger pages for a region, how they are got, and whether they were given.

use std::fs;

use crate::error::{Errno, NumaError};
use crate::ffi::Mapping;

/// Which pages a region is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum HugePages {
    /// Ordinary ones; where transparent huge pages are set to `always`, the kernel may still give those.
    #[default]
    No,
    /// Transparent huge pages, asked for with madvise(2); the kernel gives ordinary ones where it has none.
    Advised,
    /// Pages that the administrator has reserved (`MAP_HUGETLB`), of the kernel's default size; refused where there are too few.
    Reserved,
}

/// What pages a region really has, from `/proc/self/smaps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSizes {
    /// The smallest size of a page of the mapping in bytes (`KernelPageSize`): that of a reserved huge page, or of an ordinary one.
    pub page_bytes: u64,
    /// Bytes in transparent huge pages (`AnonHugePages`), at most the region's. Where the kernel has joined the region with a
    /// neighbour, pages of that one may count.
    pub transparent_bytes: u64,
    /// The region's size in bytes.
    pub bytes: u64,
}

impl PageSizes {
    /// Bytes in huge pages of either kind; `ordinary` is the size of an ordinary page.
    pub fn huge_bytes(&self, ordinary: u64) -> u64 {
        if self.page_bytes > ordinary {
            self.bytes
        } else {
            self.transparent_bytes
        }
    }
}

/// The size of a huge page that is reserved or transparent here by default; `None` where the kernel has none.
///
/// Source: `Hugepagesize` of `/proc/meminfo`, and `hpage_pmd_size` for transparent ones.
pub fn huge_page_bytes(kind: HugePages) -> Option<usize> {
    match kind {
        HugePages::No => None,
        HugePages::Reserved => {
            let text = fs::read_to_string("/proc/meminfo").ok()?;
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("Hugepagesize:"))?;
            let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            kib.checked_mul(1024)
        }
        HugePages::Advised => {
            let path = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
            fs::read_to_string(path).ok()?.trim().parse().ok()
        }
    }
    .filter(|bytes| bytes.is_power_of_two())
}

/// Why reserved huge pages were refused.
pub(crate) fn refused(
    bytes: usize,
    page_bytes: usize,
    node: Option<u32>,
    errno: Errno,
) -> NumaError {
    let (folder, free) = reserved(page_bytes, node);
    NumaError::HugePages {
        pages: bytes.div_ceil(page_bytes),
        page_bytes,
        node,
        free,
        path: Some(format!("{folder}/nr_hugepages")),
        errno,
    }
}

/// Whether as many reserved pages are free on the node as a region takes; true where the kernel does not say.
///
/// A mapping is granted when the whole machine has enough; a bound one of too few on its node fails only when it is touched.
pub(crate) fn enough_free(bytes: usize, page_bytes: usize, node: u32) -> bool {
    let (_, free) = reserved(page_bytes, Some(node));
    free.is_none_or(|free| free >= bytes.div_ceil(page_bytes) as u64)
}

/// The folder of sysfs where reserved pages of a size are set, and how many are free.
fn reserved(page_bytes: usize, node: Option<u32>) -> (String, Option<u64>) {
    let above = match node {
        Some(node) => format!("/sys/devices/system/node/node{node}/hugepages"),
        None => "/sys/kernel/mm/hugepages".to_owned(),
    };
    let folder = format!("{above}/hugepages-{}kB", page_bytes / 1024);
    let free = fs::read_to_string(format!("{folder}/free_hugepages"));
    let free = free.ok().and_then(|text| text.trim().parse().ok());
    (folder, free)
}

/// What pages a mapping has.
pub(crate) fn sizes_of(mapping: &Mapping) -> Result<PageSizes, NumaError> {
    let path = "/proc/self/smaps";
    let unreadable = |reason: String| NumaError::Unreadable {
        path: path.to_owned(),
        reason,
    };
    let smaps = fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let bytes = mapping.as_slice().len();
    let start = mapping.start().as_ptr() as usize;
    sizes_in(&smaps, start, bytes)
        .ok_or_else(|| unreadable(format!("no mapping at {start:x} with its page size")))
}

/// The smallest page and the transparent huge pages of the mappings that a range touches.
fn sizes_in(smaps: &str, start: usize, bytes: usize) -> Option<PageSizes> {
    let mut page_bytes: Option<u64> = None;
    let mut transparent = 0_u64;
    let mut is_ours = false;
    for line in smaps.lines() {
        if let Some((first, last)) = bounds(line) {
            is_ours = first < start + bytes && last > start;
        } else if let Some((name, value)) = line.split_once(':').filter(|_| is_ours) {
            let Some(kib) = value
                .trim()
                .strip_suffix(" kB")
                .and_then(|kib| kib.parse::<u64>().ok())
            else {
                continue;
            };
            match name {
                "KernelPageSize" => {
                    let size = kib * 1024;
                    page_bytes = Some(page_bytes.map_or(size, |other| other.min(size)));
                }
                "AnonHugePages" => transparent += kib * 1024,
                _ => {}
            }
        }
    }
    Some(PageSizes {
        page_bytes: page_bytes?,
        transparent_bytes: transparent.min(bytes as u64),
        bytes: bytes as u64,
    })
}

/// First address and the one behind the last, where the line is the head of a mapping: `7f5c-7f5d rw-p ...`.
fn bounds(line: &str) -> Option<(usize, usize)> {
    let (first, last) = line.split_once(' ')?.0.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some((address(first)?, address(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
1000-3000 rw-p 00000000 00:00 0
KernelPageSize:        4 kB
AnonHugePages:         0 kB
200000-800000 rw-p 00000000 00:00 0
Size:               6144 kB
KernelPageSize:        4 kB
AnonHugePages:      4096 kB
THPeligible:           1
VmFlags: rd wr mr mw me ac sd hg
800000-c00000 rw-p 00000000 00:0f 99 /anon_hugepage (deleted)
KernelPageSize:     2048 kB
AnonHugePages:         0 kB
";

    #[test]
    fn the_pages_of_a_range_are_told_from_its_neighbours() {
        let sizes = sizes_in(SMAPS, 0x20_0000, 6 << 20).unwrap();
        assert_eq!((sizes.page_bytes, sizes.transparent_bytes), (4096, 4 << 20));
        assert_eq!(sizes.huge_bytes(4096), 4 << 20);
        let reserved = sizes_in(SMAPS, 0x80_0000, 4 << 20).unwrap();
        assert_eq!(
            (reserved.page_bytes, reserved.transparent_bytes),
            (2 << 20, 0)
        );
        assert_eq!(reserved.huge_bytes(4096), 4 << 20);
        let plain = sizes_in(SMAPS, 0x1000, 0x2000).unwrap();
        assert_eq!(plain.huge_bytes(4096), 0);
        assert_eq!(sizes_in(SMAPS, 0x4000, 0x1000), None);
    }
}
