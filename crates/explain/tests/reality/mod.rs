//! Natural experiments against what others measured and published: figures typed in from the sources named beside
//! them. Published servers are judged by the command line, in serve-bench.

mod links;
