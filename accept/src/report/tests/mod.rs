//! Tests of reading reports and of their published schema.

mod read;
mod schema;
mod validator;
