//! A UPC-to-C compiler.
