//! In which order advice stands: first about what takes most.

use crate::explanations::boxes::rtxpro6000_mig;
use crate::explanations::planted::{half, streamed};
use explain::{Cause, Rule, answer, explain};

#[test]
fn advice_begins_with_what_the_half_width_model_shows_to_take_most() {
    // Half of 60.9 is 30.45 ms, and TP2 takes 45.3. A half-width step of 41.0 leaves 10.55 ms to narrow GEMMs, what never shards and the
    // host, of which GEMMs are 8 or more, and 4.3 to communication; one of 34.0 leaves 3.55 and 11.3.
    for (ms, first, second) in [
        (41.0, Rule::KernelsFirst, Some(Rule::MigWithoutPeers)),
        (34.0, Rule::MigWithoutPeers, Some(Rule::MigWithoutPeers)),
    ] {
        let mut inputs = rtxpro6000_mig();
        inputs.serve = vec![streamed(1, 60.9, 0.0), streamed(2, 45.3, 0.0)];
        inputs.evidence.half = vec![half(ms)];
        let explanation = explain(&inputs, 1, 4000);
        let attribution = explanation.outcome.attribution().unwrap();
        let mid = |cause| attribution.bar(cause).unwrap().ms.mid;
        let gemm_leads = mid(Cause::NarrowGemm) > mid(Cause::Communication);
        assert_eq!(gemm_leads, first == Rule::KernelsFirst, "{attribution:?}");
        let advice = explanation.outcome.advice();
        assert_eq!(advice[0].rule, first, "{advice:?}");
        assert_eq!(advice.get(1).map(|one| one.rule), second, "{advice:?}");
        // The two sentences agree.
        let said = answer(&explanation);
        let blames = said[0].contains("because of matrix products");
        assert_eq!(blames, gemm_leads, "{said:?}");
        assert_eq!(said[1].contains("look at kernels before links"), gemm_leads);
        for sentence in &said {
            assert!(sentence.matches(" [").count() <= 2, "{sentence}");
        }
    }
}
