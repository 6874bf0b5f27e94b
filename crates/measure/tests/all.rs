//! All tests of this package that use it from outside, in one program: linking each alone takes longer than running them.

mod export_collectives;
mod export_vllm;
mod import_collectives;
mod import_contradictions;
mod import_links;
mod import_serve;
mod import_serve_findings;
mod records;
mod vllm_client;
