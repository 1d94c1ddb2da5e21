//! Who shares memory with this process, and who shares its host.

#![expect(unsafe_code, reason = "exported to C by name; writes where C asks for results")]

use crate::info::give;
use crate::state::{self, ClientJob, PerWorld};

/// A group of ranks among the groups of its kind.
struct Group {
    /// Its ranks, ascending: as `gex_RankInfo_t` has them.
    ranks: Vec<u32>,
    /// The position of this process among them.
    own: u32,
    /// How many groups the job has.
    all: u32,
    /// The position of this group among them, in the order of their first ranks.
    number: u32,
}

impl Group {
    fn new(state: &ClientJob, group: impl Fn(gasnet::RankId) -> u32) -> Group {
        let (rank, own) = (state.rank.now(), group(state.rank.id()));
        let ranks: Vec<u32> = rank.ranks().filter(|r| group(*r) == own).map(|r| r.0).collect();
        let position = ranks.iter().position(|r| *r == rank.id().0).unwrap_or(0);
        let all = rank.ranks().map(&group).max().map_or(1, |last| last + 1);
        Group { ranks, own: position as u32, all, number: own }
    }

    /// # Safety
    /// Each pointer is null or writable.
    unsafe fn tell(&'static self, info: *mut *const u32, count: *mut u32, own: *mut u32) {
        // SAFETY: the caller's promise.
        unsafe {
            give(info, self.ranks.as_ptr());
            give(count, self.ranks.len() as u32);
            give(own, self.own);
        }
    }
}

fn neighbourhood(call: &str) -> &'static Group {
    static GROUP: PerWorld<Group> = PerWorld::empty();
    let state = state::state(call);
    GROUP.of(state, || Group::new(state, |rank| state.rank.topology().neighbourhood_of(rank)))
}

fn host(call: &str) -> &'static Group {
    static GROUP: PerWorld<Group> = PerWorld::empty();
    let state = state::state(call);
    GROUP.of(state, || Group::new(state, |rank| state.rank.topology().host_of(rank)))
}

/// The ranks that share memory with this one, itself among them. The list is the library's.
///
/// # Safety
/// Each pointer is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_System_QueryNbrhdInfo(info: *mut *const u32, count: *mut u32, own: *mut u32) {
    // SAFETY: the caller's promise.
    unsafe { neighbourhood("gex_System_QueryNbrhdInfo").tell(info, count, own) }
}

/// The ranks on this host, as [`gex_System_QueryNbrhdInfo`].
///
/// # Safety
/// Each pointer is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_System_QueryHostInfo(info: *mut *const u32, count: *mut u32, own: *mut u32) {
    // SAFETY: the caller's promise.
    unsafe { host("gex_System_QueryHostInfo").tell(info, count, own) }
}

/// How many neighbourhoods and hosts the job has, and in which of them this process is.
///
/// # Safety
/// Each pointer is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_System_QueryMyPosition(
    neighbourhoods: *mut u32,
    own_neighbourhood: *mut u32,
    hosts: *mut u32,
    own_host: *mut u32,
) {
    const CALL: &str = "gex_System_QueryMyPosition";
    let (near, host) = (neighbourhood(CALL), host(CALL));
    // SAFETY: the caller's promise.
    unsafe {
        give(neighbourhoods, near.all);
        give(own_neighbourhood, near.number);
        give(hosts, host.all);
        give(own_host, host.number);
    }
}
