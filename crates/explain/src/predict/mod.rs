//! What a model's decode step will take on one GPU and on several, before it was served there.
//!
//! Every term is a distribution. What is not given is drawn from priors and said to be assumed.

mod link;
mod parts;
mod prepare;
mod result;
mod work;

pub use link::{DESCRIBED, Link, PredictInputs};
pub use result::{
    Level, NotPredicted, PREDICTION_SCHEMA, PredictError, Predicted, Prediction, Serving, room,
};
pub use work::predict;
