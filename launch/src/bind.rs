//! Which processors each rank runs on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gasnet_sys::processors;

/// How ranks are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bind {
    /// Any processor, as the system decides.
    None,
    /// A core for each rank, if there are enough.
    #[default]
    Core,
}

impl Bind {
    /// Reads the name of a placement.
    pub fn parse(name: &str) -> Option<Bind> {
        match name {
            "none" => Some(Bind::None),
            "core" => Some(Bind::Core),
            _ => None,
        }
    }

    /// The processors of each of `size` ranks. `None` if ranks are not bound: when that is not asked for,
    /// when there is one rank, and when ranks outnumber the cores that this process may use.
    pub fn placement(self, size: u32) -> Option<Vec<Vec<usize>>> {
        match self {
            Bind::None => None,
            Bind::Core => place(size, allowed_cores()),
        }
    }
}

/// One core for each rank, in the order of the topology.
fn place(size: u32, mut cores: Vec<Vec<usize>>) -> Option<Vec<Vec<usize>>> {
    if size < 2 || size as usize > cores.len() {
        return None;
    }
    cores.truncate(size as usize);
    Some(cores)
}

/// The cores this process may use.
fn allowed_cores() -> Vec<Vec<usize>> {
    let allowed = processors::numbers(&processors::allowed()).collect::<Vec<_>>();
    #[cfg(feature = "hwloc")]
    if let Some(cores) = hwloc_cores(&allowed) {
        return cores;
    }
    cores(Path::new("/sys/devices/system/cpu"), &allowed)
}

/// Like [`cores`], with hwloc, which knows caches and memory nodes too: cores that share one are adjacent.
/// `None` if hwloc cannot read the machine's topology or misses an allowed processor.
#[cfg(feature = "hwloc")]
fn hwloc_cores(allowed: &[usize]) -> Option<Vec<Vec<usize>>> {
    let allowed_of =
        |core: Vec<usize>| core.into_iter().filter(|cpu| allowed.contains(cpu)).collect::<Vec<_>>();
    let cores = crate::hwloc::cores()?.into_iter().map(allowed_of).filter(|cpus| !cpus.is_empty());
    let cores: Vec<Vec<usize>> = cores.collect();
    (cores.iter().map(Vec::len).sum::<usize>() == allowed.len()).then_some(cores)
}

/// The allowed processors grouped by core; cores of one package are adjacent. A processor that the system
/// does not describe is a core of its own.
fn cores(sysfs: &Path, allowed: &[usize]) -> Vec<Vec<usize>> {
    let mut cores: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for &cpu in allowed {
        let number = |file: &str| {
            let path = sysfs.join(format!("cpu{cpu}/topology/{file}"));
            fs::read_to_string(path).ok()?.trim().parse::<usize>().ok()
        };
        let key = match (number("physical_package_id"), number("core_id")) {
            (Some(package), Some(core)) => (package, core),
            _ => (usize::MAX, cpu),
        };
        cores.entry(key).or_default().push(cpu);
    }
    cores.into_values().collect()
}

/// Processors as text, for `-v`.
pub fn describe(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_never_share_a_core() {
        let cores = vec![vec![0, 2], vec![1, 3]];
        assert_eq!(place(2, cores.clone()), Some(cores.clone()));
        assert_eq!(place(3, cores.clone()), None);
        assert_eq!(place(1, cores), None);
    }

    #[test]
    fn siblings_form_a_core() {
        let dir = std::env::temp_dir().join(format!("gasnet-bind-{}", std::process::id()));
        for (cpu, package, core) in [(0, 0, 0), (1, 0, 1), (2, 1, 0), (4, 0, 0), (5, 0, 1)] {
            let topology = dir.join(format!("cpu{cpu}/topology"));
            fs::create_dir_all(&topology).unwrap();
            fs::write(topology.join("physical_package_id"), format!("{package}\n")).unwrap();
            fs::write(topology.join("core_id"), format!("{core}\n")).unwrap();
        }
        let grouped = cores(&dir, &[0, 1, 2, 4, 5, 9]);
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(grouped, [vec![0, 4], vec![1, 5], vec![2], vec![9]]);
    }

    #[cfg(feature = "hwloc")]
    #[test]
    fn hwloc_and_the_system_see_the_same_cores() {
        let sorted = |mut cores: Vec<Vec<usize>>| {
            cores.iter_mut().for_each(|c| c.sort_unstable());
            cores.sort();
            cores
        };
        let allowed = processors::numbers(&processors::allowed()).collect::<Vec<_>>();
        let plain = cores(Path::new("/sys/devices/system/cpu"), &allowed);
        assert_eq!(sorted(hwloc_cores(&allowed).expect("hwloc reads this machine")), sorted(plain));
    }

    /// A machine as sysfs shows it: four cores in one package, whose even and odd ones share a cache each.
    #[cfg(feature = "hwloc")]
    fn machine_of_two_caches(root: &Path) {
        let cpus = root.join("sys/devices/system/cpu");
        let write = |path: &Path, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        };
        for list in ["online", "possible", "present"] {
            write(&cpus.join(list), "0-3");
        }
        for cpu in 0..4 {
            let own = format!("{:x}", 1 << cpu);
            let sharers = if cpu % 2 == 0 { "5" } else { "a" };
            let topology = cpus.join(format!("cpu{cpu}/topology"));
            for (file, text) in [
                ("physical_package_id", "0"),
                ("core_id", &cpu.to_string()),
                ("core_siblings", "f"),
                ("package_cpus", "f"),
                ("thread_siblings", &own),
                ("core_cpus", &own),
            ] {
                write(&topology.join(file), text);
            }
            let cache = cpus.join(format!("cpu{cpu}/cache/index0"));
            for (file, text) in
                [("level", "3"), ("type", "Unified"), ("size", "8192K"), ("shared_cpu_map", sharers)]
            {
                write(&cache.join(file), text);
            }
        }
    }

    #[cfg(feature = "hwloc")]
    #[test]
    #[ignore = "run by hwloc_places_ranks_at_one_cache_where_sysfs_does_not"]
    fn child_of_hwloc_places_ranks() {
        let cores = hwloc_cores(&[0, 1, 2, 3]).expect("hwloc reads the tree below HWLOC_FSROOT");
        println!("placed {:?}", place(2, cores).expect("two ranks have a core each"));
    }

    /// Both read the same tree. hwloc takes its root from the environment, so it has a process of its own.
    #[cfg(feature = "hwloc")]
    #[test]
    fn hwloc_places_ranks_at_one_cache_where_sysfs_does_not() {
        let root = std::env::temp_dir().join(format!("gasnet-hwloc-{}", std::process::id()));
        machine_of_two_caches(&root);
        let by_sysfs = place(2, cores(&root.join("sys/devices/system/cpu"), &[0, 1, 2, 3]));
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "bind::tests::child_of_hwloc_places_ranks"])
            .env("HWLOC_FSROOT", &root)
            .output()
            .unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(by_sysfs, Some(vec![vec![0], vec![1]]));
        let text = String::from_utf8_lossy(&child.stdout);
        assert!(text.contains("placed [[0], [2]]"), "{text}{}", String::from_utf8_lossy(&child.stderr));
    }

    #[test]
    fn names() {
        assert_eq!(Bind::parse("none"), Some(Bind::None));
        assert_eq!(Bind::parse("core"), Some(Bind::Core));
        assert_eq!(Bind::parse("socket"), None);
    }
}
