//! A line of the monitor as a person reads it.

use record::unit::ByteCount;
use record::{MonitorHeader, MonitorLine, MonitorValues};

/// The line.
pub(super) fn text(line: &MonitorLine, header: &MonitorHeader) -> String {
    let label = |device: usize| {
        let device = header.devices.get(device);
        device.map_or("?", |device| device.label.as_str())
    };
    let what = match line {
        MonitorLine::Header(header) => {
            let soft = header.soft_box.iter();
            let soft =
                soft.map(|name| format!("SIMULATED machine {name}, numbers are arithmetic\n"));
            let names = header.devices.iter();
            let names = names.map(|device| format!("{}: {}\n", device.label, device.name));
            let lines: String = soft.chain(names).collect();
            return lines + "Ctrl-C ends this; --json shows every value and what is not available";
        }
        MonitorLine::Sample(sample) => format!("{} {}", label(sample.device), told(&sample.values)),
        MonitorLine::Late(late) => format!("{} {}", label(late.device), late.what),
        MonitorLine::Cpu(cpu) => {
            let nodes = cpu.by_node.iter();
            let nodes = nodes.map(|used| format!("{:.2} on node {}, ", used.cpus, used.node));
            let nodes: String = nodes.collect();
            let (pid, unplaced) = (cpu.pid, cpu.unplaced);
            format!("process {pid} used CPUs: {nodes}{unplaced:.2} elsewhere")
        }
        MonitorLine::Gone { pid, .. } => format!("process {pid} ended"),
        MonitorLine::Lost { what, .. } => what.clone(),
        MonitorLine::End(end) => format!("{} readings, end: {}", end.samples, end.reason),
    };
    format!("{:7.1} s  {what}", line.written_ns() as f64 / 1e9)
}

/// The values that are there, in short.
fn told(values: &MonitorValues) -> String {
    let link = values.slot_link.or(values.device_link);
    let bytes = values.pcie_rx_kb_per_s.zip(values.pcie_tx_kb_per_s);
    let held = values.throttle.as_ref().filter(|held| !held.is_empty());
    let gb = |kb: u32| f64::from(kb) / 1e6;
    let parts = [
        link.map(|link| link.to_string()),
        bytes.map(|(rx, tx)| format!("in {:.2} out {:.2} GB/s", gb(rx), gb(tx))),
        values
            .utilisation_percent
            .map(|busy| format!("{busy}% busy")),
        values.sm_clock_mhz.map(|clock| format!("{clock} MHz")),
        values.power_w.map(|power| format!("{power:.0} W")),
        values.temperature_c.map(|degrees| format!("{degrees} °C")),
        values
            .memory_used_bytes
            .map(|used| format!("{} used", ByteCount(used))),
        held.map(|held| format!("held by {}", held.join(", "))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "no value is available".to_owned(),
        false => parts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_gets_the_values_that_are_there() {
        let values = MonitorValues {
            slot_link: topology::PcieLink::new(4, 16).ok(),
            pcie_rx_kb_per_s: Some(1_250_000),
            pcie_tx_kb_per_s: Some(0),
            power_w: Some(251.4),
            throttle: Some(Vec::new()),
            ..MonitorValues::default()
        };
        // 1,250,000 KB/s are 1.25 GB/s.
        assert_eq!(told(&values), "Gen4 x16, in 1.25 out 0.00 GB/s, 251 W");
    }
}
