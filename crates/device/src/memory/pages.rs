//! Pages of this machine for a kind of host memory; nobody is given them here.

use numa::{HostPages, HugePages, NumaError, Placement, huge_page_bytes};

use super::kind::HostKind;

/// Pages on a node of this machine.
pub(super) fn of_machine(
    kind: HostKind,
    bytes: usize,
    node: Option<u32>,
) -> Result<HostPages, NumaError> {
    let placement = Placement {
        node,
        lock: kind == HostKind::Pinned,
        ..Placement::default()
    };
    if kind == HostKind::HugePages {
        huge_pages(bytes, placement)
    } else {
        HostPages::allocate(bytes, &placement)
    }
}

/// Huge pages that are reserved; where there are too few, transparent ones, if all of it was given as such. Ordinary pages are
/// not given in their stead.
fn huge_pages(bytes: usize, wanted: Placement) -> Result<HostPages, NumaError> {
    let of = |huge| HostPages::allocate(bytes, &Placement { huge, ..wanted });
    let refused = match of(HugePages::Reserved) {
        Err(refused @ NumaError::HugePages { .. }) => refused,
        answer => return answer,
    };
    let Some(page) = huge_page_bytes(HugePages::Advised) else {
        return Err(refused);
    };
    // Only whole huge pages are given; what is beyond `bytes` of the last one is not used.
    let whole = bytes.checked_next_multiple_of(page).filter(|_| bytes > 0);
    let Some(whole) = whole else {
        return Err(refused);
    };
    let advised = Placement {
        huge: HugePages::Advised,
        ..wanted
    };
    let pages = HostPages::allocate(whole, &advised)?;
    let given = pages.page_sizes()?.transparent_bytes;
    if given >= whole as u64 {
        Ok(pages)
    } else {
        Err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_given_for_the_whole_or_refused_in_words() {
        // Less than a page of 2 MiB, one, and one and a part.
        for bytes in [1, 2 << 20, (2 << 20) + 1] {
            match of_machine(HostKind::HugePages, bytes, None) {
                Ok(pages) => {
                    let ordinary = HostPages::allocate(1, &Placement::default()).unwrap();
                    let ordinary = ordinary.page_sizes().unwrap().page_bytes;
                    let huge = pages.page_sizes().unwrap().huge_bytes(ordinary);
                    assert!(huge >= bytes as u64, "{huge} of {bytes}");
                }
                Err(refused) => {
                    assert!(matches!(refused, NumaError::HugePages { .. }), "{refused}");
                    assert!(refused.to_string().contains("nr_hugepages"), "{refused}");
                }
            }
        }
    }

    #[test]
    fn no_bytes_of_huge_pages_are_refused() {
        let refused = of_machine(HostKind::HugePages, 0, None);
        assert!(matches!(refused, Err(NumaError::Map { .. })), "{refused:?}");
    }
}
