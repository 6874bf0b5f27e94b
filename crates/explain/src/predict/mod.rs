//! What a model's decode step will take on one GPU and on several, before it was served there.
//!
//! Every term is a distribution. What is not given is drawn from priors and said to be assumed.

mod check;
mod link;
mod parts;
mod prepare;
mod prompts;
mod result;
mod room;
mod work;

pub use link::{DESCRIBED, Link, PredictInputs};
pub use result::{
    Level, NotPredicted, PREDICTION_SCHEMA, PredictError, Predicted, Prediction, Serving,
};
pub use room::Room;
pub use work::predict;
