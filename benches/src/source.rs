//! A UPC program of a given length, to time the compiler with.

use std::fmt::Write;

/// About `lines` lines of UPC: functions over shared and private data, as real programs mix them.
pub fn generate(lines: usize) -> String {
    let mut text = String::from(
        "#include <upc_relaxed.h>\n#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n",
    );
    let mut number = 0;
    // Each function and its data take 40 lines.
    while text.lines().count() + 50 < lines {
        let layout = ["", "[4]", "[7]", "[*]", "[128]"][number % 5];
        let _ = write!(
            text,
            "
struct record_{number} {{
    int key, count;
    double value[4];
    shared {indefinite} struct record_{number} *next;
}};
shared {layout} double data_{number}[64 * THREADS];
shared struct record_{number} table_{number}[16 * THREADS];
static double private_{number}[64];

/* Number {number}. */
static double work_{number}(int n, shared {pointed} double *p, const char *name)
{{
    double sum = 0, least = 1e300;
    upc_forall (int i = 0; i < n; i++; &data_{number}[i]) {{
        data_{number}[i] = sqrt((double)i) + {number};
        sum += data_{number}[i] * 0.5;
    }}
    upc_barrier {number};
    for (int i = 0; i < n; i++) {{
        const double x = p[i % 64] - data_{number}[(i * 7) % (64 * THREADS)];
        private_{number}[i % 64] += x > 0 ? x : -x;
        if (x < least)
            least = x;
        switch (i % 4) {{
        case 0:
            table_{number}[i % (16 * THREADS)].count++;
            break;
        case 1:
            table_{number}[i % (16 * THREADS)].value[i % 3] += least;
            break;
        default:
            sum -= private_{number}[(i + 1) % 64];
        }}
    }}
    if (strlen(name) > 3 && MYTHREAD == 0)
        printf(\"%s: %f %f\\n\", name, sum, least);
    return sum + (double)upc_threadof(p) + (double)upc_phaseof(&data_{number}[3]);
}}
",
            indefinite = if number % 2 == 0 { "[]" } else { "" },
            pointed = if layout == "[*]" { "[64]" } else { layout },
        );
        number += 1;
    }
    text.push_str("\nint main(void)\n{\n    double total = 0;\n");
    for i in 0..number {
        let _ = writeln!(text, "    total += work_{i}(64, data_{i}, \"work\");");
    }
    text.push_str("    return total < 0;\n}\n");
    text
}

/// The same work in C for one process of several: arrays are its own, a `upc_forall` takes every THREADS-th
/// iteration.
pub fn plain(lines: usize) -> String {
    let text = generate(lines);
    let mut c = String::from("extern int MYTHREAD, THREADS;\nvoid upc_barrier(int);\n");
    for line in text.lines().skip(1) {
        let mut line = line.to_string();
        // `shared [4] T` becomes `T`, a definition at file scope `static T x[... * 64]`.
        while let Some(at) = line.find("shared ") {
            let rest = line[at + 7..].trim_start();
            let rest = match rest.strip_prefix('[') {
                Some(layout) => layout.split_once(']').map_or("", |(_, rest)| rest).trim_start(),
                None => rest,
            };
            let definition = at == 0 && line.ends_with("THREADS];");
            let rest = if definition { rest.replace("THREADS", "64") } else { rest.to_string() };
            line = format!("{}{}{rest}", &line[..at], if definition { "static " } else { "" });
        }
        if let Some(at) = line.find("upc_forall (") {
            line = format!("{}for (int i = MYTHREAD; i < n; i += THREADS) {{", &line[..at]);
        }
        if let Some(value) = line.trim().strip_prefix("upc_barrier ") {
            line = format!("    upc_barrier({});", value.trim_end_matches(';'));
        }
        let line = line
            .replace("upc_threadof(p)", "((unsigned long)p / 1024 % THREADS)")
            .replace("upc_phaseof(", "((unsigned long)");
        c.push_str(&line);
        c.push('\n');
    }
    c
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_as_long_as_asked() {
        let lines = super::generate(5000).lines().count();
        assert!((4900..5300).contains(&lines), "{lines}");
    }

    #[test]
    fn is_c_too() {
        let text = super::plain(500);
        for word in ["shared", "upc_forall", "upc_threadof", "upc_phaseof"] {
            assert!(!text.contains(word), "{word} in\n{text}");
        }
    }
}
