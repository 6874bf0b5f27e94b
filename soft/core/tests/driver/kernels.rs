//! What kernels do and how long they take, by the text of the crate's head. Expected times are arithmetic in the test.

use crate::driver::support::*;
use boxfile::{Fault, Figure, Peer, WrongOp};
use softbox::{Code, Kernel, SoftDriver};

/// 10 MB: at 1 GB/s, which is 1 byte a nanosecond, 10 ms.
pub(crate) const BYTES: usize = 10_000_000;

pub(crate) fn copy(to: u64, from: u64, bytes: usize) -> Kernel {
    Kernel::Copy(to, from, bytes as u64 / 16)
}

/// Events around one kernel on a stream of device 0, in microseconds.
pub(crate) fn kernel_us(driver: &mut SoftDriver, kernel: Kernel) -> f64 {
    let stream = driver.null_stream(0).expect("null stream");
    time_us(driver, 0, stream, |driver| {
        driver.launch_kernel(kernel, stream).expect("launches");
    })
}

fn pair(driver: &mut SoftDriver, bytes: usize) -> (u64, u64) {
    (
        driver.allocate(0, bytes).expect("a"),
        driver.allocate(1, bytes).expect("b"),
    )
}

fn read_words(driver: &mut SoftDriver, from: u64, words: usize) -> Vec<u64> {
    download(driver, from, words * 8)
        .chunks(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
        .collect()
}

fn upload_words(driver: &mut SoftDriver, to: u64, words: &[u64]) {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    upload(driver, to, &mut bytes);
}

#[test]
fn copy_kernels_take_the_time_of_their_figures_and_move_bytes() {
    let mut driver = driver(&plain());
    let (a, b) = pair(&mut driver, BYTES);
    let own = driver.allocate(0, BYTES).expect("allocates");
    let host = driver.allocate_host(0, BYTES).expect("allocates") as u64;
    let mut sent = pattern(BYTES);
    upload(&mut driver, a, &mut sent);
    // 5 us + 10 MB / 16 GB/s = 630 us; back 5 us + 10 MB / 20 GB/s = 505 us; within the device 5 + 10 MB / 50 GB/s = 205.
    near(kernel_us(&mut driver, copy(host, a, BYTES)), 630.0);
    near(kernel_us(&mut driver, copy(own, host, BYTES)), 505.0);
    assert!(download(&mut driver, own, BYTES) == sent);
    near(kernel_us(&mut driver, copy(own, a, BYTES)), 205.0);
    driver.enable_peer(0, 1).expect("enables");
    // 5 + 3 us + 10 MB / 20 GB/s = 508 us, the pair's rate as it gives none for kernels.
    near(kernel_us(&mut driver, copy(b, a, BYTES)), 508.0);
    assert!(download(&mut driver, b, BYTES) == sent);
    near(kernel_us(&mut driver, copy(own, b, BYTES)), 508.0);
}

#[test]
fn a_spin_takes_its_time_and_noise_changes_only_its_launch() {
    // 5 us of launch and 40 us by the kernel's own clock.
    let spin = |duration_ns| Kernel::Spin(duration_ns);
    near(kernel_us(&mut driver(&plain()), spin(40_000)), 45.0);
    let mut described = plain();
    described.noise = Some(boxfile::Noise {
        seed: 5,
        cv: 0.1,
        slow_fraction: 0.0,
        slow_extra: 0.0,
    });
    let mut noisy = driver(&described);
    // Three standard deviations at most: 5 us x (1 - 0.3) to 5 us x (1 + 0.3) besides 1000 us.
    let found = kernel_us(&mut noisy, spin(1_000_000));
    assert!((1003.5..=1006.5).contains(&found), "{found}");
}

#[test]
fn reads_and_writes_of_a_pair_have_rates_of_their_own() {
    let mut described = plain();
    let own = |value| Some(Figure::assumed(value, "test"));
    described.peer.push(Peer {
        pair: [0, 1],
        access: None,
        fabric: None,
        gbps: None,
        latency_us: None,
        kernel_read: own(2.0),
        kernel_write: own(10.0),
        chase_ns: own(2500.0),
        segments: None,
        staged: false,
    });
    described.validate("test").expect("valid");
    let mut driver = driver(&described);
    driver.enable_peer(0, 1).expect("enables");
    let (a, b) = pair(&mut driver, BYTES);
    // A write: 8 us + 10 MB / 10 GB/s = 1008 us; a read: 8 us + 10 MB / 2 GB/s = 5008 us.
    near(kernel_us(&mut driver, copy(b, a, BYTES)), 1008.0);
    near(kernel_us(&mut driver, copy(a, b, BYTES)), 5008.0);
    let stream = driver.null_stream(0).expect("null stream");
    let found = time_us(&mut driver, 0, stream, |driver| {
        driver.copy_d2d(b, a, BYTES, stream).expect("copies");
    });
    // The copy engine is as good as before: 3 us + 10 MB / 20 GB/s.
    near(found, 503.0);
    // Six loads of 2.5 us and the launch: 5 + 15 us. The chain stands still at offset 0.
    let end = driver.allocate(0, 8).expect("allocates");
    let steps = Kernel::Chase(b, 6, end);
    near(kernel_us(&mut driver, steps), 20.0);
}

#[test]
fn kernels_take_no_engine_and_share_links_with_copies() {
    let mut described = plain();
    described.device[0].copy_engines = 1;
    let mut driver = driver(&described);
    let device = driver.allocate(0, BYTES).expect("allocates");
    let other = driver.allocate(0, BYTES).expect("allocates");
    let host = driver.allocate_host(0, BYTES).expect("allocates");
    let streams: Vec<u64> = (0..2)
        .map(|_| driver.open_stream(0).expect("stream"))
        .collect();
    let found = time_us(&mut driver, 0, streams[0], |driver| {
        driver
            .launch_kernel(copy(device, host as u64, BYTES), streams[0])
            .expect("launches");
        driver
            .copy_h2d(other, pinned(host), BYTES, streams[1])
            .expect("copies");
    });
    // The link takes 25 GB/s. From 2 to 5 us the copy has it alone: 75 kB. Then 12.5 each: 9.925 MB take 794 us, after which
    // the kernel has 75 kB left, at its 20 GB/s: 3.75 us. 5 + 794 + 3.75.
    near(found, 802.75);
}

#[test]
fn patterns_are_filled_and_checked() {
    let mut driver = driver(&plain());
    let words = 1_000_000_u64;
    let data = driver.allocate(0, 8_000_000).expect("allocates");
    let first_wrong = driver.allocate_host(0, 8).expect("allocates") as u64;
    let fill = |complement| Kernel::Fill(data, words, 77, complement);
    // 5 us + 8 MB / 50 GB/s = 165 us.
    near(kernel_us(&mut driver, fill(0)), 165.0);
    let found = read_words(&mut driver, data, 3);
    let expected = |index: u64| {
        // The pattern as the head of `crates/device/src/pattern.rs` and the kernels' sources have it.
        let mixed = (index ^ 77).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    };
    assert_eq!(found, [expected(0), expected(1), expected(2)]);
    let check = Kernel::Check(data, words, 77, first_wrong);
    let mark = driver.allocate(0, 8).expect("allocates");
    upload_words(&mut driver, mark, &[u64::MAX]);
    let check_into = |first_wrong| Kernel::Check(data, words, 77, first_wrong);
    near(kernel_us(&mut driver, check), 165.0);
    kernel_us(&mut driver, check_into(mark));
    assert_eq!(read_words(&mut driver, mark, 1), [u64::MAX]);
    // Word 4 and word 9 are wrong: the smaller stays, and a later check of good data does not raise it.
    upload_words(&mut driver, data + 9 * 8, &[0]);
    upload_words(&mut driver, data + 4 * 8, &[0]);
    kernel_us(&mut driver, check_into(mark));
    assert_eq!(read_words(&mut driver, mark, 1), [4]);
    kernel_us(&mut driver, fill(0));
    kernel_us(&mut driver, check_into(mark));
    assert_eq!(read_words(&mut driver, mark, 1), [4]);
    kernel_us(&mut driver, fill(1));
    assert_eq!(read_words(&mut driver, data, 1), [!expected(0)]);
}

#[test]
fn a_burn_takes_the_time_of_its_operations_and_finds_sums_right() {
    let mut described = plain();
    let mut with_rate = driver(&described);
    let first_wrong = with_rate.allocate(0, 8).expect("allocates");
    upload_words(&mut with_rate, first_wrong, &[u64::MAX]);
    let burn = |first_wrong| Kernel::Burn(1000, 2000, 1, first_wrong);
    // 5 us + 1000 x 2000 x 256 multiply-adds of 2 operations each at 10 TFLOP/s: 1.024e9 / 1e13 = 102.4 us.
    near(kernel_us(&mut with_rate, burn(first_wrong)), 107.4);
    assert_eq!(read_words(&mut with_rate, first_wrong, 1), [u64::MAX]);
    let figures = described.device[0].kernels.as_mut().expect("kernels");
    figures.fp32_tflops = None;
    let mut without = driver(&described);
    let answer = without.allocate(0, 8).expect("allocates");
    let stream = without.null_stream(0).expect("null stream");
    let refused = without.launch_kernel(burn(answer), stream);
    assert_eq!(refused, Err(code(Code::NOT_SUPPORTED)));
}

#[test]
fn a_faulty_device_flips_a_bit_or_sums_wrong_after_so_many_launches_and_others_do_not() {
    let mut described = plain();
    let wrong = |op| Fault::KernelWrong {
        device: 0,
        op,
        after_launches: 1,
    };
    described.fault = vec![wrong(WrongOp::Fill), wrong(WrongOp::Arithmetic)];
    described.validate("test").expect("valid");
    let mut driver = driver(&described);
    let data = driver.allocate(0, 800).expect("allocates");
    let answer = driver.allocate(0, 8).expect("allocates");
    let words = |complement| Kernel::Fill(data, 100, 5, complement);
    let burn = Kernel::Burn(10, 1, 1, answer);
    let mut run = |kernel| {
        upload_words(&mut driver, answer, &[u64::MAX]);
        kernel_us(&mut driver, kernel);
        (
            read_words(&mut driver, data, 100),
            read_words(&mut driver, answer, 1)[0],
        )
    };
    let (right, _) = run(words(0));
    let (found, _) = run(words(0));
    // Word 100 / 2, and no other.
    let wrong: Vec<usize> = (0..100).filter(|at| found[*at] != right[*at]).collect();
    assert_eq!(wrong, [50]);
    assert_eq!((found[50] ^ right[50]).count_ones(), 1);
    assert_eq!(run(burn).1, u64::MAX);
    assert_eq!(run(burn).1, 0);
}

#[test]
fn a_chase_follows_its_chain_and_takes_its_steps() {
    let mut driver = driver(&plain());
    let (own, peer) = pair(&mut driver, 64);
    let host = driver.allocate_host(0, 64).expect("allocates") as u64;
    let end = driver.allocate(0, 8).expect("allocates");
    // 0 -> 16 -> 8 -> 24 -> 0.
    let chain = [16, 24, 8, 0];
    upload_words(&mut driver, own, &chain);
    upload_words(&mut driver, peer, &chain);
    driver.enable_peer(0, 1).expect("enables");
    kernel_us(&mut driver, copy(host, own, 32));
    let chase = |base, steps| Kernel::Chase(base, steps, end);
    // 5 us + 10 x 0.4 us; ten steps are two laps and two steps more.
    near(kernel_us(&mut driver, chase(own, 10)), 9.0);
    assert_eq!(read_words(&mut driver, end, 1), [8]);
    near(kernel_us(&mut driver, chase(host, 3)), 8.0);
    assert_eq!(read_words(&mut driver, end, 1), [24]);
    near(kernel_us(&mut driver, chase(peer, 4)), 11.0);
    assert_eq!(read_words(&mut driver, end, 1), [0]);
    // Two words: the second step leads out of the allocation.
    upload_words(&mut driver, own, &[8, 4096]);
    let stream = driver.null_stream(0).expect("null stream");
    driver.launch_kernel(chase(own, 3), stream).expect("issued");
    assert_eq!(
        driver.synchronize_stream(stream),
        Err(code(Code::ILLEGAL_ADDRESS))
    );
}

#[test]
fn faults_of_a_pair_hit_copy_kernels_both_ways_round() {
    for (fault, arrives) in [
        (Fault::DropData { pair: [0, 1] }, false),
        (
            Fault::WrongData {
                pair: Some([0, 1]),
                direction: None,
                device: None,
            },
            false,
        ),
        (Fault::DropData { pair: [1, 0] }, true),
    ] {
        let mut driver = with_faults(std::slice::from_ref(&fault));
        driver.enable_peer(0, 1).expect("enables");
        driver.enable_peer(1, 0).expect("enables");
        let (a, b) = pair(&mut driver, MIB);
        let mut sent = pattern(MIB);
        upload(&mut driver, a, &mut sent);
        for reader in [0, 1] {
            // Written by device 0, then read by device 1: from 0 to 1 in both cases.
            let stream = driver.null_stream(reader).expect("null stream");
            upload(&mut driver, b, &mut vec![0; MIB]);
            driver
                .launch_kernel(copy(b, a, MIB), stream)
                .expect("launches");
            driver.synchronize_stream(stream).expect("ends");
            assert_eq!(download(&mut driver, b, MIB) == sent, arrives, "{fault:?}");
        }
    }
}
