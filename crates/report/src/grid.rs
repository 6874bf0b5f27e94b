//! The lines and labels behind a picture of a number over bytes, both logarithmic.

use measure::unit::ByteCount;

use crate::scale::Log;
use crate::svg::{Anchor, Drawing};

/// Units that a size below the picture takes, with what is left free beside it.
const SIZE: f64 = 67.0;

/// Draws round values across from `left` to `right`, and sizes in powers of two from `top` to `bottom`.
pub(crate) fn grid(
    drawing: &mut Drawing,
    (across, up): (&Log, &Log),
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
) {
    for tick in up.ticks() {
        drawing.line("grid", (left, up.at(tick)), (right, up.at(tick)));
        let label = (left - 8.0, up.at(tick) + 4.0);
        drawing.text("tick", label, Anchor::End, &round(tick));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a picture is some hundred units wide"
    )]
    let most = ((right - left) / SIZE) as usize;
    for tick in across.powers(2.0, most) {
        drawing.line("grid", (across.at(tick), top), (across.at(tick), bottom));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a power of two within the sizes drawn"
        )]
        let size = ByteCount(tick.round() as u64).to_string();
        let label = (across.at(tick), bottom + 18.0);
        drawing.text("tick", label, Anchor::Middle, &size);
    }
}

/// A tick without the last digits of its binary form.
fn round(tick: f64) -> String {
    let text = format!("{tick:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
