//! What a captured text says, as text.

use topology::captured::{Captured, NamedGpu, PairTable};

use super::text::{ABSENT, NOT_TOLD, Page, legend, matrix, nodes, or_absent};

/// What a captured text says.
pub(super) fn of(captured: &Captured) -> String {
    let mut page = Page::default();
    page.line(&format!(
        "From a captured text of {}",
        captured.sources.join(", ")
    ));
    for contradiction in &captured.contradictions {
        page.line(&format!(
            "these may be of different machines, or one is cut short: {contradiction}"
        ));
    }
    // What a cut text lacks has to be seen before its matrix is.
    page.notes(&captured.open);
    if let Some(found) = &captured.matrix {
        page.title(&format!("Paths as {} names them", found.source));
        matrix(&mut page, found, None);
        legend(&mut page, &[found], NOT_TOLD);
        let labelled = found
            .ends
            .iter()
            .filter(|end| end.label.is_some() || end.address.is_some());
        let rows: Vec<Vec<String>> = labelled
            .map(|end| {
                vec![
                    end.name.clone(),
                    or_absent(end.address),
                    or_absent(end.label.as_ref()),
                ]
            })
            .collect();
        if !rows.is_empty() {
            page.title("Names");
            page.table(&["", "address", "what"], rows);
        }
    }
    for table in &captured.tables {
        pairs(&mut page, table);
    }
    gpus(&mut page, &captured.gpus);
    if !captured.nodes.is_empty() {
        nodes(&mut page, &captured.nodes);
    }
    page.finish()
}

fn pairs(page: &mut Page, table: &PairTable) {
    page.title(&format!("{} ({})", table.about, table.source));
    let head: Vec<&str> = std::iter::once("")
        .chain(table.ends.iter().map(String::as_str))
        .collect();
    let row = |(a, name): (usize, &String)| {
        let cells = (0..table.ends.len()).map(|b| table.cell(a, b).unwrap_or(ABSENT).to_owned());
        std::iter::once(name.clone()).chain(cells).collect()
    };
    page.table(&head, table.ends.iter().enumerate().map(row).collect());
}

fn gpus(page: &mut Page, gpus: &[NamedGpu]) {
    if gpus.is_empty() {
        return;
    }
    page.title("GPUs");
    let mut rows = Vec::new();
    for gpu in gpus {
        rows.push(vec![
            format!("GPU{}", gpu.number),
            or_absent(gpu.address),
            or_absent(gpu.name.as_ref()),
            or_absent(gpu.uuid.as_ref()),
        ]);
        for mig in &gpu.mig {
            rows.push(vec![
                format!("  MIG {}", mig.number),
                ABSENT.to_owned(),
                mig.profile.clone(),
                mig.uuid.clone(),
            ]);
        }
    }
    page.table(&["", "address", "what", "UUID"], rows);
}
