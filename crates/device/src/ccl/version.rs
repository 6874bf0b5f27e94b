//! Versions as these libraries code them.

/// The version in words: two digits for the minor one from 2.9 on, one before (nccl.h, `NCCL_VERSION`). RCCL says the version of
/// the NCCL that it follows; that MCCL codes its version so too is assumed.
pub(super) fn version_text(code: u32) -> String {
    let major = if code < 10_000 { 1000 } else { 10_000 };
    let (major, rest) = (code / major, code % major);
    format!("{major}.{}.{}", rest / 100, rest % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_in_both_codings() {
        // nccl.h of 2.8.4, of 2.9.6, and the codes that nccl-tests printed for 2.27.3 and NCCL itself for 2.32.3.
        for (code, text) in [
            (2804, "2.8.4"),
            (20906, "2.9.6"),
            (22703, "2.27.3"),
            (23203, "2.32.3"),
        ] {
            assert_eq!(version_text(code), text);
        }
    }
}
