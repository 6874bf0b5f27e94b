//! All tests of this package that use it from outside, in one program: linking each alone takes longer than running them.

mod foreign;
mod import_links;
mod records;
mod vllm_client;
