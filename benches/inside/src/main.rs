//! Costs inside one process, by criterion: `cargo bench -p pgas-bench-inside`, and with `-- TEXT` those that
//! have the text in their names. This is a package of its own so that tests do not compile criterion.

mod firehose;
mod shadow;
mod single;

fn main() {
    firehose::measure();
    shadow::measure();
    single::measure();
}
