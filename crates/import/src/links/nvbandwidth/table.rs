//! Which test of nvbandwidth is which case of ours, and what a cell of its matrix stands for.
//!
//! The arrows in its headers are not read: a write prints `GPU(row) <- GPU(column)` while data moves from row to column, a
//! read the other way round. In both the row's device issues the copy. Its `all_to_one_read` moves data from the one device
//! to all, read by each of them (and prints "outbound"), so it is our `one_to_all_read`, and the other way round. Source:
//! nvbandwidth v0.8, testcases_ce.cpp, testcases_sm.cpp, testcase.cpp.

use std::sync::LazyLock;

use record::Endpoint::{self, All, Device, Host};
use record::quantity::Unit;

/// What a cell stands for, given its row and column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Host to the column's device.
    Down,
    /// The column's device to the host.
    Up,
    /// Host to the column's device while a copy runs the other way.
    DownOfBoth,
    /// The column's device to the host while a copy runs the other way.
    UpOfBoth,
    /// Within the column's device.
    Local,
    /// The column's device reads host memory, one address after another.
    HostChase,
    /// Host to the column's device while all others are served, too.
    DownOfAll,
    /// The column's device to the host while all others send, too.
    UpOfAll,
    /// Host to the column's device while everything else runs both ways.
    DownOfAllBoth,
    /// The column's device to the host while everything else runs both ways.
    UpOfAllBoth,
    /// From all others to the column's device, together.
    Inbound,
    /// From the column's device to all others, together.
    Outbound,
    /// Row to column, issued by the row.
    Write,
    /// Column to row, issued by the row.
    Read,
    /// The row's device reads the column's memory, one address after another.
    Chase,
    /// Both ways at once: column to row.
    TowardsRow,
    /// Both ways at once: row to column.
    TowardsColumn,
    /// Both ways at once: the sum of both rates, which is more than our total of bytes over the time of both where one ends first.
    Total,
}

impl Cell {
    /// Whether the matrix has one row, not one for each device.
    pub fn is_row(self) -> bool {
        !matches!(
            self,
            Self::Write
                | Self::Read
                | Self::Chase
                | Self::TowardsRow
                | Self::TowardsColumn
                | Self::Total
        )
    }

    /// The unit of its numbers.
    pub fn unit(self) -> Unit {
        match self {
            Self::HostChase | Self::Chase => Unit::Nanoseconds,
            _ => Unit::GbPerS,
        }
    }

    /// Where the data of a cell comes from and goes to, and the name of our number; devices by row and column.
    pub fn ends(self, row: usize, column: usize) -> (Endpoint, Endpoint, String) {
        let (from, to, name) = match self {
            Self::Down => (Host, Device(column), "bandwidth"),
            Self::Up => (Device(column), Host, "bandwidth"),
            Self::DownOfBoth => (Host, Device(column), "forward"),
            Self::UpOfBoth => (Host, Device(column), "back"),
            Self::Local => (Device(column), Device(column), "bandwidth"),
            Self::HostChase => (Host, Device(column), "latency"),
            Self::DownOfAll => return (Host, All, format!("share_{column}")),
            Self::UpOfAll => return (All, Host, format!("share_{column}")),
            Self::DownOfAllBoth => return (Host, All, format!("forward_{column}")),
            Self::UpOfAllBoth => return (Host, All, format!("back_{column}")),
            Self::Inbound => (All, Device(column), "total"),
            Self::Outbound => (Device(column), All, "total"),
            Self::Write => (Device(row), Device(column), "bandwidth"),
            Self::Read => (Device(column), Device(row), "bandwidth"),
            Self::Chase => (Device(row), Device(column), "latency"),
            Self::TowardsRow => (Device(row), Device(column), "back"),
            Self::TowardsColumn => (Device(row), Device(column), "forward"),
            Self::Total => (Device(row), Device(column), "sum"),
        };
        (from, to, name.to_owned())
    }
}

/// A matrix of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// nvbandwidth's name of the test.
    pub name: String,
    /// What is appended to it where the test has several matrices, as in its `SUM` lines.
    pub suffix: &'static str,
    /// Our case's key.
    pub case: String,
    /// What stands above its matrix.
    pub description: String,
    /// What its cells are.
    pub cell: Cell,
}

/// A row of the table: name, suffix, case, description, cell. `@` stands for the engine, `#` for the same in capitals.
type Row = (&'static str, &'static str, &'static str, &'static str, Cell);

/// Tests that exist for both engines, in nvbandwidth's order.
#[rustfmt::skip]
const BY_ENGINE: [Row; 20] = [
    ("host_to_device_memcpy_@", "", "h2d_pinned_@", "memcpy # CPU(row) -> GPU(column) bandwidth (GB/s)", Cell::Down),
    ("device_to_host_memcpy_@", "", "d2h_pinned_@", "memcpy # CPU(row) <- GPU(column) bandwidth (GB/s)", Cell::Up),
    ("host_to_device_bidirectional_memcpy_@", "", "host_bidir_pinned_@", "memcpy # CPU(row) <-> GPU(column) bandwidth (GB/s)", Cell::DownOfBoth),
    ("device_to_host_bidirectional_memcpy_@", "", "host_bidir_pinned_@", "memcpy # CPU(row) <-> GPU(column) bandwidth (GB/s)", Cell::UpOfBoth),
    ("device_to_device_memcpy_read_@", "", "d2d_read_@", "memcpy # GPU(row) -> GPU(column) bandwidth (GB/s)", Cell::Read),
    ("device_to_device_memcpy_write_@", "", "d2d_write_@", "memcpy # GPU(row) <- GPU(column) bandwidth (GB/s)", Cell::Write),
    ("device_to_device_bidirectional_memcpy_read_@", "_read1", "d2d_bidir_read_@", "memcpy # GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)", Cell::TowardsRow),
    ("device_to_device_bidirectional_memcpy_read_@", "_read2", "d2d_bidir_read_@", "memcpy # GPU(row) <-> GPU(column) Read2 bandwidth (GB/s)", Cell::TowardsColumn),
    ("device_to_device_bidirectional_memcpy_read_@", "_total", "d2d_bidir_read_@", "memcpy # GPU(row) <-> GPU(column) Total bandwidth (GB/s)", Cell::Total),
    ("device_to_device_bidirectional_memcpy_write_@", "_write1", "d2d_bidir_write_@", "memcpy # GPU(row) <-> GPU(column) Write1 bandwidth (GB/s)", Cell::TowardsRow),
    ("device_to_device_bidirectional_memcpy_write_@", "_write2", "d2d_bidir_write_@", "memcpy # GPU(row) <-> GPU(column) Write2 bandwidth (GB/s)", Cell::TowardsColumn),
    ("device_to_device_bidirectional_memcpy_write_@", "_total", "d2d_bidir_write_@", "memcpy # GPU(row) <-> GPU(column) Total bandwidth (GB/s)", Cell::Total),
    ("all_to_host_memcpy_@", "", "all_to_host_@", "memcpy # CPU(row) <- GPU(column) bandwidth (GB/s)", Cell::UpOfAll),
    ("all_to_host_bidirectional_memcpy_@", "", "host_all_bidir_@", "memcpy # CPU(row) <-> GPU(column) bandwidth (GB/s)", Cell::UpOfAllBoth),
    ("host_to_all_memcpy_@", "", "host_to_all_@", "memcpy # CPU(row) -> GPU(column) bandwidth (GB/s)", Cell::DownOfAll),
    ("host_to_all_bidirectional_memcpy_@", "", "host_all_bidir_@", "memcpy # CPU(row) <-> GPU(column) bandwidth (GB/s)", Cell::DownOfAllBoth),
    ("all_to_one_write_@", "", "all_to_one_write_@", "memcpy # GPU(row) <- GPU(column) bandwidth (GB/s)", Cell::Inbound),
    ("all_to_one_read_@", "", "one_to_all_read_@", "memcpy # GPU(row) -> GPU(column) bandwidth (GB/s)", Cell::Outbound),
    ("one_to_all_write_@", "", "one_to_all_write_@", "memcpy # GPU(row) -> GPU(column) bandwidth (GB/s)", Cell::Outbound),
    ("one_to_all_read_@", "", "all_to_one_read_@", "memcpy # GPU(row) <- GPU(column) bandwidth (GB/s)", Cell::Inbound),
];

/// Tests that exist once.
#[rustfmt::skip]
const ONCE: [Row; 3] = [
    ("host_device_latency_sm", "", "host_chase_sm", "memory latency SM CPU(row) <-> GPU(column) (ns)", Cell::HostChase),
    ("device_to_device_latency_sm", "", "d2d_chase_sm", "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)", Cell::Chase),
    ("device_local_copy", "", "local_ce", "memcpy local GPU(column) bandwidth (GB/s)", Cell::Local),
];

/// All matrices that are both nvbandwidth's and ours, in its order.
pub static TESTS: LazyLock<Vec<Test>> = LazyLock::new(|| {
    let test = |row: &Row, engine: &str| {
        let filled = |text: &str| {
            text.replace('@', engine)
                .replace('#', &engine.to_ascii_uppercase())
        };
        Test {
            name: filled(row.0),
            suffix: row.1,
            case: filled(row.2),
            description: filled(row.3),
            cell: row.4,
        }
    };
    ["ce", "sm"]
        .iter()
        .flat_map(|engine| BY_ENGINE.iter().map(move |row| test(row, engine)))
        .chain(ONCE.iter().map(|row| test(row, "")))
        .collect()
});

/// The matrices of a name: of a whole test, or of one matrix with its suffix.
pub(super) fn named(name: &str) -> Vec<&'static Test> {
    let whole: Vec<&Test> = TESTS.iter().filter(|test| test.name == name).collect();
    if !whole.is_empty() {
        return whole;
    }
    let one = TESTS.iter().filter(|test| {
        name.strip_prefix(test.name.as_str())
            .is_some_and(|suffix| suffix == test.suffix)
    });
    one.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_its_matrices() {
        let cells = |name: &str| named(name).iter().map(|test| test.cell).collect::<Vec<_>>();
        assert_eq!(cells("host_to_device_memcpy_sm"), [Cell::Down]);
        let both = "device_to_device_bidirectional_memcpy_write_ce";
        assert_eq!(
            cells(both),
            [Cell::TowardsRow, Cell::TowardsColumn, Cell::Total]
        );
        assert_eq!(cells(&format!("{both}_total")), [Cell::Total]);
        assert_eq!(cells("multinode_device_to_device_memcpy_read_ce"), []);
        assert_eq!(cells(&format!("{both}_read1")), []);
    }

    #[test]
    fn what_moves_is_told_by_the_test_and_not_by_the_arrow() {
        // Row 0, column 1: a write goes from 0 to 1, a read from 1 to 0, whichever way the arrow of the header points.
        let ends = |name: &str| named(name)[0].cell.ends(0, 1);
        let name = || "bandwidth".to_owned();
        assert_eq!(
            ends("device_to_device_memcpy_write_ce"),
            (Device(0), Device(1), name())
        );
        assert_eq!(
            ends("device_to_device_memcpy_read_ce"),
            (Device(1), Device(0), name())
        );
        assert!(
            named("device_to_device_memcpy_write_ce")[0]
                .description
                .contains("<-")
        );
    }

    #[test]
    fn reads_of_many_are_named_after_their_issuers_there() {
        assert_eq!(named("all_to_one_read_ce")[0].case, "one_to_all_read_ce");
        assert_eq!(named("one_to_all_read_sm")[0].case, "all_to_one_read_sm");
        assert_eq!(named("all_to_one_write_ce")[0].case, "all_to_one_write_ce");
    }
}
