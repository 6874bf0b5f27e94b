//! Two links, two sizes, first tokens, and what refused cases still tell, on cases whose answer is arithmetic.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

pub(crate) mod cases;
mod launches;
mod two_links;
