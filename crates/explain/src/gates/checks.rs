//! All gates, in the order in which they are shown: a cause stands before what follows from it.

use measure::import::ServeRun;

use super::compared::{equal_batch, equal_length, several_faster};
use super::evidence::{held_alike, transport, unthrottled};
use super::files::{
    both_runs, collectives_right, model_asked, one_origin, same_model, weights_fit, weights_read,
};
use super::gate::Gate;
use super::of_run::{
    closed_loop, fixed_output, in_flight, no_failures, one_token, pure_decode, times_agree,
    two_tokens,
};
use crate::inputs::Inputs;

type OfRun = fn(&Inputs, &ServeRun) -> Gate;
type OfAll = fn(&Inputs) -> Gate;

/// Gates on whether the files belong together.
pub(super) const OF_FILES: [OfAll; 7] = [
    one_origin,
    collectives_right,
    both_runs,
    same_model,
    model_asked,
    weights_fit,
    weights_read,
];

/// Gates on one run.
pub(super) const OF_A_RUN: [OfRun; 9] = [
    no_failures,
    closed_loop,
    in_flight,
    one_token,
    pure_decode,
    fixed_output,
    two_tokens,
    times_agree,
    unthrottled,
];

/// Gates on what is compared. A batch that is not equal follows from failures and empty slots as a rule.
pub(super) const OF_COMPARED: [OfAll; 5] = [
    equal_batch,
    equal_length,
    several_faster,
    held_alike,
    transport,
];
