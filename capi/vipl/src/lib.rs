//! The VI Provider Library for C: the functions that `include/vipl.h` declares, over [`gasnet_via`].
//!
//! **Shape.** A call checks what C hands over, makes the same call of a [`Nic`](gasnet_via::Nic), and turns
//! its result into a `VIP_RETURN`. Handles are numbers that look like pointers (`handle.rs`): a wrong one is
//! found, and never followed. The cookie of a descriptor is the address of the one in C.
//!
//! **State.** The job and the agent of the process, and which NIC each handle belongs to. A null pointer
//! where the header wants another is answered with `VIP_INVALID_PARAMETER`.
//!
//! **Panics** would be bugs; one ends the process, and does not unwind into C.

mod connect;
mod handle;
mod names;
mod notify;
mod objects;
mod results;
mod state;
mod types;
mod work;
