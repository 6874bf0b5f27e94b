//! How much of a GPU's memory its PCI window shows at once ("large BAR"): peers and the CPU reach no more than that.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::pci::attribute;
use crate::{PciDevice, Sysfs};

/// Flags of a line of `resource` (include/linux/ioport.h): memory, prefetchable, 64-bit.
const MEMORY: u64 = 0x0000_0200;
const PREFETCHABLE: u64 = 0x0000_2000;
const WIDE: u64 = 0x0010_0000;
/// A function has six windows; the lines after them are its ROM and, of a bridge, what lies below it.
const WINDOWS: usize = 6;
/// Where the memory's size is not known: a window without this feature has 256 MiB, one with it holds the memory.
const SURELY_LARGE: u64 = 1 << 30;

/// The window of a GPU's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeBar {
    /// Bytes that the window shows.
    pub window_bytes: u64,
    /// Bytes of the memory behind it; `None` where the kernel does not say.
    pub memory_bytes: Option<u64>,
}

impl LargeBar {
    /// Whether it shows all of the memory; where the memory's size is not known, whether it has 1 GiB or more.
    #[must_use]
    pub fn is_large(self) -> bool {
        self.window_bytes >= self.memory_bytes.unwrap_or(SURELY_LARGE)
    }
}

impl std::fmt::Display for LargeBar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = if self.is_large() { "large" } else { "small" };
        write!(f, "{size} ({} MiB", self.window_bytes >> 20)?;
        if let Some(memory) = self.memory_bytes {
            write!(f, " of {} MiB", memory >> 20)?;
        }
        f.write_str(")")
    }
}

/// The window of a GPU's memory: what AMD's driver says of it, else the largest one that could be it.
#[must_use]
pub fn large_bar(sysfs: &Sysfs, gpu: &PciDevice) -> Fact<LargeBar> {
    let number = |name: &str| attribute(sysfs, gpu.address, name)?.parse().ok();
    let told = number("mem_info_vis_vram_total").zip(number("mem_info_vram_total"));
    if let Some((window_bytes, memory_bytes)) = told {
        return Fact::Known(LargeBar {
            window_bytes,
            memory_bytes: Some(memory_bytes),
        });
    }
    let Some(resource) = attribute(sysfs, gpu.address, "resource") else {
        return Fact::unknown("its windows are not shown");
    };
    match largest_window(&resource) {
        Some(window_bytes) => Fact::Known(LargeBar {
            window_bytes,
            memory_bytes: None,
        }),
        None => Fact::unknown("it has no 64-bit prefetchable window"),
    }
}

/// The largest 64-bit prefetchable window in a `resource` file, whose lines are first byte, last byte and flags.
fn largest_window(resource: &str) -> Option<u64> {
    let window = |line: &str| {
        let mut fields = line
            .split_whitespace()
            .map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok());
        let (first, last, flags) = (fields.next()??, fields.next()??, fields.next()??);
        let wanted = MEMORY | PREFETCHABLE | WIDE;
        let bytes = last.checked_sub(first)?.checked_add(1)?;
        (flags & wanted == wanted).then_some(bytes)
    };
    resource.lines().take(WINDOWS).filter_map(window).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_the_largest_wide_prefetchable_one() {
        // A 16 MiB register window that is not prefetchable, 64 GiB from 0x380000000000 and 32 MiB, both prefetchable.
        let resource = "0x00000000b0000000 0x00000000b0ffffff 0x0000000000040200\n\
                        0x0000380000000000 0x0000380fffffffff 0x000000000014220c\n\
                        0x0000000000000000 0x0000000000000000 0x0000000000000000\n\
                        0x0000381000000000 0x0000381001ffffff 0x000000000014220c\n";
        assert_eq!(largest_window(resource), Some(64 << 30));
    }

    #[test]
    fn what_is_no_window_is_passed_over() {
        for resource in [
            "",
            "0x0 0xff",
            "zz zz zz",
            // Ends before it starts; the whole address space, whose size has no 64 bits.
            "0x10 0x0 0x142200\n0x0 0xffffffffffffffff 0x142200",
            // 32 bits only.
            "0x0 0xfffffff 0x42208",
        ] {
            assert_eq!(largest_window(resource), None, "{resource}");
        }
        // The seventh line is the ROM and what follows is not the function's own.
        let seventh = "-\n-\n-\n-\n-\n-\n0x0 0xfffffff 0x142208\n";
        assert_eq!(largest_window(seventh), None);
    }

    #[test]
    fn a_window_is_large_where_it_shows_all_of_the_memory() {
        let bar = |window_bytes, memory_bytes| LargeBar {
            window_bytes,
            memory_bytes,
        };
        for (bar, large, shown) in [
            (bar(256 << 20, None), false, "small (256 MiB)"),
            (bar(64 << 30, None), true, "large (65536 MiB)"),
            (
                bar(256 << 20, Some(32624 << 20)),
                false,
                "small (256 MiB of 32624 MiB)",
            ),
            (
                bar(32624 << 20, Some(32624 << 20)),
                true,
                "large (32624 MiB of 32624 MiB)",
            ),
        ] {
            assert_eq!((bar.is_large(), bar.to_string().as_str()), (large, shown));
        }
    }
}
