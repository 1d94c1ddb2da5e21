//! The few functions of the hwloc library that are needed.
#![expect(unsafe_code, reason = "calls a C library")]

use hwlocality_sys::{
    HWLOC_OBJ_CORE, hwloc_bitmap_next, hwloc_get_nbobjs_by_depth, hwloc_get_obj_by_depth,
    hwloc_get_type_depth, hwloc_topology_destroy, hwloc_topology_init, hwloc_topology_load, hwloc_topology_t,
};

/// The topology of this machine, loaded.
struct Topology(hwloc_topology_t);

impl Topology {
    fn load() -> Option<Topology> {
        let mut topology = std::ptr::null_mut();
        // SAFETY: the variable receives the topology, which has not been loaded before.
        unsafe {
            if hwloc_topology_init(&mut topology) != 0 {
                return None;
            }
            let topology = Topology(topology);
            (hwloc_topology_load(topology.0) == 0).then_some(topology)
        }
    }
}

impl Drop for Topology {
    fn drop(&mut self) {
        // SAFETY: made by `hwloc_topology_init`, and nobody has anything of it any more.
        unsafe { hwloc_topology_destroy(self.0) }
    }
}

/// The processors of each core, in hwloc's order: cores that share a cache or a memory node are adjacent.
/// `None` if hwloc cannot read the machine's topology.
pub fn cores() -> Option<Vec<Vec<usize>>> {
    let topology = Topology::load()?;
    // SAFETY: a loaded topology; a depth that the library gave, or a negative one that says that there are no
    // cores, for which it answers that there are none.
    let (depth, count) = unsafe {
        let depth = hwloc_get_type_depth(topology.0, HWLOC_OBJ_CORE);
        (depth, hwloc_get_nbobjs_by_depth(topology.0, depth))
    };
    let core = |index| -> Vec<usize> {
        // SAFETY: 1. an index below the number of objects at this depth has an object, which lives as long as
        // the topology; 2. objects of processors have a set, which lives as long; 3. `next` of a set takes -1
        // and what it gave before, and gives -1 after the last.
        let next = |last| unsafe {
            let object = hwloc_get_obj_by_depth(topology.0, depth, index);
            hwloc_bitmap_next((*object).cpuset, last)
        };
        let next = |last: i32| Some(next(last)).filter(|&cpu| cpu >= 0);
        std::iter::successors(next(-1), |&last| next(last))
            .filter_map(|cpu| usize::try_from(cpu).ok())
            .collect()
    };
    Some((0..count).map(core).collect())
}
