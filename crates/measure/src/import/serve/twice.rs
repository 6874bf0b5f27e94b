//! Keys that stand twice in a JSON object: parsers keep one of the values and say nothing, so that such a file means two things.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::control;
use crate::import::error::ImportError;
use crate::import::fields::quoted;

/// Refuses a JSON text of which an object has a key twice.
///
/// # Errors
/// Such a text, with the key.
pub(super) fn refuse_twice(text: &str, origin: &str) -> Result<(), ImportError> {
    let key = first_twice(text).map_or_else(|| first_twice(&quoted(text)), Some);
    match key.flatten() {
        None => Ok(()),
        Some(key) => Err(ImportError::Unusable {
            origin: origin.to_owned(),
            why: format!(
                "has the key {} twice in one object, so that it is not known which value holds; keep one of them",
                control::quoted(&key)
            ),
        }),
    }
}

/// The first key that stands twice, or none; no answer where the text is no JSON.
fn first_twice(text: &str) -> Option<Option<String>> {
    let mut twice = None;
    let mut parser = serde_json::Deserializer::from_str(text);
    let is_json = Keys(&mut twice).deserialize(&mut parser).is_ok();
    (is_json || twice.is_some()).then_some(twice)
}

/// Looks at keys alone, and ends at the first that stands twice.
struct Keys<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<(), D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut known = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if known.contains(&key) {
                *self.0 = Some(key);
                return Err(A::Error::custom("a key twice"));
            }
            known.insert(key);
            map.next_value_seed(Keys(self.0))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Keys(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
