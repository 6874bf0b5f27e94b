//! What each case of `tplens p2p --list` moves: the streams that run at once, by the words of its row.
//!
//! This is written from the list's words, and shares no code with the program's own table.

use record::Endpoint;

use super::play::Route;
use super::routes::{HostMemory, Mover, Routes, Toward};
use super::solver::Question;

/// What a stream of a case does.
pub(crate) enum Way {
    /// Copies of the size that is asked, on engines of this ordinal or by kernels.
    Copies(Route, Option<usize>),
    /// Up to host memory on one ordinal's engines, down from it on another's.
    Relayed {
        up: (Route, usize),
        down: (Route, usize),
    },
    /// One kernel that loads again and again: what it takes before the first load, and each load, nanoseconds.
    Chase { launch_ns: f64, step_ns: f64 },
}

/// One stream.
pub(crate) struct Lane {
    pub(crate) name: String,
    pub(crate) way: Way,
}

/// What the number of a lane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// GB/s of each lane, and of all together where there are several.
    Bandwidth,
    /// Nanoseconds of one load.
    Latency,
    /// Microseconds from one copy to the next.
    Pace,
}

/// A case on its ends.
pub(crate) struct Lanes<'a> {
    pub(crate) routes: Routes<'a>,
    /// Position in the file by ordinal.
    pub(crate) physical: &'a [usize],
    pub(crate) question: &'a Question<'a>,
    mover: Mover,
}

impl<'a> Lanes<'a> {
    /// The lanes of a question, and what their numbers are.
    pub(crate) fn of(
        routes: Routes<'a>,
        physical: &'a [usize],
        question: &'a Question<'a>,
    ) -> (Told, Vec<Lane>) {
        let (base, mover) = match question.case.rsplit_once('_') {
            Some((base, "ce")) => (base, Mover::Engine),
            Some((base, "sm")) => (base, Mover::Kernel),
            _ => panic!("the case `{}` says not who moves the bytes", question.case),
        };
        let lanes = Self {
            routes,
            physical,
            question,
            mover,
        };
        let told = match base {
            "host_chase" | "local_chase" | "d2d_chase" => Told::Latency,
            small if small.starts_with("small_copy_") => Told::Pace,
            _ => Told::Bandwidth,
        };
        (told, lanes.streams(base))
    }

    fn streams(&self, base: &str) -> Vec<Lane> {
        use HostMemory::{Pageable, Pinned};
        use Toward::{Device, Host};
        match base {
            "h2d_pinned" | "small_copy_h2d" => self.with_host(Device, Pinned),
            "d2h_pinned" | "small_copy_d2h" => self.with_host(Host, Pinned),
            "h2d_pageable" => self.with_host(Device, Pageable),
            "d2h_pageable" => self.with_host(Host, Pageable),
            "host_bidir_pinned" => vec![
                self.host("forward", Device, Pinned, self.only()),
                self.host("back", Host, Pinned, self.only()),
            ],
            "local" => {
                let own = self.only();
                let route = self.routes.local(self.mover, self.physical[own]);
                vec![self.copies("bandwidth", route, own)]
            }
            "d2d_write" | "small_copy_d2d" => {
                let (a, b) = self.pair();
                vec![self.peer("bandwidth", a, b, a)]
            }
            "d2d_read" => {
                let (a, b) = self.pair();
                vec![self.peer("bandwidth", a, b, b)]
            }
            "d2d_bidir_write" => {
                let (a, b) = self.pair();
                vec![self.peer("forward", a, b, a), self.peer("back", b, a, b)]
            }
            "d2d_bidir_read" => {
                let (a, b) = self.pair();
                vec![self.peer("forward", a, b, b), self.peer("back", b, a, a)]
            }
            "d2d_staged" => self.relayed(),
            "host_to_all" => self
                .all(|lanes, j, device| lanes.host(&format!("share_{j}"), Device, Pinned, device)),
            "all_to_host" => {
                self.all(|lanes, j, device| lanes.host(&format!("share_{j}"), Host, Pinned, device))
            }
            "ring" => self.all(|lanes, j, device| {
                let all = lanes.question.all;
                lanes.peer(
                    &format!("share_{j}"),
                    device,
                    all[(j + 1) % all.len()],
                    device,
                )
            }),
            "all_pairs" => {
                let each = || self.question.all.iter().enumerate();
                each()
                    .flat_map(|(i, from)| each().map(move |(j, to)| (i, from, j, to)))
                    .filter(|(i, _, j, _)| i != j)
                    .map(|(i, from, j, to)| self.peer(&format!("share_{i}_{j}"), *from, *to, *from))
                    .collect()
            }
            "host_chase" => self.chase(self.only(), |kernels| kernels.host_chase_ns.value),
            "local_chase" => self.chase(self.only(), |kernels| kernels.local_chase_ns.value),
            "d2d_chase" => {
                let (a, b) = self.pair();
                let path = self.routes.0.peer_path(self.physical[a], self.physical[b]);
                self.chase(a, |_| path.chase_ns.unwrap())
            }
            other => panic!("the solver does not know the case `{other}`; teach it"),
        }
    }

    /// The one device of the ends, by ordinal.
    fn only(&self) -> usize {
        match (self.question.from, self.question.to) {
            (Endpoint::Device(one), _) | (_, Endpoint::Device(one)) => one,
            ends => panic!("no device at {ends:?}"),
        }
    }

    fn pair(&self) -> (usize, usize) {
        match (self.question.from, self.question.to) {
            (Endpoint::Device(a), Endpoint::Device(b)) => (a, b),
            ends => panic!("no pair: {ends:?}"),
        }
    }

    fn with_host(&self, toward: Toward, memory: HostMemory) -> Vec<Lane> {
        vec![self.host("bandwidth", toward, memory, self.only())]
    }

    fn host(&self, name: &str, toward: Toward, memory: HostMemory, device: usize) -> Lane {
        let physical = self.physical[device];
        let bytes = self.question.bytes;
        let route = self
            .routes
            .host(self.mover, toward, (memory, bytes), physical);
        self.copies(name, route, device)
    }

    fn peer(&self, name: &str, from: usize, to: usize, issuer: usize) -> Lane {
        let [a, b, by] = [from, to, issuer].map(|ordinal| self.physical[ordinal]);
        self.copies(name, self.routes.peer(self.mover, a, b, by), issuer)
    }

    fn copies(&self, name: &str, route: Route, issuer: usize) -> Lane {
        let engines = (self.mover == Mover::Engine).then_some(issuer);
        Lane {
            name: name.to_owned(),
            way: Way::Copies(route, engines),
        }
    }

    fn relayed(&self) -> Vec<Lane> {
        let (a, b) = self.pair();
        let half = |toward, ordinal: usize| {
            let physical = self.physical[ordinal];
            let route = self.routes.host(
                Mover::Engine,
                toward,
                (HostMemory::Pinned, self.question.bytes),
                physical,
            );
            (route, ordinal)
        };
        vec![Lane {
            name: "bandwidth".to_owned(),
            way: Way::Relayed {
                up: half(Toward::Host, a),
                down: half(Toward::Device, b),
            },
        }]
    }

    /// A lane for each device of the run, with its position.
    fn all(&self, lane: impl Fn(&Self, usize, usize) -> Lane) -> Vec<Lane> {
        let each = self.question.all.iter().enumerate();
        each.map(|(j, device)| lane(self, j, *device)).collect()
    }

    fn chase(&self, by: usize, step_ns: impl Fn(&boxfile::KernelFigures) -> f64) -> Vec<Lane> {
        let kernels = self.routes.kernels(self.physical[by]);
        vec![Lane {
            name: "latency".to_owned(),
            way: Way::Chase {
                launch_ns: kernels.launch_us.value * 1e3,
                step_ns: step_ns(kernels),
            },
        }]
    }
}
