//! Phases made for passes of upcc's optimiser: runs and rows that are long enough to be worth stretches and
//! vectors, other names for the same memory, writes that another thread waits for, `upc_forall` inside
//! `upc_forall`.

use std::fmt::Write;

use super::{Array, MEMBERS, Maker, Side};

/// An element as an operand that stays in range: the same type on both sides needs no conversion.
fn operand(target: &Array, source: &Array, place: &str) -> String {
    let same = target.element == source.element && source.element != "struct mixed";
    if same { place.to_string() } else { format!("(long){place}") }
}

impl Array {
    /// Elements to a block, 0 for all on one thread.
    fn block(&self) -> u64 {
        match self.layout.as_str() {
            "" => 1,
            "[]" => 0,
            "[*]" => self.factor,
            number => number.trim_matches(['[', ']']).parse().unwrap_or(1),
        }
    }

    /// The same number of elements and rows.
    fn alike(&self, other: &Array) -> bool {
        self.number != other.number
            && (self.factor, self.row, self.indefinite()) == (other.factor, other.row, other.indefinite())
    }
}

impl Maker {
    /// An array and another of its size, if there is one.
    fn pair(&mut self) -> Option<(Array, Array)> {
        let arrays = self.arrays.clone();
        let target = self.random.pick(&arrays).clone();
        let others: Vec<Array> = arrays.iter().filter(|a| a.alike(&target)).cloned().collect();
        if others.is_empty() { None } else { Some((target, self.random.pick(&others).clone())) }
    }

    /// A upc_forall over elements at the same index of two arrays, and around it.
    pub(super) fn alike_loop(&mut self) {
        let Some((target, source)) = self.pair() else { return self.shared_out_loop() };
        let (member, other) = (*self.random.pick(&MEMBERS), *self.random.pick(&MEMBERS));
        let (low, k, form) = (self.random.below(20), self.random.below(100), self.random.below(7));
        let affinity = match self.random.below(5) {
            0 => format!("i + {k}"),
            _ => format!("&{}", target.at(Side::Shared, "i")),
        };
        let variable = *self.random.pick(&["int", "long", "unsigned"]);
        let spare = 2 + self.random.below(9);
        // Compared as long: there may be fewer elements than are left out.
        let header = format!("{variable} i = {low} + 2; (long)i < (long){} - {spare}; i++", target.count());
        let bare = format!("{variable} i = {low} + 2; i < count; i++");
        let header = if self.random.one_in(2) { header } else { bare };
        let same = target.element == source.element && target.element != "struct mixed";
        let body = |side: Side| {
            let t = target.scalar(&target.at(side, "i"), member);
            let s = |at: &str| {
                let place = source.scalar(&source.at(side, at), other);
                operand(&target, &source, &place)
            };
            let here = source.scalar(&source.at(side, "i"), other);
            match form {
                0 => format!("{t} = {t} / 2 + {} / 4;", s("i")),
                1 => format!("{t} = {t} / 2 + {} / 8 + {} / 8;", s("i - 1"), s("i + 1")),
                2 => format!("{{ {t} = {t} / 2 + {} / 4; {t} = {t} / 2 + i % 9; }}", s("i")),
                3 => format!("if (i % 3 || {here} > 5) {t} = {t} / 2 + {} / 4;", s("i")),
                4 => format!(
                    "{{ long v = (long){here}; if (v > {k}) v = {k} - v / 2; {t} = {t} / 2 + v / 4; }}"
                ),
                5 => format!("{t} = {t} / 2 + {} / 8 + {} / 8 + {} / 16;", s("i"), s("i + 2"), s("i - 2")),
                _ if same => format!("{t} = {};", s("i")),
                _ => format!("{t} = {} / 4;", s("i")),
            }
        };
        let _ = write!(
            self.text,
            "    {{\n    const long count = (long){} - {spare};\n    upc_forall ({header}; {affinity})\n        {}\n    for ({header})\n        {}\n    }}\n",
            target.count(),
            body(Side::Shared),
            body(Side::Mirror)
        );
    }

    /// Each thread adds up what is its own, and what it should be.
    pub(super) fn own_sums(&mut self) {
        let arrays = self.arrays.clone();
        let target = self.random.pick(&arrays).clone();
        let member = *self.random.pick(&MEMBERS);
        let (low, spare) = (self.random.below(20), self.random.below(20));
        let (s, m) = (target.at(Side::Shared, "i"), target.at(Side::Mirror, "i"));
        let header = format!("long i = {low}; i < (long){} - {spare}; i++", target.count());
        let _ = write!(
            self.text,
            "    {{
    unsigned long sum = 0, right = 0, times = 0;
    upc_forall ({header}; &{s}) {{ sum += (unsigned long)(long){}; times++; }}
    for ({header})
        if (upc_threadof(&{s}) == MYTHREAD) {{ right += (unsigned long)(long){}; times--; }}
    if (sum != right || times)
        differ(-2, {}, (long)times);
    }}
",
            target.scalar(&s, member),
            target.scalar(&m, member),
            target.number
        );
    }

    /// A stencil over the rows of two arrays: rows shared out, or the elements of each.
    pub(super) fn stencil(&mut self) {
        let pair = self.pair().filter(|(target, _)| target.row.is_some());
        let Some((target, source)) = pair else { return self.rows_loop() };
        let row = target.row.unwrap_or(1);
        let (member, other) = (*self.random.pick(&MEMBERS), *self.random.pick(&MEMBERS));
        let (column, form) = (self.random.below(row), self.random.below(3));
        let body = |side: Side| {
            let t = target.scalar(&format!("{}[r][i]", target.name(side)), member);
            let s = |at: &str| {
                let place = source.scalar(&format!("{}{at}", source.name(side)), other);
                operand(&target, &source, &place)
            };
            let (centre, up, down) = (s("[r][i]"), s("[r - 1][i]"), s("[r + 1][i]"));
            let (left, right) = (s("[r][i - 1]"), s("[r][i + 1]"));
            match form {
                0 => format!("{t} = {centre} / 8 + {up} / 8 + {down} / 8 + {left} / 8 + {right} / 8;"),
                1 => format!("{t} = {t} / 2 + {up} / 8 + {right} / 8;"),
                _ => format!("{t} = {left} / 4 + {down} / 4;"),
            }
        };
        let rows = format!("int r = 1; r < {} / {row} - 1; r++", target.count());
        let columns = format!("int i = 1; i < {row} - 1; i++");
        let shared = match self.random.below(3) {
            0 => {
                format!("for ({rows})\n        upc_forall ({columns}; &{}[r][i])", target.name(Side::Shared))
            }
            1 => format!("upc_forall ({rows}; r)\n        for ({columns})"),
            _ => format!(
                "upc_forall ({rows}; &{}[r][{column}])\n        for ({columns})",
                target.name(Side::Shared)
            ),
        };
        let _ = write!(
            self.text,
            "    {shared}\n            {}\n    for ({rows})\n        for ({columns})\n            {}\n",
            body(Side::Shared),
            body(Side::Mirror)
        );
    }

    /// Loops of one thread that write what they read under another name, or twice.
    pub(super) fn aliases(&mut self) {
        let arrays = self.arrays.clone();
        let flat: Vec<Array> =
            arrays.iter().filter(|a| a.row.is_none() && a.element != "struct mixed").cloned().collect();
        if flat.is_empty() {
            return self.loop_of_one();
        }
        let target = self.random.pick(&flat).clone();
        let source = self.random.pick(&flat).clone();
        let (k, form) = (self.random.below(12), self.random.below(8));
        // All elements of some arrays are thread 0's.
        let who = if target.indefinite() { 0 } else { self.random.below(8) };
        let build = |side: Side| {
            let (t, s) = (target.name(side), source.name(side));
            let (ct, cs) = (target.count(), source.count());
            let least = format!("(long)LEAST({ct}, {cs})");
            let v = |at: &str| operand(&target, &source, &format!("{s}[{at}]"));
            let p = target.pointer(side, "p");
            let run = format!("for (long i = 0; i < (long){ct} - {k}; i++)");
            match form {
                0 => format!("{{ {p} = {t} + {k}; {run} {t}[i] = {t}[i] / 2 + p[i] / 4; }}"),
                1 => format!("{{ {p} = {t} + {k}; {run} p[i] = p[i] / 2 + {t}[i] / 4; }}"),
                // The thread's own part through a private pointer.
                2 | 3 => {
                    let (block, e) = (target.block(), target.element);
                    let all = if block == 0 { ct.clone() } else { block.to_string() };
                    let statement = if form == 2 {
                        format!("q[j] = q[j] / 2 + {t}[first + j + 1] / 4;")
                    } else {
                        format!("{t}[first + j] = {t}[first + j] / 2 + q[j + 1] / 4;")
                    };
                    format!(
                        "{{ const long first = {block} * ({who} % THREADS), n = LEAST((long){all}, (long){ct} - first); \
                         if (n > 0) {{ {e} *q = ({e} *)&{t}[first]; for (long j = 0; j + 1 < n; j++) {statement} }} }}"
                    )
                }
                4 => format!(
                    "for (long i = 0; i < {least} - {k} - 1; i++) {{ {t}[i] = {t}[i] / 2 + {} / 4; {t}[i + 1] = {t}[i + 1] / 2 + {t}[i] / 4; }}",
                    v(&format!("i + {k}"))
                ),
                5 => format!(
                    "for (long i = 0; i < {least}; i++) {t}[{k} % {ct}] = {t}[{k} % {ct}] / 2 + {} / 4;",
                    v("i")
                ),
                6 => format!(
                    "for (long i = 0; i < {least}; i++) {t}[i] = {t}[{ct} - 1 - i] / 2 + {} / 4;",
                    v("i")
                ),
                _ => {
                    let quarter = if target.element == source.element { "" } else { " / 4" };
                    let read = v(&format!("i + {k}"));
                    format!("for (int i = 0; i < {least} - {k}; i++) {t}[i] = {read}{quarter};")
                }
            }
        };
        let _ = write!(
            self.text,
            "    if (MYTHREAD == {who} % THREADS) {{\n        {}\n    }}\n    {{\n        {}\n    }}\n    upc_barrier;\n",
            build(Side::Shared),
            build(Side::Mirror)
        );
    }

    /// Work that goes from thread to thread: what one has written the next one finds, and the other way
    /// round.
    pub(super) fn hand_over(&mut self, phase: u64) {
        let way = self.random.below(3);
        let mut mirrored = String::new();
        for hop in 0..2 + self.random.below(3) {
            let who = self.random.below(8);
            let mut work = String::new();
            for _ in 0..1 + self.random.below(4) {
                let target = self.random.pick(&self.arrays.clone()).clone();
                let index = self.index(&target);
                let [s, m] = self.statement(&target, &index);
                let _ = writeln!(work, "        {s}");
                let _ = writeln!(mirrored, "        {m}");
            }
            let next = hop + 1;
            let (wait, tell) = match way {
                0 => (format!("while (flags[{phase}] != {hop}) ;"), format!("flags[{phase}] = {next};")),
                1 => (
                    format!("while (flags[{phase}] != {hop}) upc_fence;"),
                    format!("upc_fence; flags[{phase}] = {next};"),
                ),
                _ => (
                    format!(
                        "for (int seen = -1; seen != {hop};) {{ upc_lock(the_lock); seen = told[{phase}]; upc_unlock(the_lock); }}"
                    ),
                    format!("upc_lock(the_lock); told[{phase}] = {next}; upc_unlock(the_lock);"),
                ),
            };
            let _ = write!(
                self.text,
                "    if (MYTHREAD == {who} % THREADS) {{\n        {wait}\n{work}        {tell}\n    }}\n"
            );
        }
        let _ = write!(self.text, "    {{\n{mirrored}    }}\n    upc_barrier;\n");
    }

    /// All threads change the same elements under a lock; the order does not matter.
    pub(super) fn locked(&mut self) {
        let arrays = self.arrays.clone();
        let mut whole: Vec<Array> = arrays.into_iter().filter(Array::whole_numbers).collect();
        whole.truncate(2);
        let k = self.random.below(100);
        let mut work = [String::new(), String::new()];
        for array in &whole {
            for _ in 0..1 + self.random.below(3) {
                let index = self.index(array);
                for (side, text) in [Side::Shared, Side::Mirror].into_iter().zip(&mut work) {
                    let x = array.at(side, &index);
                    let _ = writeln!(
                        text,
                        "        {x} = ({})((unsigned long){x} + me * {k} + 1);",
                        array.element
                    );
                }
            }
        }
        let [shared, mirror] = work;
        let _ = write!(
            self.text,
            "    {{\n        const unsigned long me = MYTHREAD;\n        upc_lock(the_lock);\n{shared}        upc_unlock(the_lock);\n    }}\n    for (unsigned long me = 0; me < THREADS; me++) {{\n{mirror}    }}\n"
        );
    }

    /// A upc_forall inside another, which each thread runs alone.
    pub(super) fn nested_loop(&mut self) {
        let arrays = self.arrays.clone();
        let target = self.random.pick(&arrays).clone();
        let member = *self.random.pick(&MEMBERS);
        let (k, form) = (self.random.below(100), self.random.below(3));
        let header = format!("int i = {}; i < {}; i++", k % 3, target.count());
        let body = |side: Side| {
            let x = target.scalar(&target.at(side, "i"), member);
            let inner = match (form, side) {
                (0, Side::Shared) => "upc_forall (int j = 0; j < 5; j++; j)".to_string(),
                (1, Side::Shared) => {
                    format!("upc_forall (int j = 0; j < 5; j++; &{})", target.at(Side::Shared, "j % 2"))
                }
                (2, Side::Shared) => "h = h + turns_of(i, h); for (int j = 0; j < 5; j++)".to_string(),
                (2, Side::Mirror) => "h = h + 7 * (i % 3 + 1) + h; for (int j = 0; j < 5; j++)".to_string(),
                _ => "for (int j = 0; j < 5; j++)".to_string(),
            };
            format!("{{ long h = {k} + i % 7; {inner} h = h / 2 + j; {x} = {x} / 2 + h % 37; }}")
        };
        let _ = write!(
            self.text,
            "    upc_forall ({header}; &{})\n        {}\n    for ({header})\n        {}\n",
            target.at(Side::Shared, "i"),
            body(Side::Shared),
            body(Side::Mirror)
        );
    }

    /// Declares the objects of these phases at file scope.
    pub(super) fn declarations(&mut self) {
        self.text += "
upc_lock_t *the_lock;
strict shared int flags[64 * THREADS];
shared int told[64 * THREADS];
/* Shared out, unless whoever calls is itself part of a upc_forall. */
static long turns_of(int i, long h)
{
    long sum = h;
    upc_forall (int j = 0; j < 7; j++; j + i)
        sum += i % 3 + 1;
    return sum;
}
";
    }
}
