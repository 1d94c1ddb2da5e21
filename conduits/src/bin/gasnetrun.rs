//! `gasnetrun -n N program`: see `gasnetrun --help`.

fn main() {
    std::process::exit(gasnet_launch::cli::main(gasnet_conduits::unknown_settings));
}
