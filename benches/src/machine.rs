//! The machine on which figures are measured.

use std::fmt::Write;

/// A description of this machine, for the head of a table.
pub fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map(|(_, value)| value.trim().to_string()).unwrap_or_default()
    };
    let cpu = read("/proc/cpuinfo");
    let mut model = field(&cpu, "model name");
    if model.is_empty() {
        model = std::env::consts::ARCH.into();
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = memory_bytes() >> 30;
    let mut text = format!("machine: {model}, {cores} processors, {memory} GiB");
    for (level, bytes) in caches() {
        let _ = write!(text, ", L{level} {} KiB", bytes >> 10);
    }
    let kernel = read("/proc/sys/kernel/osrelease");
    let _ = write!(text, ", Linux {}; load {}", kernel.trim(), field_of_load(&read("/proc/loadavg")));
    text
}

/// Whether other programs took more than half a processor during the last minute.
pub fn busy() -> bool {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    field_of_load(&text).parse::<f64>().is_ok_and(|load| load > 0.5)
}

fn field_of_load(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or("unknown")
}

/// All of the memory.
pub fn memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    kib.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(1 << 20) << 10
}

/// Level and size of the caches of the first processor, instruction caches left out.
pub fn caches() -> Vec<(u32, u64)> {
    let mut all = Vec::new();
    for index in 0..8 {
        let read = |name: &str| {
            std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"))
                .map(|text| text.trim().to_string())
        };
        let (Ok(level), Ok(size), Ok(kind)) = (read("level"), read("size"), read("type")) else { continue };
        let Some(kib) = size.strip_suffix('K').and_then(|kib| kib.parse::<u64>().ok()) else { continue };
        if let (Ok(level), true) = (level.parse(), kind != "Instruction") {
            all.push((level, kib << 10));
        }
    }
    all
}
