//! What evidence is called: the codes that explanations and predictions have for it.

/// What a code of evidence, or the name of its figure, is in words; the code itself where it says it.
#[must_use]
pub fn evidence(code: &str) -> &str {
    match code {
        "measured-one" => "the measured TP1",
        "roofline" => "peak rates",
        "steps" => "measured steps",
        "priors" => "assumed ranges",
        "shard" => "the shard run",
        "difference" => "the step less the shard run",
        "rest" => "what is left",
        "rest-with-communication" => "what is left, communication included",
        "collectives" => "collective times",
        "link-rate" => "a link's rate",
        "left-out" => "what no part holds",
        "skew" => "waiting for the slowest GPU",
        "executor" => "passing steps to the ranks",
        "face" => "as they stand",
        "names" | "sources" | "source" | "origin" | "found" => "",
        code => code,
    }
}
