//! Rendered tables from hand-made records, as a reader sees them.

mod collectives;
mod header;
mod links;
mod peers;
mod serve;
mod several;

use header::header;
