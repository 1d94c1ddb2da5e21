//! Loops through pointers and offsets that are themselves in shared memory: `d[k][i]`, `x[first[k] + i]`.
//! The compiler may read a loop-invariant element once, unless the loop changes it.

use std::fmt::Write;

use super::{Array, MEMBERS, MOST_THREADS, Maker, Side};

/// Where pointers of a directory start at most, and what is left out at the end of their arrays.
const STARTS: u64 = 5;

impl Maker {
    /// A directory of pointers into an array, and one of offsets.
    pub(super) fn directory(&mut self) {
        let flat: Vec<Array> = self.arrays.iter().filter(|a| a.row.is_none()).cloned().collect();
        if flat.is_empty() {
            return;
        }
        let target = self.random.pick(&flat).clone();
        let [pointers, offsets] = [0, 1].map(|_| 1 + self.random.below(4));
        let most = 8 * MOST_THREADS;
        let _ = write!(
            self.text,
            "/* Pointers into array {}, and offsets. */
{};
static {};
shared [{offsets}] int so[8 * THREADS];
static int mo[{most}];
",
            target.number,
            target.pointer(Side::Shared, &format!("shared [{pointers}] sd[8 * THREADS]")),
            target.pointer(Side::Mirror, &format!("md[{most}]")),
        );
        self.pointed = Some(target);
    }

    /// One thread works through the directories.
    pub(super) fn directory_loops(&mut self) {
        let Some(target) = self.pointed.clone() else { return self.loop_of_one() };
        let who = self.random.below(8);
        let mut texts = [String::new(), String::new()];
        for _ in 0..2 + self.random.below(4) {
            let statements = self.directory_loop(&target);
            for (text, statement) in texts.iter_mut().zip(statements) {
                let _ = writeln!(text, "        {statement}");
            }
        }
        let [shared, mirror] = texts;
        let set = |side: char, name: String| {
            format!(
                "for (int i = 0; i < 8 * THREADS; i++) {{ {side}d[i] = {name} + i % {STARTS} % {}; {side}o[i] = i % {STARTS}; }}",
                target.count()
            )
        };
        let _ = write!(
            self.text,
            "    if (MYTHREAD == {who} % THREADS) {{
        {}
{shared}    }}
    {{
        {}
{mirror}    }}
    upc_barrier;
",
            set('s', target.name(Side::Shared)),
            set('m', target.name(Side::Mirror))
        );
    }

    fn directory_loop(&mut self, target: &Array) -> [String; 2] {
        let arrays = self.arrays.clone();
        let other = self.random.pick(&arrays).clone();
        let (member, second) = (*self.random.pick(&MEMBERS), *self.random.pick(&MEMBERS));
        let [a, b] = [0, 1].map(|_| format!("{} % (8 * THREADS)", self.random.below(1000)));
        let (form, k) = (self.random.below(12), self.random.below(100));
        let variable = *self.random.pick(&["int", "long", "unsigned"]);
        [Side::Shared, Side::Mirror].map(|side| {
            let letter = if side == Side::Shared { 's' } else { 'm' };
            let (ct, co) = (target.count(), other.count());
            let head = format!("for ({variable} i = 0; (long)i < LEAST((long){ct}, (long){co}) - {STARTS} - 2; i++)");
            let d = |at: &str, i: &str| target.scalar(&format!("{letter}d[{at}][{i}]"), member);
            let here = d(&a, "i");
            let there = d(&b, "i + 1");
            let read = other.scalar(&other.at(side, &format!("{letter}o[{b}] + i")), second);
            let write = other.scalar(&other.at(side, "i"), second);
            let value = |x: &str| format!("((unsigned long)(long){x} * 3 + {k} + i) % 41");
            let kept = format!("numbers[{}][i % 4096]", u8::from(side == Side::Mirror));
            match form {
                0 => format!("{head} {kept} = (long){here};"),
                1 => format!("{{ long h = 0; {head} h += (long){here} % 7 + (long){read} % 11; {kept} = h; }}", kept = kept.replace("i % 4096", "0")),
                2 => format!("{head} {here} = {here} / 2 + {};", value(&read)),
                3 => format!("{head} {write} = {write} / 2 + {};", value(&there)),
                4 => format!("{head} {here} = {here} / 2 + {};", value(&there)),
                // The loop changes the pointer that it reads in every iteration.
                5 => format!("{head} {{ {here} = {here} / 2 + {}; if (i == 3) {letter}d[{a}] = {letter}d[{b}]; }}", value(&read)),
                6 => format!("{head} {{ {write} = {}; {letter}o[{b}] = i % {STARTS}; }}", value(&read)),
                7 => format!("{head} {{ {letter}o[i % (8 * THREADS)] = ({letter}o[{a}] + 1) % {STARTS}; {letter}o[{b}]++; {letter}o[{b}] %= {STARTS}; }}"),
                // Not in each iteration, or not at all.
                8 => format!("{head} if (i % 3) {here} = {here} / 2 + {};", value(&read)),
                9 => format!("{head} {{ if (i % 4 == 1) continue; {here} = {here} / 2 + {letter}o[{b}]; }}"),
                10 => format!(
                    "{letter}d[{b}] = 0; for (int i = 0; i < {letter}o[{a}] / {STARTS}; i++) {there}++; {letter}d[{b}] = {};",
                    target.name(side)
                ),
                _ => format!("{{ const int at = {a}; {head} {} = {} / 2 + {letter}o[at] + {letter}o[{b}] % 3; }}", d("at", "i"), d("at", "i")),
            }
        })
    }
}
