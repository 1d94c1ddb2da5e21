//! Fortran coarrays for gfortran: the functions that code compiled with `-fcoarray=lib` calls, on top of the
//! core (`gasnet`).
//!
//! An *image* is a rank, a process of its own. A coarray lies in the segments, at the same offset on all
//! images of its team; compiled code knows it by a *token*. Images whose segments are mapped here are *near*,
//! the others *far*.
//!
//! Layers, top to bottom:
//! - `abi_a`: the C functions, as gfortran 8 to 14 calls them. They turn pointers to types, and call below.
//! - `abi_b`: the C functions that gfortran 15 calls instead for accesses; `abi_c`: those that gfortran 16
//!   calls instead for teams; `accessors`: functions of the program, which the owner of elements calls.
//! - `components`: elements at the end of references through components.
//! - `access`: reads and writes of elements of other images; `collect`, `teams`: collective subroutines, and
//!   teams.
//! - `owner`: questions to the owner of elements that only it can find.
//! - `sync`, `locks`, `events`, `atomics`: image control statements and atomic subroutines; `status`,
//!   `seeds`: inquiry about images, and `random_init`.
//! - `cells`: the words of locks and events; `looks`: loops of the program that wait.
//! - `questions`: of images to others, with answers of any length.
//! - `near`: memory of images of this host; `walk`: references to components of other images, which their
//!   owner follows if it is far.
//! - `assign`: assignment of sections that are mapped here; `convert`: of elements of different types.
//! - `memory`: coarrays and components that compiled code registers; `blocks`: memory of components.
//! - `joint`: collective operations of teams, also with images that have stopped.
//! - `report`: `stat=`, `errmsg=`, error termination.
//! - `image`: the state of this image, and how it starts and ends.
//! - `stat`: why statements fail; `descriptor`: what compiled code hands over; `heap`: the
//!   allocator; `peers`: what an image knows of others; `wide`: reals of all kinds; `coarray`; `settings`.
//!
//! `x[2]` of an image of the same host is `abi_a` -> the token's offset, added to where that image's segment
//! is mapped -> a load.

mod abi_a;
mod abi_b;
mod abi_c;
mod access;
mod accessors;
mod assign;
mod atomics;
mod blocks;
mod cells;
mod coarray;
mod collect;
mod components;
mod convert;
mod descriptor;
mod events;
mod heap;
mod image;
mod joint;
mod locks;
mod looks;
mod memory;
mod near;
mod owner;
mod peers;
mod questions;
mod report;
mod seeds;
mod settings;
mod stat;
mod status;
mod sync;
mod teams;
mod walk;
mod wide;
