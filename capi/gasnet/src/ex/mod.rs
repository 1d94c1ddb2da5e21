//! GASNet-EX: the functions that `include/gasnetex.h` and its companions declare and GASNet-1 has not. What
//! their handles stand for is in [`objects`](crate::objects). Each function names itself in its messages.

pub mod ad;
pub mod am;
pub mod client;
pub mod coll;
pub mod ep;
pub mod event;
pub mod mk;
pub mod names;
pub mod npam;
pub mod query;
pub mod rma;
pub mod segment;
pub mod tm;
mod types;
pub mod vis;
