//! Requirements on a NIC with a shadow page table: the acceptance list of its design, one test for each
//! item, named after it; the decisions of `docs/netvm-hazards.md`, `hNN_...`; and the parts alone against
//! slow and obvious twins.

mod append;
mod commands;
mod faults;
mod hazards;
mod operands;
mod orders;
mod paging;
mod regions;
mod rig;
mod sync;
mod tables;
mod triggers;
mod windows;
mod wire;
