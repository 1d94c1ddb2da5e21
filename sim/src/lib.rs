//! A cluster in virtual time: the real runtime on simulated hosts with simulated NICs.
//!
//! N ranks live in one process, each on a stack of its own ([`turn`](crate)); one runs at a time. When it
//! waits, the next event happens: a packet arrives, a DMA ends. Time is virtual and costs come from a
//! [`CostModel`]. A seed fixes all random numbers, so a run can be repeated bit for bit ([`Report::trace`]).
//! No part of the runtime is replaced: each rank is a [`gasnet::Rank`] whose conduit is a simulated one.
//! Unless a cluster says otherwise, each rank is on a host of its own, so every access to another rank goes
//! over the network.
//!
//! # Words
//!
//! - *turn*: the right of one rank to run, until it waits or lets time pass.
//! - *world*: virtual time, the queue of events, packets on their way, NICs.
//! - *registration mode*: the party that guarantees that memory keeps its place during a DMA
//!   ([`Registration`]).
//!
//! # Rules for programs
//!
//! A program is a closure that all ranks run on one thread. It may use no mutable statics and no thread
//! locals of its own, must not block outside of the runtime, and waits for peers by calls of the runtime
//! only.

mod ahead;
mod bare;
mod boot;
mod card;
mod cell;
mod choice;
mod clan;
mod cluster;
mod conduit;
mod cost;
mod course;
mod crash;
mod death;
mod device;
mod event;
mod failure;
mod firmware;
mod last_look;
mod leases;
mod measure;
mod memory;
mod net;
mod nicport;
mod object;
mod paging;
mod pinning;
mod process;
mod rng;
mod shared;
mod sim_nic;
mod stir;
mod survivors;
mod time;
mod trapeze;
mod turn;
mod untaken;
mod vain;
mod watchdog;
mod world;

pub use bare::{Bare, Machine};
pub use card::Stage;
pub use cell::{Bound, Cell};
pub use choice::{Chooser, Explore, HeldStep, Kind, NextStep, Pick, StepName};
pub use clan::{
    Arbitration, Burst, ClanCards, ClanCosts, ClanInputs, ClanStats, ENTRY, Immediate, Plan, Request, WORD,
};
pub use cluster::{Cluster, Report};
pub use cost::{CostModel, GmComponents, HostCosts, PinCosts};
pub use device::{Clock, Device, Station};
pub use event::Moment;
pub use failure::{Cause, Failure, Waiting};
pub use firehose::StrategyKind;
pub use firmware::{FirmwareCosts, LanaiInputs};
pub use gasnet::sync::port::HomeOp;
pub use gasnet_netvm::Budget;
pub use measure::{Measured, PinLine};
pub use net::Network;
pub use netvm_fw::sync;
pub use object::EMBED_C;
pub use paging::Netvm;
pub use pinning::{PutTimes, Registered, Registration, registration, remap};
pub use process::Executable;
pub use rng::{Rng, Zipf};
pub use shared::{compute, now};
pub use time::Time;
pub use trapeze::{
    Access, Call, FileCosts, Finished, Interface, PageFile, Payload, Reply, Trapeze, TrapezeCosts,
    TrapezeInputs,
};
pub use world::{Hardships, Stats};
