//! Trapeze: Table 1 and Figures 4 and 5 of Anderson, Chase and others (1998), from the events of the modelled
//! hosts ([`gasnet_sim::Trapeze`], [`gasnet_sim::PageFile`]).
//!
//! **Honesty.** Calls without payload (latency, the second server, the rate), the wake, the deferral, the
//! copy, bus and link go in ([`TrapezeInputs`]); their rows print without `paper`. Two numbers are chosen so
//! that pipelined rates come out (`page_work`). Of the file access, the work of a page on the reader's
//! processor goes in; the writer's is that, slowed down by the two processors' clocks.

#[cfg(test)]
mod tests;

use super::chart::{Chart, Curve};
use super::table::Row;
use gasnet_sim::{
    Access, Bare, Call, FileCosts, Interface, Machine, PageFile, Payload, Reply, Report, Time, Trapeze,
    TrapezeCosts, TrapezeInputs,
};

/// The inputs and the sizes of the runs.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// The inputs.
    pub inputs: TrapezeInputs,
    /// Calls of a rate.
    pub calls: u32,
    /// Pages of a file.
    pub pages: u64,
    /// The seed.
    pub seed: u64,
}

impl Setup {
    /// The paper's inputs.
    pub fn paper(quick: bool) -> Setup {
        let (calls, pages) = if quick { (200, 400) } else { (2000, 4000) };
        Setup { inputs: TrapezeInputs::PAPER, calls, pages, seed: 1 }
    }

    fn costs(&self) -> TrapezeCosts {
        TrapezeCosts::new(&self.inputs)
    }

    /// Runs a client on the hosts of such calls.
    fn client<T>(
        &self,
        costs: TrapezeCosts,
        call: Call,
        client: impl Fn(&Machine<'_, Trapeze>) -> T,
    ) -> Result<Report<T>, String> {
        Bare::new(1, self.seed).run(Trapeze::new(costs, call), client).map_err(|e| e.to_string())
    }
}

/// A call's time in microseconds, with nothing else under way.
fn latency(s: &Setup, costs: TrapezeCosts, call: Call) -> Result<f64, String> {
    let times = 10;
    let report = s.client(costs, call, |m| {
        let mut took = Time::ZERO;
        for _ in 0..times {
            m.device(|hosts, clock| hosts.call(clock));
            let call = m.until("a reply", |hosts, _| hosts.finished());
            took += call.ended.since(call.begun);
            // Work that the call has deferred is completed before the next one.
            m.work(Time::us(200.0));
        }
        took.as_us() / f64::from(times)
    })?;
    Ok(report.results[0])
}

/// The results of calls in a row.
#[derive(Debug, Clone, Copy)]
struct Flood {
    /// Calls in a microsecond.
    rate: f64,
    /// The client's processor: microseconds a call.
    processor: f64,
}

/// Calls in a row: one at a time if a thread waits for each, else as many under way as hide their latency.
fn flood(s: &Setup, call: Call) -> Result<Flood, String> {
    let under_way = if call.reply == Reply::Wait { 1 } else { UNDER_WAY };
    let report = s.client(s.costs(), call, |m| {
        let begin = m.now();
        m.device(|hosts, clock| hosts.flood(clock, s.calls, under_way));
        m.until("all replies", |hosts, _| (hosts.over() == s.calls as usize).then_some(()));
        let worked = m.device(|hosts, _| hosts.client_work());
        let calls = f64::from(s.calls);
        Flood { rate: calls / m.now().since(begin).as_us(), processor: worked.as_us() / calls }
    })?;
    Ok(report.results[0])
}

/// Calls under way in the pipelined rows: more than latency / service of any row.
const UNDER_WAY: u32 = 16;

/// Table 1: messages, reply; without payload: latency and messages a second; then for 4 KiB and for 8 KiB the
/// latency and MB/s of a solicited, an unsolicited and a copied payload.
struct Published {
    hops: u32,
    reply: Reply,
    empty: [f64; 2],
    latency: [[f64; 3]; 2],
    rate: [[f64; 3]; 2],
}

const TABLE_1: [Published; 6] = [
    Published {
        hops: 2,
        reply: Reply::Wait,
        empty: [73.7, 13_600.0],
        latency: [[127.6, 134.0, 167.4], [165.9, 169.6, 217.2]],
        rate: [[32.1, 30.6, 24.5], [48.8, 48.0, 37.5]],
    },
    Published {
        hops: 2,
        reply: Reply::Continuation,
        empty: [69.0, 64_500.0],
        latency: [[125.8, 128.0, 160.8], [163.5, 166.7, 210.8]],
        rate: [[78.9, 79.2, 69.7], [95.1, 97.4, 90.5]],
    },
    Published {
        hops: 2,
        reply: Reply::Deferred,
        empty: [73.1, 64_500.0],
        latency: [[131.6, 135.2, 170.0], [169.8, 170.5, 218.3]],
        rate: [[76.9, 70.7, 50.4], [94.9, 96.7, 92.9]],
    },
    Published {
        hops: 3,
        reply: Reply::Wait,
        empty: [109.5, 9_150.0],
        latency: [[163.4, 168.8, 201.8], [201.9, 205.9, 254.0]],
        rate: [[25.1, 24.3, 20.3], [40.3, 39.7, 32.2]],
    },
    Published {
        hops: 3,
        reply: Reply::Continuation,
        empty: [104.6, 64_600.0],
        latency: [[162.6, 163.6, 195.2], [199.5, 202.3, 246.4]],
        rate: [[79.4, 78.8, 63.6], [94.7, 97.1, 91.3]],
    },
    Published {
        hops: 3,
        reply: Reply::Deferred,
        empty: [108.9, 64_500.0],
        latency: [[166.6, 169.6, 204.0], [205.7, 206.1, 254.4]],
        rate: [[77.6, 65.7, 47.9], [95.5, 96.3, 88.1]],
    },
];

const PAYLOADS: [(Payload, &str); 3] =
    [(Payload::Solicited, "solicited"), (Payload::Unsolicited, "unsolicited"), (Payload::Copied, "copied")];
const SIZES: [(usize, &str); 2] = [(4096, "4k"), (8192, "8k")];

const DEFERRED_4K: &str = "the paper's own rate falls by 7 us a page for a buffer of the ring that costs a continuation 3 us \
                           and its rate nothing: what the daemon does besides is not published";

/// The name of the rows of one kind of call.
fn prefix(p: &Published) -> String {
    let reply = match p.reply {
        Reply::Wait => "wait",
        Reply::Continuation => "cont",
        Reply::Deferred => "defer",
    };
    format!("table1_{}way_{reply}", p.hops)
}

/// Whether that row went into the model.
fn is_input(p: &Published, what: &str) -> bool {
    match what {
        "0b" => p.reply == Reply::Continuation || p.hops == 2,
        _ => false,
    }
}

/// Table 1: 42 latencies, and rates.
pub fn table_1(s: &Setup) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for p in &TABLE_1 {
        let name = prefix(p);
        let add = |what: &str, unit, here: f64, paper: f64, input: bool| {
            let row = Row::new(format!("{name}_{what}"), unit, p.hops, here);
            if input { row.explained(format!("calibration: {paper}")) } else { row.paper(paper) }
        };
        let call = |payload, bytes| Call { hops: p.hops, reply: p.reply, payload, bytes };
        let empty = call(Payload::Nothing, 0);
        rows.push(add("0b", "us", latency(s, s.costs(), empty)?, p.empty[0], is_input(p, "0b")));
        let rate = flood(s, empty)?.rate * 1e6;
        let input = p.hops == 2 && p.reply == Reply::Continuation;
        rows.push(add("0b_rate", "msgs/s", rate, p.empty[1], input));
        for ((bytes, size), (published, rates)) in SIZES.into_iter().zip(p.latency.iter().zip(&p.rate)) {
            for (i, (payload, how)) in PAYLOADS.into_iter().enumerate() {
                let call = call(payload, bytes);
                let here = latency(s, s.costs(), call)?;
                rows.push(add(&format!("{size}_{how}"), "us", here, published[i], false));
                let flood = flood(s, call)?;
                let row =
                    add(&format!("{size}_{how}_rate"), "MB/s", flood.rate * bytes as f64, rates[i], false);
                let deferred = p.reply == Reply::Deferred && bytes == 4096 && payload == Payload::Unsolicited;
                rows.push(if deferred { row.explained(DEFERRED_4K) } else { row });
                rows.push(Row::new(format!("{name}_{size}_{how}_cpu"), "us/page", p.hops, flood.processor));
            }
        }
    }
    Ok(rows)
}

/// A payload of that size in chunks, and as a whole: microseconds of the call.
fn chunked(s: &Setup, bytes: usize) -> Result<[f64; 2], String> {
    let call = Call { hops: 2, reply: Reply::Wait, payload: Payload::Solicited, bytes };
    let whole = TrapezeCosts { cut_through: false, ..s.costs() };
    Ok([latency(s, s.costs(), call)?, latency(s, whole, call)?])
}

/// The gain by cut-through delivery, and the streams of pages without calls.
pub fn cut_through(s: &Setup) -> Result<(Vec<Row>, Chart), String> {
    let mut rows = Vec::new();
    let mut curves =
        ["in chunks", "stored and forwarded"].map(|name| Curve { name: name.into(), points: Vec::new() });
    for bytes in [256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192] {
        let both = chunked(s, bytes)?;
        curves.iter_mut().zip(both).for_each(|(curve, us)| curve.points.push((bytes as f64, us)));
    }
    let [chunks, whole] = chunked(s, 8192)?;
    rows.push(Row::new("cut_through_8k_call", "us", 2, chunks).paper(165.0));
    rows.push(Row::new("cut_through_8k_call_stored", "us", 2, whole).paper(266.0));
    rows.push(Row::new("cut_through_8k_saves", "%", 2, (1.0 - chunks / whole) * 100.0).paper(38.0));
    let [small, same] = chunked(s, 1024)?;
    rows.push(
        Row::new("cut_through_1k_saves", "%", 2, (1.0 - small / same) * 100.0)
            .explained("published: helps messages of more than 1 KB"),
    );
    let chart = Chart {
        file: "trapeze-cut-through".into(),
        setting: SIMULATED.into(),
        title: "A call with a payload in its reply, in chunks and as a whole".into(),
        x: "payload (bytes)",
        y: "latency (us)",
        curves: curves.into(),
        ..Chart::default()
    };
    Ok((rows, chart))
}

/// The machine of the figures.
const SIMULATED: &str = "simulated: Trapeze on Myrinet between Alpha hosts, as in the paper";

/// Bytes of a page of the file, and MB as the paper counts them there.
const PAGE_BYTES: f64 = 8192.0;
const MB: f64 = 1_048_576.0;

/// Megahertz of the two machines: the reader's, and the writer's.
const CLOCKS: [f64; 2] = [500.0, 266.0];

/// The reader, a Miata: 96 MB/s of the network; work of a page as it follows from the dense ends.
fn reader(s: &Setup) -> Result<FileCosts, String> {
    let call =
        Call { hops: 2, reply: Reply::Continuation, payload: Payload::Solicited, bytes: PAGE_BYTES as usize };
    Ok(FileCosts {
        page_in: Time::us(PAGE_BYTES / (96.0 * MB) * 1e6),
        fault: Time::us(latency(s, s.costs(), call)?),
        page_out: Time::us(PAGE_BYTES / 105.0),
        kernel: Time::us(38.0),
        copy: Time::us(54.0),
        touch: Time::us(55.0),
        touch_copied: Time::us(23.0),
        window: 8,
    })
}

/// The writer, an Alcor: its bus receives at 66 MB/s, it sends what it writes at 58 MB/s, and its processor
/// is that much slower.
fn writer(s: &Setup) -> Result<FileCosts, String> {
    let reader = reader(s)?;
    let slower = |t: Time| Time::us(t.as_us() * CLOCKS[0] / CLOCKS[1]);
    let slow_bus = PAGE_BYTES / 66.0 - PAGE_BYTES / s.inputs.rates[0];
    Ok(FileCosts {
        page_in: Time::us(PAGE_BYTES / 66.0),
        fault: reader.fault + Time::us(slow_bus),
        page_out: Time::us(PAGE_BYTES / 58.0),
        kernel: slower(reader.kernel),
        copy: slower(reader.copy),
        touch: slower(reader.touch),
        touch_copied: slower(reader.touch_copied),
        window: 8,
    })
}

/// The results of a pass through a file.
#[derive(Debug, Clone, Copy)]
struct Through {
    /// MB/s.
    rate: f64,
    /// The kernel's share of the processor, in percent; with the program's.
    kernel: f64,
    busy: f64,
}

fn through(
    s: &Setup,
    costs: FileCosts,
    interface: Interface,
    access: Access,
    share: f64,
) -> Result<Through, String> {
    let report = Bare::new(1, s.seed)
        .run(PageFile::new(costs), |m: &Machine<'_, PageFile>| {
            let begin = m.now();
            let [kernel, program] = m.go_through(interface, access, s.pages, share);
            let took = m.now().since(begin).as_us();
            Through {
                rate: s.pages as f64 * PAGE_BYTES / took * 1e6 / MB,
                kernel: kernel.as_us() / took * 100.0,
                busy: (kernel + program).as_us() / took * 100.0,
            }
        })
        .map_err(|e| e.to_string())?;
    Ok(report.results[0])
}

const INTERFACES: [(Interface, &str); 3] =
    [(Interface::Stream, "stream"), (Interface::Mapped, "mmap"), (Interface::Blocks, "mapped blocks")];

/// Bytes touched of each page: a word to all.
fn touched() -> impl Iterator<Item = f64> {
    core::iter::once(8.0).chain((1..=32).map(|i| f64::from(i) * 256.0))
}

/// Figures 4 (reads) and 5 (writes): MB/s and processor time against the bytes touched of each page.
pub fn file_figures(s: &Setup) -> Result<Vec<Chart>, String> {
    let mut charts = Vec::new();
    for (access, number, what) in [(Access::Read, 4, "reads"), (Access::Write, 5, "writes")] {
        let costs = if access == Access::Read { reader(s)? } else { writer(s)? };
        let chart = |part: &str, title: String, y| Chart {
            file: format!("trapeze-fig{number}{part}"),
            setting: SIMULATED.into(),
            title,
            x: "bytes touched of each page",
            y,
            ..Chart::default()
        };
        let mut rate = chart("", format!("Sequential {what} of a file in network memory"), "MB/s");
        let mut kernel =
            chart("-kernel", format!("Sequential {what}: the kernel's share of the processor"), "percent");
        for (interface, name) in INTERFACES {
            // Of reads, mapped files and blocks have the same costs here.
            let name = match (access, interface) {
                (Access::Read, Interface::Mapped) => continue,
                (Access::Read, Interface::Blocks) => "mmap, mapped blocks",
                _ => name,
            };
            let mut curves = [(); 2].map(|()| Curve { name: name.into(), points: Vec::new() });
            for bytes in touched() {
                let t = through(s, costs, interface, access, bytes / PAGE_BYTES)?;
                curves[0].points.push((bytes, t.rate));
                curves[1].points.push((bytes, t.kernel));
            }
            let [a, b] = curves;
            rate.curves.push(a);
            kernel.curves.push(b);
        }
        charts.extend([rate, kernel]);
    }
    Ok(charts)
}

/// The share of a page from which on an interface is slower than the network.
fn departure(s: &Setup, interface: Interface) -> Result<f64, String> {
    let costs = reader(s)?;
    let common = through(s, costs, interface, Access::Read, 0.0)?.rate;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..12 {
        let middle = (low + high) / 2.0;
        if through(s, costs, interface, Access::Read, middle)?.rate > common * 0.995 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

const HALF: &str = "the text has all interfaces equal until about half of each page, from a plot; work that grows with the bytes and \
                    ends at the dense figure keeps up with the network until here";
/// The note on the memory bandwidth that a sender leaves to its processor.
const MEMORY: &str = "a sending Alcor leaves its processor less than a quarter of the memory's bandwidth, as the paper says: how much \
                      longer the stream's copy takes is not published, and here it takes what the clocks say";
const DENSE: &str = "the end of a curve: work of a page that follows from it";

/// Reads with `window` pages in progress, of which the program touches nothing, in MB/s.
fn read_ahead(s: &Setup, window: u64) -> Result<f64, String> {
    let costs = FileCosts { window, kernel: Time::ZERO, ..reader(s)? };
    Ok(through(s, costs, Interface::Mapped, Access::Read, 0.0)?.rate)
}

/// How far to read ahead: one page under way waits for each, and from latency / service of a page on more do
/// not help.
pub fn read_ahead_rows(s: &Setup) -> Result<Vec<Row>, String> {
    let costs = reader(s)?;
    let mut rows =
        vec![Row::new("read_ahead_enough", "pages", 2, costs.fault.as_us() / costs.page_in.as_us())];
    for window in 1..=8 {
        rows.push(Row::new(format!("read_ahead_{window}"), "MB/s", 2, read_ahead(s, window)?));
    }
    Ok(rows)
}

/// The paper's statements about Figures 4 and 5.
pub fn file_rows(s: &Setup) -> Result<Vec<Row>, String> {
    let (read, write) = (reader(s)?, writer(s)?);
    let row = |name: &str, unit, here: f64| Row::new(name, unit, 2, here);
    let dense = |costs, interface, access| through(s, costs, interface, access, 1.0);
    let stream = dense(read, Interface::Stream, Access::Read)?;
    let blocks = dense(read, Interface::Blocks, Access::Read)?;
    let mut rows = vec![
        row("fig4_sparse", "MB/s", through(s, read, Interface::Blocks, Access::Read, 0.001)?.rate)
            .explained("calibration: 96"),
        row("fig4_stream_dense", "MB/s", stream.rate).explained(format!("{DENSE}: 68")),
        row("fig4_stream_dense_kernel", "%", stream.kernel).explained(format!("{DENSE}: 80")),
        row("fig4_blocks_dense", "MB/s", blocks.rate).explained(format!("{DENSE}: 84")),
        row("fig4_blocks_dense_kernel", "%", blocks.kernel).explained(format!("{DENSE}: 41")),
        row("fig4_blocks_dense_busy", "%", blocks.busy).paper(100.0),
        row("fig4_stream_departs_at", "of a page", departure(s, Interface::Stream)?)
            .paper(0.5)
            .explained(HALF),
        row("fig4_blocks_depart_at", "of a page", departure(s, Interface::Blocks)?)
            .paper(0.5)
            .explained(HALF),
    ];
    let full = |interface| dense(write, interface, Access::Write);
    let almost = |interface| through(s, write, interface, Access::Write, 0.97);
    rows.push(row("fig5_stream_dense", "MB/s", full(Interface::Stream)?.rate).paper(26.0).explained(MEMORY));
    rows.push(row("fig5_blocks_dense", "MB/s", full(Interface::Blocks)?.rate).paper(46.0));
    for (interface, name) in INTERFACES {
        let jump = full(interface)?.rate / almost(interface)?.rate;
        let word = name.split(' ').next_back().unwrap_or(name);
        rows.push(row(&format!("fig5_{word}_jump"), "times", jump).explained(match interface {
            Interface::Mapped => "published: no spike at full pages",
            _ => "published: a spike at full pages, whose height is not given",
        }));
    }
    for (name, value) in
        [("nfs_read", 13.5), ("gms_over_ip_read", 25.0), ("tcp", 87.0), ("raw_overwriting", 58.0)]
    {
        rows.push(Row::published(format!("trapeze_{name}"), "MB/s", value));
    }
    rows.push(Row::published("trapeze_pii_page_4k", "us", 70.0));
    for (name, value) in [("pii_stream_8k", 112.0), ("pii_stream_64k", 126.0)] {
        rows.push(Row::published(format!("trapeze_{name}"), "MB/s", value));
    }
    Ok(rows)
}

/// Where the paper's numbers disagree.
pub fn contradictions() -> Vec<String> {
    [
        "Table 1's first block of deferred continuations is headed 3-way; its latencies (73.1 us) are those of 2-way calls",
        "Bandwidths are said to be in units of 2^20 bytes; Table 1 agrees with its own latencies in units of 10^6 (4096 B / 127.6 us = 32.1)",
        "The text has continuations keep 87 % of 88 MB/s (4 KiB) and over 92 % of 105 MB/s (8 KiB): the table has 89.7 % and 90.6 %",
        "The text has copies cost at most 7 %: true of 8 KiB with continuations; with 4 KiB they cost 12 to 19 %",
        "Solicited payloads are called cheaper: their latency is lower in all twelve rows, their pipelined bandwidth is not",
    ]
    .map(|line| format!("- {line}"))
    .into()
}
