//! GASNet-EX: the functions that `include/gasnetex.h` and its companions declare and that GASNet-1 does not
//! have. [`objects`](crate::objects) has the objects behind their handles. Each function names itself in
//! its messages.

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
