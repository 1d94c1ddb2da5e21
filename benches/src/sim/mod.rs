//! What the papers measured, on the simulated cluster: predictions beside published figures.

mod plot;
pub mod programs;
pub mod registration;
pub mod table;
