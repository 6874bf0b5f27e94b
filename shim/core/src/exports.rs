//! The exports: for each name a few instructions that ask [`enter`] for the real function, jump there and leave all arguments where they
//! are, so that no signature has to be known.

use crate::forward::enter;

/// Saves all registers that can hold arguments, asks [`enter`] for the way and goes it.
///
/// # Safety
/// Jumped to by an export alone, with the address of its entry in r11.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C" fn slow() {
    core::arch::naked_asm!(
        "push r9",
        "push r8",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        // The return address and six registers are 56 bytes: with 136 more the stack is aligned to 16.
        "sub rsp, 136",
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7",
        "movups [rsp + 16 * \\n], xmm\\n",
        ".endr",
        "mov [rsp + 128], rax",
        "mov rdi, r11",
        "lea rsi, [rsp + 136]",
        "call {enter}",
        "mov r11, rax",
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7",
        "movups xmm\\n, [rsp + 16 * \\n]",
        ".endr",
        "mov rax, [rsp + 128]",
        "add rsp, 136",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop r8",
        "pop r9",
        "jmp r11",
        enter = sym enter,
    )
}

/// Saves all registers that can hold arguments, asks [`enter`] for the way and goes it.
///
/// # Safety
/// Jumped to by an export alone, with the address of its entry in x16.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub unsafe extern "C" fn slow() {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-224]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "str x8, [sp, #80]",
        "stp q0, q1, [sp, #96]",
        "stp q2, q3, [sp, #128]",
        "stp q4, q5, [sp, #160]",
        "stp q6, q7, [sp, #192]",
        "mov x0, x16",
        "add x1, sp, #16",
        "bl {enter}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldr x8, [sp, #80]",
        "ldp q0, q1, [sp, #96]",
        "ldp q2, q3, [sp, #128]",
        "ldp q4, q5, [sp, #160]",
        "ldp q6, q7, [sp, #192]",
        "ldp x29, x30, [sp], #224",
        "br x16",
        enter = sym enter,
    )
}

/// The body of an export: to [`slow`], with the address of its entry.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! jump {
    ($entry:path) => {
        ::core::arch::naked_asm!(
            "lea r11, [rip + {entry}]",
            "jmp {slow}",
            entry = sym $entry,
            slow = sym $crate::slow,
        )
    };
}

/// The body of an export: to [`slow`], with the address of its entry.
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
#[macro_export]
macro_rules! jump {
    ($entry:path) => {
        ::core::arch::naked_asm!(
            "adrp x16, {entry}",
            "add x16, x16, :lo12:{entry}",
            "b {slow}",
            entry = sym $entry,
            slow = sym $crate::slow,
        )
    };
}

/// Exports the functions of a library: its row, the word of a list in `names`, and their prefix.
#[macro_export]
macro_rules! library {
    ($row:path, $list:ident, $prefix:literal) => {
        $crate::more!($row, $list, $prefix);

        $crate::forward! { $row, "", "tplens_soft_";
            Nothing: "box";
        }

        /// That this is a shim: a shim does not take another one for the real library.
        #[unsafe(no_mangle)]
        extern "C" fn tplens_shim() -> *const ::std::ffi::c_char {
            concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
        }
    };
}

/// Exports more functions of a library: those of another list, each with the profiling name beside it, which begins with p.
#[macro_export]
macro_rules! more {
    ($row:path, $list:ident, $prefix:literal) => {
        $crate::names! { $list forward! { $row, "", $prefix } }
        $crate::names! { $list forward! { $row, "p", $prefix } }
    };
}

/// Exports for the names of a list.
#[doc(hidden)]
#[macro_export]
macro_rules! forward {
    ($row:path, $before:literal, $prefix:literal; $($answer:ident: $($name:literal)+;)+) => {
        $($($crate::export! { $row, concat!($before, $prefix, $name), $answer })+)+
    };
}

/// One export.
#[doc(hidden)]
#[macro_export]
macro_rules! export {
    ($row:path, $name:expr, $answer:ident) => {
        const _: () = {
            static ENTRY: $crate::Entry =
                $crate::Entry::new(&$row, concat!($name, "\0"), $crate::Answer::$answer);

            #[unsafe(naked)]
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn export() {
                $crate::jump!(ENTRY)
            }
        };
    };
}
