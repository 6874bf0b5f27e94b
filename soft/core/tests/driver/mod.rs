//! The simulated driver's calls on small boxes, in order of call and fault. The clock alone is tested in `simulation`.

mod calls;
mod faults;
mod gates;
mod graphs;
mod kernels;
mod nodes;
mod support;
