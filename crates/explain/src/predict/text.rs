//! A prediction for the terminal.

use comfy_table::{CellAlignment, Table, presets};

use super::result::{Predicted, Prediction};
use crate::range::Range;
use crate::text::{Topic, lines, list};
use crate::words::{ABSENT, inputs, simulated};

/// The prediction as text; lines are not wrapped.
#[must_use]
pub fn prediction_text(prediction: &Prediction) -> String {
    let mut text = simulated(prediction.simulated.as_deref());
    text.push_str(&format!(
        "{} on {}, {} sequences, {:.0} prompt and {:.0} output tokens, {}\n",
        prediction.model,
        prediction.gpu.as_deref().unwrap_or("GPUs without a name"),
        prediction.batch,
        prediction.input_tokens,
        prediction.output_tokens,
        prediction.engine.as_deref().unwrap_or("no engine")
    ));
    text.push_str(&format!(
        "predicted, not measured: median [5%, 95%] of {} draws\n\n",
        prediction.draws
    ));
    text.push_str(&sizes(prediction));
    for rate in &prediction.measured_rates {
        text.push_str(&format!(" {rate}\n"));
    }
    for size in &prediction.not_predicted {
        text.push_str(&format!(" {}\n", size.reason));
    }
    for size in &prediction.sizes {
        text.push_str(&parts(size));
    }
    text.push('\n');
    text.push_str(&list(Topic::Reservations.title(), &prediction.caveats));
    text.push_str(&list(
        "assumed or published, not measured here",
        &lines(&prediction.priors),
    ));
    text.push_str(&inputs(&prediction.inputs));
    // Tables are padded to their widest cell, which is a source of a hundred characters here.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.to_vec());
    table
}

fn right(table: &mut Table, columns: std::ops::Range<usize>) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn sizes(prediction: &Prediction) -> String {
    let speed_up = match prediction.speed_up_over {
        Some(over) => format!("speed-up over TP{over}"),
        None => "speed-up".to_owned(),
    };
    let mut table = table(&[
        "TP",
        "step ms",
        "TPOT ms",
        "tok/s while decoding",
        "TTFT alone ms",
        &speed_up,
        "from",
    ]);
    for size in &prediction.sizes {
        let serving = &size.serving;
        let speed_up = serving.speed_up.as_ref();
        // So that an interval is never rounded to nothing.
        let of_ttft = if serving.ttft_alone.high < 100.0 {
            1
        } else {
            0
        };
        table.add_row(vec![
            size.tp.to_string(),
            size.step.with_decimals(2),
            serving.tpot.with_decimals(2),
            serving.tokens_per_s.with_decimals(0),
            serving.ttft_alone.with_decimals(of_ttft),
            speed_up.map_or(ABSENT.to_owned(), |range: &Range| range.with_decimals(2)),
            size.level.to_string(),
        ]);
    }
    right(&mut table, 0..6);
    format!("{table}\n")
}

fn parts(size: &Predicted) -> String {
    let mut table = table(&["part", "ms a step", "evidence", "from"]);
    for part in &size.parts {
        table.add_row(vec![
            part.name.to_string(),
            part.ms.with_decimals(2),
            format!("{} ({})", part.grade, part.grade.meaning()),
            part.source.clone(),
        ]);
    }
    right(&mut table, 1..2);
    format!("\nTP{}\n{table}\n", size.tp)
}
