//! Which two sizes to serve for a speed-up: one GPU and several, or where the weights do not go into one, the smallest that they
//! go into. By the weights alone: a cache needs room beside them.

use crate::inputs::Inputs;

/// More GPUs than any server of one model is given here.
const MOST: u32 = 64;

/// What to serve, in words.
pub(super) fn to_serve(inputs: &Inputs) -> String {
    let tp = inputs.tp;
    let (Some(memory), Some(false)) = (inputs.around.memory_bytes, inputs.weights_fit(1)) else {
        return format!(
            "serve the same model with --tensor-parallel-size 1 and {}; where it does not fit one GPU, there is no speed-up to explain",
            tp.max(2)
        );
    };
    let model = &inputs.model;
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let why = format!(
        "{:.1} GB of weights do not go into one GPU's {:.1} GB",
        model.weight_bytes as f64 / 1e9,
        memory as f64 / 1e9
    );
    let mut doubled = std::iter::successors(Some(2_u32), |size| size.checked_mul(2));
    let least = doubled.find(|size| *size >= MOST || inputs.weights_fit(*size) == Some(true));
    let Some(least) = least.filter(|size| inputs.weights_fit(*size) == Some(true)) else {
        return format!("{why}, nor into those of {MOST}: name a smaller model");
    };
    // What was served already is one of both, where it is not the smallest.
    let has = |size: u32| inputs.known.gpus.is_none_or(|gpus| size <= gpus);
    let more = if tp > least && has(tp) { tp } else { 2 * least };
    if has(more) {
        return format!(
            "serve the same model with --tensor-parallel-size {least} and {more}, which its weights fit, and explain with --tp{least} and --tp{more}: {why}, so that there is no speed-up over one"
        );
    }
    let gpus = inputs.known.gpus.unwrap_or(0);
    let on_this = match has(least) {
        true => format!(
            "serve it with --tensor-parallel-size {least} over two links or settings and explain with --a and --b, or serve a smaller model with 1 and {least}"
        ),
        false => "serve a smaller model".to_owned(),
    };
    format!(
        "{on_this}: {why}, and no two sizes that its weights fit ({least} and {more}) are on this box of {gpus} GPUs, so that there is no speed-up to explain"
    )
}
