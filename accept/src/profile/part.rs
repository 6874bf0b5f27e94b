//! One profile file before it is put on top of what it extends: every key may be absent, and none may be unknown.
//!
//! What values must be is checked in `valid`.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::model::{
    Allreduce, Budget, Expected, LimitRow, Link, Match, Numa, Peer, Profile, Sampling,
};

/// Makes the partial form of a table: what a whole one needs, and what it may lack.
macro_rules! part {
    ($(#[doc = $doc:literal])+ $part:ident of $whole:ident [$table:literal] needs { $($needed:ident: $needs:ty),+ } may { $($optional:ident: $may:ty),* }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $part {
            $(pub(super) $needed: Option<$needs>,)+
            $(pub(super) $optional: Option<$may>,)*
        }

        impl $part {
            /// This one, and of the other what this one does not say.
            fn over(self, base: Self) -> Self {
                Self {
                    $($needed: self.$needed.or(base.$needed),)+
                    $($optional: self.$optional.or(base.$optional),)*
                }
            }

            /// The whole table, or the key that is missing.
            fn whole(self) -> Result<$whole, &'static str> {
                Ok($whole {
                    $($needed: self.$needed.ok_or(concat!("[", $table, "] ", stringify!($needed)))?,)+
                    $($optional: self.$optional,)*
                })
            }
        }
    };
}

part! {
    /// Of `[match]`.
    MatchPart of Match ["match"]
    needs { backend: String, names: Vec<String>, count: usize }
    may { more: bool, mig: bool, guest: bool, memory_gib_at_least: f64 }
}
part! {
    /// Of `[budget]`.
    BudgetPart of Budget ["budget"] needs { quick_s: f64, standard_s: f64 } may {}
}
part! {
    /// Of `[sampling]`.
    SamplingPart of Sampling ["sampling"] needs { repeats: usize, max_repeats: usize } may {}
}
part! {
    /// Of `[link]`.
    LinkPart of Link ["link"] needs { transitions_at_most: u32, source: String } may { generation: u8, width: u8 }
}
part! {
    /// Of `[peer]`.
    PeerPart of Peer ["peer"] needs { source: String } may { expect: Expected }
}
part! {
    /// Of `[allreduce]`.
    AllreducePart of Allreduce ["allreduce"] needs { small_bytes: u64, large_bytes: u64 } may {}
}

/// A profile file as it stands.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) title: String,
    pub(super) extends: Option<String>,
    #[serde(rename = "match")]
    pub(super) matches: Option<MatchPart>,
    #[serde(default)]
    pub(super) budget: BudgetPart,
    #[serde(default)]
    pub(super) sampling: SamplingPart,
    #[serde(default)]
    pub(super) link: LinkPart,
    #[serde(default)]
    pub(super) peer: PeerPart,
    pub(super) numa: Option<Numa>,
    #[serde(default)]
    pub(super) allreduce: AllreducePart,
    #[serde(default)]
    pub(super) limit: Vec<Spanned<LimitRow>>,
    #[serde(default)]
    pub(super) required: BTreeMap<String, Vec<String>>,
}

impl Part {
    /// This file on top of the one that it extends. Of a limit on the same figure of the same check this one's stands alone, and
    /// so does this one's list of what a level requires.
    pub(super) fn over(self, base: Self) -> Self {
        let is_replaced = |row: &Spanned<LimitRow>| {
            let row = row.get_ref();
            self.limit.iter().any(|own| own.get_ref().is_of(row))
        };
        let kept = base.limit.into_iter().filter(|row| !is_replaced(row));
        let limit = kept.chain(self.limit.iter().cloned()).collect();
        let mut required = base.required;
        required.extend(self.required);
        Self {
            schema: self.schema,
            name: self.name,
            title: self.title,
            extends: self.extends,
            matches: match (self.matches, base.matches) {
                (Some(own), Some(base)) => Some(own.over(base)),
                (own, base) => own.or(base),
            },
            budget: self.budget.over(base.budget),
            sampling: self.sampling.over(base.sampling),
            link: self.link.over(base.link),
            peer: self.peer.over(base.peer),
            numa: self.numa.or(base.numa),
            allreduce: self.allreduce.over(base.allreduce),
            limit,
            required,
        }
    }

    /// The whole profile, or the key that neither this file nor one that it extends gives.
    pub(super) fn whole(self) -> Result<Profile, &'static str> {
        Ok(Profile {
            schema: self.schema,
            name: self.name,
            title: self.title,
            extends: self.extends,
            matches: self.matches.map(MatchPart::whole).transpose()?,
            budget: self.budget.whole()?,
            sampling: self.sampling.whole()?,
            link: self.link.whole()?,
            peer: self.peer.whole()?,
            numa: self.numa,
            allreduce: self.allreduce.whole()?,
            limit: self.limit.into_iter().map(Spanned::into_inner).collect(),
            required: self.required,
        })
    }
}
