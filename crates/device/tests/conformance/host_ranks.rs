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

/// What two ranks say that are threads of this process.
fn two<T: Send>(
    first: impl FnOnce(&device::host::Device, HostCommunicator) -> T + Send,
    second: impl FnOnce(&device::host::Device, HostCommunicator) -> T + Send,
) -> (T, T) {
    let library = HostCollectives::open(None).unwrap();
    let id = library.unique_id().unwrap();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let device = device(&Host::open().unwrap(), 1);
            let communicator = library.join(&device, &id, 2, 1).unwrap();
            second(&device, communicator)
        });
        let device = device(&Host::open().unwrap(), 0);
        let communicator = library.join(&device, &id, 2, 0).unwrap();
        let said = first(&device, communicator);
        (said, other.join().unwrap())
    })
}

/// The other rank lives and does not call: only an abort ends the wait.
pub(crate) fn an_abort_ends_a_wait() {
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let (told, left) = two(
        move |device, communicator| {
            let (stream, memory) = (device.stream().unwrap(), device.alloc(64).unwrap());
            let (at, kind) = ((&memory, 0), Element::F32);
            communicator
                .queue(Operation::AllReduce, at, at, 8, kind, &stream)
                .unwrap();
            communicator.abort();
            let told = stream.synchronize();
            // The stream works on, and told its failure once.
            stream.synchronize().unwrap();
            drop(over);
            told
        },
        move |_, communicator| {
            // Ends when the sender is gone.
            is_over.recv().unwrap_err();
            drop(communicator);
            Ok(())
        },
    );
    left.unwrap();
    assert!(
        matches!(told, Err(DeviceError::CommunicatorBroken { .. })),
        "{told:?}"
    );
}
