//! A validator for the part of JSON Schema 2020-12 that `report.schema.json` uses. A keyword that it does not know is a fault, so that
//! nothing in the schema is passed over.

use serde_json::{Map, Value};

/// A schema with its definitions.
#[derive(Debug)]
pub(super) struct Schema {
    root: Value,
}

impl Schema {
    /// A schema from its text.
    pub(super) fn new(text: &str) -> Self {
        Self {
            root: serde_json::from_str(text).expect("the schema is JSON"),
        }
    }

    /// The schema's own text as a value.
    pub(super) fn root(&self) -> &Value {
        &self.root
    }

    /// What is wrong with a value, the first of it.
    pub(super) fn fault(&self, value: &Value) -> Option<String> {
        self.check(&self.root, value, "$").err()
    }

    fn check(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let schema = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Bool(false) => return Err(format!("{at}: nothing may stand here")),
            Value::Object(schema) => schema,
            other => panic!("no schema: {other}"),
        };
        for (keyword, argument) in schema {
            self.keyword((schema, keyword, argument), value, at)
                .map_err(|fault| {
                    if fault.starts_with('$') {
                        fault
                    } else {
                        format!("{at}: {fault}")
                    }
                })?;
        }
        Ok(())
    }

    fn keyword(
        &self,
        (schema, keyword, argument): (&Map<String, Value>, &str, &Value),
        value: &Value,
        at: &str,
    ) -> Result<(), String> {
        let holds = |schema: &Value, value: &Value| self.check(schema, value, at).is_ok();
        let list = || {
            argument
                .as_array()
                .unwrap_or_else(|| panic!("{keyword} wants a list"))
        };
        let number = || {
            argument
                .as_f64()
                .unwrap_or_else(|| panic!("{keyword} wants a number"))
        };
        let must = |holds: bool, what: &str| {
            if holds {
                Ok(())
            } else {
                Err(format!("{what}: {value:.200}"))
            }
        };
        match (keyword, value) {
            ("$schema" | "$id" | "$defs" | "title" | "description" | "then", _) => Ok(()),
            ("$ref", _) => {
                let name = argument
                    .as_str()
                    .and_then(|name| name.strip_prefix("#/$defs/"))
                    .expect("a definition");
                self.check(&self.root["$defs"][name], value, at)
            }
            ("const", _) => must(value == argument, "another constant"),
            ("enum", _) => must(list().contains(value), "not of the list"),
            ("type", _) => {
                let named = argument.as_str().map(|name| vec![name]);
                let names =
                    named.unwrap_or_else(|| list().iter().filter_map(Value::as_str).collect());
                must(
                    names.iter().any(|name| is_of(name, value)),
                    "of another type",
                )
            }
            ("allOf", _) => list()
                .iter()
                .try_for_each(|part| self.check(part, value, at)),
            ("oneOf", _) => {
                let count = list().iter().filter(|part| holds(part, value)).count();
                must(count == 1, &format!("{count} of oneOf hold"))
            }
            ("not", _) => must(!holds(argument, value), "must not be so"),
            ("if", _) => match schema.get("then").filter(|_| holds(argument, value)) {
                Some(then) => self.check(then, value, at),
                None => Ok(()),
            },
            ("required", Value::Object(fields)) => {
                let missing = list()
                    .iter()
                    .filter_map(Value::as_str)
                    .find(|name| !fields.contains_key(*name));
                missing.map_or(Ok(()), |name| Err(format!("lacks {name}")))
            }
            ("properties", Value::Object(fields)) => {
                let known = argument.as_object().expect("properties by name");
                known
                    .iter()
                    .try_for_each(|(name, schema)| match fields.get(name) {
                        Some(field) => self.check(schema, field, &format!("{at}.{name}")),
                        None => Ok(()),
                    })
            }
            ("additionalProperties", Value::Object(fields)) => {
                assert_eq!(argument, &Value::Bool(false));
                let known = schema.get("properties").and_then(Value::as_object);
                let strange = fields
                    .keys()
                    .find(|name| known.is_none_or(|known| !known.contains_key(*name)));
                strange.map_or(Ok(()), |name| {
                    Err(format!("has {name}, which it does not know"))
                })
            }
            ("prefixItems", Value::Array(items)) => {
                let pairs = list().iter().zip(items).enumerate();
                pairs.into_iter().try_for_each(|(index, (schema, item))| {
                    self.check(schema, item, &format!("{at}[{index}]"))
                })
            }
            ("items", Value::Array(items)) => {
                let first = schema
                    .get("prefixItems")
                    .and_then(Value::as_array)
                    .map_or(0, Vec::len);
                let rest = items.iter().enumerate().skip(first);
                rest.into_iter().try_for_each(|(index, item)| {
                    self.check(argument, item, &format!("{at}[{index}]"))
                })
            }
            ("contains", Value::Array(items)) => must(
                items.iter().any(|item| holds(argument, item)),
                "contains none",
            ),
            ("minItems", Value::Array(items)) => {
                must(items.len() as f64 >= number(), "too few items")
            }
            ("minLength", Value::String(text)) => {
                must(text.chars().count() as f64 >= number(), "too short")
            }
            ("maxLength", Value::String(text)) => {
                must(text.chars().count() as f64 <= number(), "too long")
            }
            ("minimum", Value::Number(found)) => {
                must(found.as_f64() >= argument.as_f64(), "too small")
            }
            ("maximum", Value::Number(found)) => {
                must(found.as_f64() <= argument.as_f64(), "too large")
            }
            // Keywords on objects, lists, texts and numbers say nothing of other types.
            (
                "required"
                | "properties"
                | "additionalProperties"
                | "prefixItems"
                | "items"
                | "contains"
                | "minItems"
                | "minLength"
                | "maxLength"
                | "minimum"
                | "maximum",
                _,
            ) => Ok(()),
            (unknown, _) => panic!("the validator does not know `{unknown}`"),
        }
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type {other}"),
    }
}
