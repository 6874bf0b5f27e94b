//! What an explanation tells, topic by topic: the order and the titles that the text and the page have alike.
//!
//! What is said of a topic, and how, is theirs.

/// One topic of an explanation. A case that has nothing to say of one leaves it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Model, sizes, engine and box in a line.
    Compared,
    /// The waterfall and what it leads to.
    Step,
    /// What a refused case tells all the same.
    StillTold,
    /// The arms of an ablation.
    Ablation,
    /// The curve, and what the step's collectives take from it.
    Collectives,
    /// Advice.
    ToDo,
    /// Substitutions that were asked for.
    WhatIf,
    /// Measurements that would narrow the answer.
    ToMeasure,
    /// The gates.
    Gates,
    /// Caveats.
    Reservations,
    /// The time to first token of a single request.
    FirstToken,
    /// Priors.
    TakenAsKnown,
    /// What the priors make of the intervals.
    Widths,
    /// Files.
    Inputs,
}

impl Topic {
    /// All of them, in the order in which they are told: what is to be done comes before what it rests on.
    pub const ALL: [Self; 14] = [
        Self::Compared,
        Self::Step,
        Self::StillTold,
        Self::Ablation,
        Self::Collectives,
        Self::ToDo,
        Self::WhatIf,
        Self::ToMeasure,
        Self::Gates,
        Self::Reservations,
        Self::FirstToken,
        Self::TakenAsKnown,
        Self::Widths,
        Self::Inputs,
    ];

    /// Its title in a text; a page begins it with a capital.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Compared => "what was compared",
            Self::Step => "where the time of a step goes",
            Self::StillTold => "what this case still tells",
            Self::Ablation => "does the step follow the link",
            Self::Collectives => "collectives",
            Self::ToDo => "what to do",
            Self::WhatIf => "what if",
            Self::ToMeasure => "what to measure next",
            Self::Gates => "gates: what had to hold before anything was claimed",
            Self::Reservations => "reservations",
            Self::FirstToken => "time to first token",
            Self::TakenAsKnown => "taken as known",
            Self::Widths => "what is taken as known makes of the width",
            Self::Inputs => "where each input came from",
        }
    }
}
