//! The forms in which collectives are shown beside tables and CSV: the text of nccl-tests, and pictures.

mod forms;
mod pictures;

pub(crate) use forms::Forms;
