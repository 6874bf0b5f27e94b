//! TP2 against TP4 where there is no run of one GPU.
