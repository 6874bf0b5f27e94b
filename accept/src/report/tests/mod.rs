//! Tests of reading reports and of their published schema.

mod alone;
mod read;
mod schema;
mod validator;
