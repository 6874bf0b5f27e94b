//! One prompt at a time on x16 and on x8: the same pair of runs shows the link in the time to first token and not in the step.
