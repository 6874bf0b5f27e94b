//! What every injected fault does, and what it leaves alone.

use crate::driver::support::*;
use boxfile::{Direction, Fault, HangOp, Link, sysfs};
use softbox::{Code, Failure, SoftDriver, ordinals};

#[test]
fn init_fails_or_hangs_when_told() {
    for (fault, expected) in [
        (Fault::InitFailure { code: 999 }, code(Code(999))),
        (
            Fault::Hang {
                op: HangOp::Init,
                device: None,
                pair: None,
                after_copies: 0,
            },
            Failure::Hang,
        ),
    ] {
        let mut described = plain();
        described.fault = vec![fault];
        let mut driver = SoftDriver::new(described.clone(), ordinals(&described, None), None);
        assert_eq!(driver.init(), Err(expected));
    }
}

/// Copies a pattern from device 0 to device 1 after enabling access, and answers what arrived.
fn arrives(driver: &mut SoftDriver, direct: bool) -> Vec<u8> {
    if direct {
        driver.enable_peer(0, 1).expect("enables");
    }
    let (a, b) = (
        driver.allocate(0, 100_000).expect("a"),
        driver.allocate(1, 100_000).expect("b"),
    );
    upload(driver, a, &mut pattern(100_000));
    let stream = driver.open_stream(0).expect("stream");
    driver.copy_d2d(b, a, 100_000, stream).expect("copies");
    driver.synchronize_stream(stream).expect("reports success");
    download(driver, b, 100_000)
}

#[test]
fn dropped_data_arrives_nowhere_and_staging_is_not_touched() {
    let fault = [Fault::DropData { pair: [0, 1] }];
    assert!(
        arrives(&mut with_faults(&fault), true)
            .iter()
            .all(|byte| *byte == 0)
    );
    assert!(arrives(&mut with_faults(&fault), false) == pattern(100_000));
}

#[test]
fn a_slow_way_is_slow_one_way_and_direct_only() {
    let fault = [Fault::SlowWay {
        pair: [0, 1],
        percent: 50,
    }];
    // 10 MB at 20 GB/s take 500 us, at half of that 1000; 3 us pass before a direct copy, 2 + 2 before a staged one at half of 25 GB/s.
    for (enabled, from, expected) in [(true, 0, 1003.0), (true, 1, 503.0), (false, 0, 804.0)] {
        let mut driver = with_faults(&fault);
        if enabled {
            driver.enable_peer(0, 1).expect("enables");
            driver.enable_peer(1, 0).expect("enables");
        }
        let buffers =
            [0, 1].map(|ordinal| driver.allocate(ordinal, 10_000_000).expect("allocates"));
        let stream = driver.open_stream(from).expect("stream");
        let found = time_us(&mut driver, from, stream, |driver| {
            driver
                .copy_d2d(buffers[1 - from], buffers[from], 10_000_000, stream)
                .expect("copies");
        });
        near(found, expected);
    }
}

#[test]
fn wrong_data_arrives_in_part() {
    let fault = Fault::WrongData {
        pair: Some([0, 1]),
        direction: None,
        device: None,
    };
    let found = arrives(&mut with_faults(&[fault]), true);
    let wrong: Vec<usize> = found
        .iter()
        .zip(pattern(100_000))
        .enumerate()
        .filter(|(_, (a, b))| **a != *b)
        .map(|(at, _)| at)
        .collect();
    // One byte in every 64 KiB (65536), and the last.
    assert_eq!(wrong, [0, 65_536, 99_999]);
    let up = Fault::WrongData {
        pair: None,
        direction: Some(Direction::H2d),
        device: Some(0),
    };
    let mut driver = with_faults(&[up]);
    let device = driver.allocate(0, 4).expect("allocates");
    upload(&mut driver, device, &mut [1, 2, 3, 4]);
    assert_eq!(download(&mut driver, device, 4), [!1, 2, 3, !4]);
}

#[test]
fn a_lost_device_stays_lost_and_the_others_go_on() {
    let mut driver = with_faults(&[Fault::DeviceLost {
        device: 0,
        after_copies: 2,
        off_the_bus: None,
    }]);
    let memory = driver.allocate(0, 4).expect("allocates");
    upload(&mut driver, memory, &mut [0; 4]);
    download(&mut driver, memory, 4);
    let stream = driver.null_stream(0).expect("null stream");
    assert_eq!(
        driver.copy_h2d(memory, host(&mut [0; 4]), 4, stream),
        Err(code(Code::LAUNCH_FAILED))
    );
    assert_eq!(
        driver.synchronize_stream(stream),
        Err(code(Code::LAUNCH_FAILED))
    );
    assert_eq!(driver.allocate(0, 1), Err(code(Code::LAUNCH_FAILED)));
    let other = driver.allocate(1, 4).expect("device 1 works");
    upload(&mut driver, other, &mut [9; 4]);
    assert_eq!(download(&mut driver, other, 4), [9; 4]);
}

#[test]
fn a_hung_peer_copy_hangs_its_wait_and_nothing_else() {
    let mut driver = with_faults(&[Fault::Hang {
        op: HangOp::Peer,
        device: None,
        pair: Some([0, 1]),
        after_copies: 1,
    }]);
    driver.enable_peer(0, 1).expect("enables");
    let (a, b) = (
        driver.allocate(0, 4).expect("a"),
        driver.allocate(1, 4).expect("b"),
    );
    let stream = driver.open_stream(0).expect("stream");
    driver.copy_d2d(b, a, 4, stream).expect("copies");
    driver.synchronize_stream(stream).expect("the first ends");
    driver.copy_d2d(b, a, 4, stream).expect("issuing returns");
    assert_eq!(driver.synchronize_stream(stream), Err(Failure::Hang));
    upload(&mut driver, a, &mut [1; 4]);
}

#[test]
fn a_retrained_link_is_slower_and_shows_in_the_tree() {
    let mut described = plain();
    described.fault = vec![Fault::Retrain {
        device: 1,
        after_copies: 1,
        generation: 4,
        width: 4,
    }];
    let root = std::env::temp_dir().join(format!("softbox-retrain-{}", std::process::id()));
    sysfs::write_tree(&described, &root).expect("written");
    let shown =
        |address| sysfs::current_link(&root, address).map(|link| (link.generation, link.width));
    let mut driver = SoftDriver::new(
        described.clone(),
        ordinals(&described, None),
        Some(root.clone()),
    );
    driver.init().expect("initialises");
    // The box lets device 1 idle at Gen1 x16.
    assert_eq!(shown("0000:61:00.0"), Some((1, 16)));
    driver.retain(1).expect("opens");
    assert_eq!(shown("0000:61:00.0"), Some((4, 16)));
    let device = driver.allocate(1, 10_000_000).expect("allocates");
    let buffer = driver.allocate_host(1, 10_000_000).expect("allocates");
    let stream = driver.open_stream(1).expect("stream");
    let mut copy = || {
        time_us(&mut driver, 1, stream, |driver| {
            driver
                .copy_h2d(device, pinned(buffer), 10_000_000, stream)
                .expect("copies");
        })
    };
    near(copy(), 402.0);
    // x16 to x4 at the same generation: a quarter of 25 GB/s; 2 us + 10 MB / 6.25 GB/s = 1602 us.
    near(copy(), 1602.0);
    assert_eq!(
        sysfs::current_link(&root, "0000:60:01.1"),
        Some(Link {
            generation: 4,
            width: 4
        })
    );
    assert_eq!(shown("0000:61:00.0"), Some((4, 4)));
    driver.release(1).expect("closes");
    assert_eq!(shown("0000:61:00.0"), Some((1, 16)));
    std::fs::remove_dir_all(&root).expect("removed");
}
