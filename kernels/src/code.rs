//! The six kernels in the forms that vendors take: PTX that is kept, and HIP C++ behind its prelude.
//!
//! `cargo xtask kernels` makes the PTX and shows that the vendors' compilers take both forms; nothing is compiled here.

use std::ffi::CStr;

use device::kernel::KernelCode;

/// A kernel by the name of its files.
macro_rules! code {
    ($name:literal) => {
        KernelCode {
            name: text(concat!("tplens_", $name, "\0")),
            ptx: Some(text(concat!(
                include_str!(concat!("../ptx/", $name, ".ptx")),
                "\0"
            ))),
            hip: Some(text(concat!(
                include_str!("../cu/preludes/hip.h"),
                include_str!(concat!("../cu/", $name, ".cu")),
                "\0"
            ))),
        }
    };
}

/// `(const u32 *flag, u32 *answer, u64 timeout_ns)`, by one thread.
pub(crate) const GATE: KernelCode = code!("gate");
/// `(void *to, const void *from, u64 vectors)`, vectors of 16 bytes.
pub(crate) const COPY: KernelCode = code!("copy");
/// `(u64 *to, u64 words, u64 seed, u64 complement)`.
pub(crate) const FILL: KernelCode = code!("fill");
/// `(const u64 *data, u64 words, u64 seed, u64 *first_wrong)`.
pub(crate) const CHECK: KernelCode = code!("check");
/// `(const u8 *base, u64 steps, u64 *end)`, by one thread.
pub(crate) const CHASE: KernelCode = code!("chase");

/// `(u64 items, u64 rounds, u64 seed, u64 *first_wrong)`.
pub(crate) const BURN: KernelCode = code!("burn");

/// A text with a NUL at its end and nowhere else; else this does not compile.
const fn text(with_nul: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(with_nul.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a NUL at the end and nowhere else"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kernel and its number of parameters, each of 64 bits.
    const ALL: [(KernelCode, usize); 6] = [
        (GATE, 3),
        (COPY, 3),
        (FILL, 4),
        (CHECK, 4),
        (CHASE, 3),
        (BURN, 4),
    ];

    fn ptx(code: &KernelCode) -> &'static str {
        code.ptx.unwrap().to_str().unwrap()
    }

    /// The one line of a text that begins like this, without that beginning.
    fn line<'a>(text: &'a str, begins: &str) -> &'a str {
        let lines: Vec<_> = text
            .lines()
            .filter_map(|line| line.strip_prefix(begins))
            .collect();
        assert_eq!(lines.len(), 1, "{begins} in {text}");
        lines[0]
    }

    #[test]
    fn old_drivers_and_old_chips_take_the_ptx() {
        for (code, _) in ALL {
            let text = ptx(&code);
            // 6.4 is CUDA 10.1's; ld.acquire needs 6.0 and sm_70, the kernels nothing newer (PTX ISA, release notes).
            assert_eq!(line(text, ".version "), "6.4");
            assert_eq!(line(text, ".target "), "sm_75");
            assert_eq!(line(text, ".address_size "), "64");
            // What the driver is given is text up to a NUL, and text is ASCII (PTX ISA, source format).
            assert!(text.is_ascii());
        }
    }

    #[test]
    fn each_text_has_one_entry_with_the_parameters_that_launches_pass() {
        for (code, parameters) in ALL {
            let name = code.name.to_str().unwrap();
            let text = ptx(&code);
            let entry = line(text, ".visible .entry ");
            assert_eq!(entry, format!("{name}("));
            let list = text.split_once(entry).unwrap().1;
            let list = list.split_once(')').unwrap().0;
            let widths: Vec<_> = list
                .lines()
                .filter_map(|line| line.trim().strip_prefix(".param "))
                .map(|parameter| parameter.split_whitespace().next().unwrap())
                .collect();
            assert_eq!(widths, vec![".u64"; parameters], "{name}");
        }
    }

    #[test]
    fn a_copy_moves_16_bytes_at_once_and_loads_four_times_before_it_stores() {
        let text = ptx(&COPY);
        let moves: Vec<_> = text
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .filter(|word| word.starts_with("ld.global") || word.starts_with("st.global"))
            .collect();
        let (load, store) = ("ld.global.v4.u32", "st.global.v4.u32");
        // The loop of four, and the loop of the rest.
        let expected = [
            load, load, load, load, store, store, store, store, load, store,
        ];
        assert_eq!(moves, expected);
    }

    #[test]
    fn a_round_of_a_burn_is_256_multiply_adds_that_touch_no_memory() {
        let text = ptx(&BURN);
        assert_eq!(text.matches("fma.rn.f32").count(), 256);
        assert!(!text.contains("ld.global") && !text.contains("ld.local"));
        assert!(text.contains("atom.global.min.u64"));
    }

    #[test]
    fn what_is_waited_for_is_loaded_anew_each_time() {
        assert!(ptx(&GATE).contains("ld.acquire.sys.u32"));
        assert!(ptx(&CHASE).contains("ld.volatile.global.u64"));
        assert!(ptx(&CHECK).contains("atom.global.min.u64"));
    }

    #[test]
    fn the_hip_form_declares_the_same_kernel() {
        for (code, parameters) in ALL {
            let text = code.hip.unwrap().to_str().unwrap();
            let name = code.name.to_str().unwrap();
            let head = format!("TPLENS_KERNEL void {name}(");
            let list = text.split_once(&head).unwrap().1.split_once(')').unwrap().0;
            assert_eq!(list.split(',').count(), parameters, "{name}");
        }
    }
}
