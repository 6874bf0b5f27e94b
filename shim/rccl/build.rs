//! Gives the library the name by which the loader knows the one that it stands before. It builds nothing.
#![forbid(unsafe_code)]

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,librccl.so.1");
}
