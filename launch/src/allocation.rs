//! Tasks and hosts that a batch system has given this process, from its variables.
//!
//! | System | Tasks | Hosts |
//! |---|---|---|
//! | Slurm | `SLURM_NTASKS` | `SLURM_JOB_NODELIST`, with `SLURM_TASKS_PER_NODE` |
//! | PBS, Torque | lines of the file `PBS_NODEFILE` | its lines |
//! | LSF | the sum of `LSB_MCPU_HOSTS` | `LSB_MCPU_HOSTS` |
//! | Grid Engine | the sum of the file `PE_HOSTFILE` | its lines |
//! | Flux | `FLUX_JOB_SIZE` | in no variable (`flux hostlist`) |
//!
//! Without tasks or numbers of them there is one for each host.

use crate::place::{self, Host};

/// Tasks and hosts of the batch job that this process is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// Number of tasks.
    pub tasks: u32,
    /// The hosts, with as many slots as they have tasks; none if no variable names them.
    pub hosts: Vec<Host>,
}

/// Looks for a batch system in these variables; `read` reads a file.
///
/// # Errors
/// Its variables make no sense; a message for the user.
pub fn find(
    variable: impl Fn(&str) -> Option<String>,
    read: impl Fn(&str) -> std::io::Result<String>,
) -> Result<Option<Allocation>, String> {
    let given = |name: &str| variable(name).map(|v| v.trim().to_string()).filter(|v| !v.is_empty());
    let number = |origin: &'static str, text: String| {
        let tasks = text.parse().ok().filter(|n| (1..=crate::MAX_RANKS).contains(n));
        tasks.ok_or_else(|| format!("{origin}={text}: not a number of tasks; give -n N"))
    };
    if let Some(list) = given("SLURM_JOB_NODELIST").or_else(|| given("SLURM_NODELIST")) {
        let wrong =
            |text: &str| format!("the nodes of Slurm's job cannot be read ({text}); give -n N --hosts A,B");
        let names = expand(&list).ok_or_else(|| wrong(&list))?;
        let tasks = given("SLURM_NTASKS").map(|text| number("SLURM_NTASKS", text)).transpose()?;
        let mut slots = match given("SLURM_TASKS_PER_NODE") {
            Some(text) => repeated(&text).ok_or_else(|| wrong(&text))?,
            None => Vec::new(),
        };
        if slots.len() != names.len() {
            let (n, tasks) = (names.len() as u32, tasks.unwrap_or(names.len() as u32));
            slots = (0..n).map(|i| tasks / n + u32::from(i < tasks % n)).collect();
        }
        let all = tasks.unwrap_or(slots.iter().sum());
        let hosts = hosts(names.into_iter().zip(slots));
        return Ok(Some(Allocation { tasks: all, hosts }));
    }
    for (origin, column) in [("PBS_NODEFILE", None), ("PE_HOSTFILE", Some(1))] {
        let Some(path) = given(origin) else { continue };
        let text = read(&path).map_err(|e| format!("{origin}={path}: {e}; give -n N --hosts A,B"))?;
        let line = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let slots = column.map_or(Some(1), |at: usize| words.get(at)?.parse().ok())?;
            Some((words.first()?.to_string(), slots))
        };
        return Ok(sum(hosts(text.lines().filter_map(line))));
    }
    if let Some(text) = given("LSB_MCPU_HOSTS") {
        let words: Vec<&str> = text.split_whitespace().collect();
        let pairs = words.chunks_exact(2).map(|pair| Some((pair[0].to_string(), pair[1].parse().ok()?)));
        let pairs = pairs.collect::<Option<Vec<_>>>();
        let pairs =
            pairs.ok_or_else(|| format!("LSB_MCPU_HOSTS={text}: not hosts and numbers; give -n N"))?;
        return Ok(sum(hosts(pairs.into_iter())));
    }
    match given("FLUX_JOB_SIZE") {
        Some(text) => {
            let several = given("FLUX_JOB_NNODES").is_some_and(|nodes| nodes != "1");
            if several {
                return Err("the hosts of Flux's job are in no variable; give -n N --hosts $(flux hostlist -d, local)".into());
            }
            let tasks = number("FLUX_JOB_SIZE", text)?;
            Ok(Some(Allocation { tasks, hosts: Vec::new() }))
        }
        None => Ok(None),
    }
}

/// The allocation of these hosts; `None` if there are none, or impossibly many tasks.
fn sum(hosts: Vec<Host>) -> Option<Allocation> {
    let tasks: u64 = hosts.iter().map(|h| u64::from(h.slots.unwrap_or(1))).sum();
    let tasks = u32::try_from(tasks).ok().filter(|n| (1..=crate::MAX_RANKS).contains(n))?;
    Some(Allocation { tasks, hosts })
}

fn hosts(named: impl Iterator<Item = (String, u32)>) -> Vec<Host> {
    let named = named.filter(|(_, slots)| *slots > 0).map(|(name, slots)| Host { name, slots: Some(slots) });
    place::gather(named.collect()).unwrap_or_default()
}

/// `2(x3),1`: 2, 2, 2, 1.
fn repeated(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (value, times) = match part.split_once("(x") {
            Some((value, times)) => (value, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1),
        };
        let value: u32 = value.parse().ok()?;
        if all.len() + times > crate::MAX_RANKS as usize {
            return None;
        }
        all.extend(std::iter::repeat_n(value, times));
    }
    Some(all)
}

/// Slurm's list of hosts: `n[01-03,7]-ib,x` is `n01-ib`, `n02-ib`, `n03-ib`, `n7-ib`, `x`.
fn expand(list: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        // Up to the comma that is in no bracket.
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            c == ',' && depth == 0
        });
        let (one, more) = end.map_or((rest, ""), |at| (&rest[..at], &rest[at + 1..]));
        expand_one(one, &mut all)?;
        rest = more;
    }
    (!all.is_empty()).then_some(all)
}

fn expand_one(name: &str, all: &mut Vec<String>) -> Option<()> {
    let Some((head, rest)) = name.split_once('[') else {
        all.push(name.to_string());
        return Some(());
    };
    let (numbers, tail) = rest.split_once(']')?;
    for part in numbers.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if to.checked_sub(from)? as usize + all.len() > crate::MAX_RANKS as usize {
            return None;
        }
        for n in from..=to {
            expand_one(&format!("{head}{n:0width$}{tail}", width = first.len()), all)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<Option<Allocation>, String> {
        let variable = |name: &str| Some(variables.iter().find(|(n, _)| *n == name)?.1.to_string());
        // A file's name is its text here.
        find(variable, |path| Ok(path.replace(';', "\n")))
    }

    fn shown(allocation: Option<Allocation>) -> String {
        let Some(a) = allocation else { return "none".into() };
        let hosts = a.hosts.iter().map(|h| format!("{}:{}", h.name, h.slots.unwrap_or(0)));
        format!("{} {}", a.tasks, hosts.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn every_system_says_tasks_and_hosts() {
        let slurm = |list, per, tasks| {
            [("SLURM_JOB_NODELIST", list), ("SLURM_TASKS_PER_NODE", per), ("SLURM_NTASKS", tasks)]
        };
        for (variables, expected) in [
            (&slurm("n[01-03,7]-ib,x", "2(x3),1,4", "")[..], "11 n01-ib:2 n02-ib:2 n03-ib:2 n7-ib:1 x:4"),
            (&slurm("a[1-2]b[8-9]", "1(x4)", "3"), "3 a1b8:1 a1b9:1 a2b8:1 a2b9:1"),
            (&slurm("a,b", "", "5"), "5 a:3 b:2"),
            (&slurm("a,b", "", ""), "2 a:1 b:1"),
            (&[("PBS_NODEFILE", "a;a;b;")], "3 a:2 b:1"),
            (&[("PE_HOSTFILE", "a 4 q@a UNDEFINED;b 2 q@b UNDEFINED")], "6 a:4 b:2"),
            (&[("LSB_MCPU_HOSTS", "a 4 b 2")], "6 a:4 b:2"),
            (&[("FLUX_JOB_SIZE", "4"), ("FLUX_JOB_NNODES", "1")], "4 "),
            (&[("PBS_NODEFILE", "")], "none"),
            (&[("SLURM_NTASKS", "4")], "none"),
            (&[], "none"),
        ] {
            assert_eq!(shown(found(variables).unwrap()), expected, "{variables:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for variables in [
            &[("SLURM_JOB_NODELIST", "n[1-")][..],
            &[("SLURM_JOB_NODELIST", "n[9-1]")],
            &[("SLURM_JOB_NODELIST", "n[1-4000000000]")],
            &[("SLURM_JOB_NODELIST", "a"), ("SLURM_TASKS_PER_NODE", "2(y3)")],
            &[("SLURM_JOB_NODELIST", "a"), ("SLURM_TASKS_PER_NODE", "2(x4000000000)")],
            &[("SLURM_JOB_NODELIST", "a"), ("SLURM_NTASKS", "0")],
            &[("LSB_MCPU_HOSTS", "a b")],
            &[("FLUX_JOB_SIZE", "many")],
            &[("FLUX_JOB_SIZE", "4"), ("FLUX_JOB_NNODES", "2")],
        ] {
            assert!(found(variables).unwrap_err().contains("give -n N"), "{variables:?}");
        }
        let missing =
            find(|name| (name == "PBS_NODEFILE").then(|| "/no/file".into()), |p| std::fs::read_to_string(p));
        assert!(missing.unwrap_err().contains("/no/file"));
    }
}
