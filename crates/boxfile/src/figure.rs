//! A number with its origin. It does not carry a unit: the key that holds it names the unit.

use serde::{Deserialize, Serialize};

/// One number of a box file together with where it comes from.
///
/// In TOML `{ value = 26.0, published = "source" }` or `{ value = 26.0, assumed = "why" }`: exactly one of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FigureText", into = "FigureText")]
pub struct Figure {
    /// The number, in the unit that the key's documentation states.
    pub value: f64,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a figure comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Somebody published this figure; the text names the source.
    Published(String),
    /// Nobody published it; the text says why this value was taken.
    Assumed(String),
}

impl Origin {
    /// From the two keys of a table, of which exactly one must be there.
    pub(crate) fn of(published: Option<String>, assumed: Option<String>) -> Option<Self> {
        match (published, assumed) {
            (Some(source), None) => Some(Self::Published(source)),
            (None, Some(why)) => Some(Self::Assumed(why)),
            _ => None,
        }
    }

    /// The two keys of a table: `published`, then `assumed`.
    pub(crate) fn split(self) -> (Option<String>, Option<String>) {
        match self {
            Self::Published(source) => (Some(source), None),
            Self::Assumed(why) => (None, Some(why)),
        }
    }
}

impl Figure {
    /// Makes a figure that is assumed, for boxes that a test builds in code.
    #[must_use]
    pub fn assumed(value: f64, why: &str) -> Self {
        Self {
            value,
            origin: Origin::Assumed(why.to_owned()),
        }
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureText {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed: Option<String>,
}

impl TryFrom<FigureText> for Figure {
    type Error = &'static str;

    fn try_from(text: FigureText) -> Result<Self, Self::Error> {
        let origin = Origin::of(text.published, text.assumed).ok_or(
            "a figure needs exactly one of `published = \"source\"` and `assumed = \"why\"`",
        )?;
        Ok(Self {
            value: text.value,
            origin,
        })
    }
}

impl From<Figure> for FigureText {
    fn from(figure: Figure) -> Self {
        let (published, assumed) = figure.origin.split();
        Self {
            value: figure.value,
            published,
            assumed,
        }
    }
}
