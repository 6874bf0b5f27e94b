//! Files of nccl-tests and nvbandwidth as a person reads them.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use view::Screen;

const SCREEN: Screen = Screen {
    width: 100,
    verbose: false,
    quiet: false,
    colour: false,
};

fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures");
    fixtures.join(name)
}

#[test]
fn times_of_nccl_tests_end_with_the_least_time_and_the_largest_rate() {
    let path = fixture("collectives/nccl-2.17-several.txt");
    let mut file = import::collectives::read_file(&path).unwrap();
    file.origin = "nccl.txt".to_owned();
    assert_snapshot!(view::foreign::collectives(&file).screen(SCREEN), @r#"
    sendrecv on 2 ranks, back_to_back
        size     us  95% interval  n  busbw GB/s
       1 KiB  17.90             —  1      0.0572
       1 MiB  55.50             —  1       18.89
      64 MiB  812.5             —  1       82.60

    sendrecv on 2 ranks: 17.9 us at 1 KiB, bus bandwidth 82.6 GB/s at 64 MiB.
    all_reduce of f32 on 2 ranks: 17.9 us at 1 KiB, bus bandwidth 82.6 GB/s at 64 MiB.
    ! not measured: alltoall_perf: not read here, its 3 rows are left out
    ! failed: all_gather_perf: common.cu:401 'remote process exited or there was a network error / '
    - Each time is a mean of one loop: no interval.
    Next: Explain a speed-up by these times.
          tplens explain --model M --tp1 A --tp2 B --allreduce nccl.txt
    "#);
}

#[test]
fn rates_of_nvbandwidth_are_a_row_for_each_test() {
    let path = fixture("links/nvbandwidth-0.8.json");
    let mut file = import::links::read(&path).unwrap();
    file.origin = "nvbandwidth.json".to_owned();
    assert_snapshot!(view::foreign::links(&file).screen(SCREEN), @r#"
    Tests
      test                        pairs              lowest  median  highest  unit
      h2d_pinned_ce                   2  26.30 host to GPU1   26.35    26.35  GB/s
      d2d_read_ce                     2  22.12 GPU1 to GPU0   22.20    22.20  GB/s
      d2d_bidir_read_ce, back         2  20.00 GPU0 to GPU1   20.00    20.00  GB/s
      d2d_bidir_read_ce, forward      2  21.00 GPU0 to GPU1   21.00    21.00  GB/s
      d2d_bidir_read_ce, sum          2  41.00 GPU0 to GPU1   41.00    41.00  GB/s

    h2d_pinned_ce: 26.3 GB/s over 2 pairs.
    d2d_read_ce: 22.1-22.2 GB/s over 2 pairs.
    d2d_bidir_read_ce, back: 20.0 GB/s over 2 pairs.
    ! all_to_one_write_ce not applicable: all_to_one_write_ce: Waived
    - Not used of the file: git_version.
    Next: Compare it with links of this machine.
          tplens compare nvbandwidth.json RESULT
    "#);
}

#[test]
fn a_rate_that_falls_and_directions_that_differ_are_said() {
    let mut file =
        import::collectives::read_file(&fixture("collectives/nccl-2.17-several.txt")).unwrap();
    // The largest message takes ten times as long as it did.
    let largest = file.values.iter().map(|value| value.bytes_per_rank).max();
    for value in &mut file.values {
        let is_largest = Some(value.bytes_per_rank) == largest;
        value.us *= if is_largest { 10.0 } else { 1.0 };
    }
    let screen = view::foreign::collectives(&file).screen(SCREEN);
    assert!(
        screen.contains("bus bandwidth 18.9 GB/s at 1 MiB, but 8.26 at 64 MiB."),
        "{screen}"
    );

    let mut file = import::links::read(&fixture("links/nvbandwidth-0.8.json")).unwrap();
    let mut back = file.values[0].clone();
    assert_eq!(back.ends.test, "h2d_pinned_ce");
    (back.ends.from, back.ends.to) = (back.ends.to, back.ends.from);
    back.ends.test = "d2h_pinned_ce".to_owned();
    back.value = 13.0;
    file.values.push(back);
    let screen = view::foreign::links(&file).screen(SCREEN);
    assert!(
        screen.contains("GB/s from the host and 13.0 to it"),
        "{screen}"
    );
}
