//! The limits of the control groups that this process is in.
//!
//! `/proc/self/cgroup` names the group in each hierarchy, and `/proc/self/mountinfo` where the hierarchy is
//! mounted. A limit of a group is also one of the groups in it, so all groups up to the root of the mount
//! count.

use std::path::{Path, PathBuf};

/// The limits of this process's groups; `None` where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Processors' worth of time.
    pub processors: Option<f64>,
}

/// A value from which on a limit of memory is none: the first version writes a huge number.
const NO_LIMIT: u64 = 1 << 60;

/// The limits of this process.
pub fn limits() -> Limits {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let file = |path: &str| read(Path::new(path)).unwrap_or_default();
    limits_of(&file("/proc/self/cgroup"), &file("/proc/self/mountinfo"), read)
}

fn limits_of(groups: &str, mounts: &str, read: impl Fn(&Path) -> Option<String>) -> Limits {
    let number = |path: PathBuf| read(&path)?.trim().parse::<u64>().ok();
    let mut limits = Limits::default();
    let least = |limit: &mut Option<u64>, found: Option<u64>| {
        *limit = [*limit, found].into_iter().flatten().min();
    };
    let mut time = |found: Option<f64>| {
        limits.processors = [limits.processors, found].into_iter().flatten().min_by(f64::total_cmp);
    };
    let (mut memory, mut processes) = (None, None);
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let has = |name: &str| controllers.split(',').any(|c| c == name);
        for folder in folders(mounts, controllers, group) {
            if controllers.is_empty() {
                least(&mut memory, number(folder.join("memory.max")));
                least(&mut processes, number(folder.join("pids.max")));
                time(read(&folder.join("cpu.max")).and_then(|text| share(text.split_whitespace())));
                continue;
            }
            if has("memory") {
                let bytes = number(folder.join("memory.limit_in_bytes"));
                least(&mut memory, bytes.filter(|bytes| *bytes < NO_LIMIT));
            }
            if has("pids") {
                least(&mut processes, number(folder.join("pids.max")));
            }
            if has("cpu") {
                let part = |name: &str| read(&folder.join(name)).unwrap_or_default();
                let (quota, period) = (part("cpu.cfs_quota_us"), part("cpu.cfs_period_us"));
                time(share([quota.trim(), period.trim()].into_iter()));
            }
        }
    }
    Limits { memory, processes, ..limits }
}

/// Processors' worth of time, from time and period; `None` for `max` and -1.
fn share<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<f64> {
    let mut number = || words.next()?.parse::<f64>().ok().filter(|n| *n > 0.0);
    Some(number()? / number()?)
}

/// The folders of a group and of those around it, as far as they are mounted.
fn folders(mounts: &str, controllers: &str, group: &str) -> Vec<PathBuf> {
    for line in mounts.lines() {
        let Some((mount, kind)) = line.split_once(" - ") else { continue };
        let mut kind = kind.split(' ');
        let (name, options) = (kind.next(), kind.nth(1).unwrap_or_default());
        let first = controllers.split(',').next().unwrap_or_default();
        let meant = match name {
            Some("cgroup2") => controllers.is_empty(),
            Some("cgroup") => !first.is_empty() && options.split(',').any(|option| option == first),
            _ => false,
        };
        let mut fields = mount.split(' ').skip(3);
        let (Some(root), Some(place)) = (fields.next(), fields.next()) else { continue };
        if !meant {
            continue;
        }
        // A container may see its group as the root, or under the name that it has outside.
        let below = group.strip_prefix(root).unwrap_or(if root == "/" { group } else { "" });
        let below = Path::new(below.trim_start_matches('/'));
        return below.ancestors().map(|part| Path::new(place).join(part)).collect();
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str = "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      32 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      33 25 0:29 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";

    fn of(groups: &str, mounts: &str, files: &[(&str, &str)]) -> Limits {
        let read = |path: &Path| Some(files.iter().find(|(name, _)| path == Path::new(name))?.1.to_string());
        limits_of(groups, mounts, read)
    }

    #[test]
    fn the_groups_of_the_process_count_and_those_around_them() {
        let files = [
            ("/sys/fs/cgroup/user.slice/job/memory.max", "max\n"),
            ("/sys/fs/cgroup/user.slice/memory.max", "1073741824\n"),
            ("/sys/fs/cgroup/memory.max", "4294967296\n"),
            ("/sys/fs/cgroup/other/memory.max", "5\n"),
            ("/sys/fs/cgroup/user.slice/job/pids.max", "100\n"),
            ("/sys/fs/cgroup/user.slice/pids.max", "2000\n"),
            ("/sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
        ];
        let limits = of("0::/user.slice/job\n", V2, &files);
        let expected = Limits { memory: Some(1 << 30), processes: Some(100), processors: Some(1.5) };
        assert_eq!(limits, expected);
        assert_eq!(of("0::/\n", V2, &files), Limits { memory: Some(4 << 30), ..Limits::default() });
        assert_eq!(of("", V2, &files), Limits::default());
    }

    #[test]
    fn the_first_version() {
        let groups = "9:memory:/slurm/job_7\n5:cpuacct,cpu:/slurm\n3:pids:/docker/abc\n0::/x\n";
        let files = [
            ("/sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "2147483648\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "200000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/pids/pids.max", "77\n"),
        ];
        let expected = Limits { memory: Some(2 << 30), processes: Some(77), processors: Some(2.0) };
        assert_eq!(of(groups, V1, &files), expected);
    }
}
