//! `gasnetrun -n N program`: see `gasnetrun --help`.

fn main() {
    std::process::exit(gasnet_launch::cli::main());
}
