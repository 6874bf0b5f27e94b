//! Facts that hold for the host's collectives besides: ranks that go, and ids of others.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use std::time::{Duration, Instant};

use device::collectives::{Collectives, Communicator, Element, Operation};
use device::host::{Host, HostCollectives, HostCommunicator};
use device::{Backend, Device, DeviceError, Result, Stream};

use crate::ranks::Seat;

/// Longer than a rank takes to notice that another is gone, on a busy machine too.
const SOON: Duration = Duration::from_secs(10);

fn device(host: &Host, ordinal: u32) -> device::host::Device {
    host.device(ordinal as usize).unwrap()
}

/// One all-reduce of some elements, waited for.
fn reduce(
    device: &device::host::Device,
    communicator: &HostCommunicator,
    elements: usize,
) -> Result<()> {
    let (stream, memory) = (device.stream()?, device.alloc(4096)?);
    let (at, kind) = ((&memory, 0), Element::F32);
    communicator.queue(Operation::AllReduce, at, at, elements, kind, &stream)?;
    stream.synchronize()
}

/// Rank 1 of 3 ends without a word after two calls; the others are reported by the next one which rank it was.
pub(crate) fn a_rank_that_dies_is_named(seat: &Seat) {
    let (host, library) = (Host::open().unwrap(), HostCollectives::open(None).unwrap());
    let device = device(&host, seat.rank);
    let communicator = seat.join(&library, &device);
    for _ in 0..2 {
        reduce(&device, &communicator, 8).unwrap();
    }
    if seat.rank == 1 {
        // No destructor runs: as if it had been killed.
        std::process::exit(0);
    }
    let began = Instant::now();
    let told = reduce(&device, &communicator, 8);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert!(
        matches!(told, Err(DeviceError::RankGone { rank: 1, .. })),
        "{told:?}"
    );
    // It stays broken, at once.
    for told in [
        communicator.async_error(),
        reduce(&device, &communicator, 8),
    ] {
        assert!(
            matches!(told, Err(DeviceError::RankGone { rank: 1, .. })),
            "{told:?}"
        );
    }
}
