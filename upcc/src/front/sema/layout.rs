//! Sizes and offsets of structs and unions, as the x86-64 System V ABI and gcc's attributes have them.

use crate::front::types::*;

impl Types {
    /// Computes size, alignment and member offsets of a record whose members are known. `align`: attribute
    /// `aligned`; `pack`: `#pragma pack` in force (0: none).
    pub(crate) fn lay_out(&mut self, id: RecordId, align: Option<u64>, pack: u64) {
        let rec = &self.records[id.0 as usize];
        let (is_union, packed) = (rec.is_union, rec.packed);
        let n = rec.fields.len();
        let (mut bits, mut size_bits, mut max_align) = (0u64, 0u64, 1u64);
        let (mut has_const, mut variable) = (false, false);
        for i in 0..n {
            let f = &self.records[id.0 as usize].fields[i];
            let (ty, width, falign, fpacked, named) = (f.ty, f.bits, f.align, f.packed, f.name.is_some());
            has_const |= self.quals(ty).is_const || self.record(ty).is_some_and(|r| r.has_const);
            let size = match self.size_of(ty) {
                Size::Const(s) => s,
                Size::None => 0,
                Size::Variable | Size::Threads(_) => {
                    variable = true;
                    0
                }
            };
            let natural = self.align_of(ty).max(1);
            let loose = packed || fpacked;
            let mut a = if loose { 1 } else { natural };
            if pack > 0 {
                a = a.min(pack);
            }
            if let Some(want) = falign {
                a = if loose { want } else { a.max(want) };
            }
            if is_union {
                bits = 0;
            }
            let (offset, bit_offset);
            match width {
                None => {
                    bits = round_up(bits, a.saturating_mul(8));
                    bit_offset = bits;
                    offset = bits / 8;
                    bits = bits.saturating_add(size.saturating_mul(8));
                    max_align = max_align.max(a);
                }
                Some(0) => {
                    bits = round_up(bits, natural * 8);
                    bit_offset = bits;
                    offset = bits / 8;
                }
                Some(w) => {
                    let (w, unit) = (u64::from(w), size.max(1) * 8);
                    if let Some(want) = falign {
                        bits = round_up(bits, want * 8);
                    }
                    if !loose && pack == 0 && bits / unit != (bits + w - 1) / unit {
                        bits = round_up(bits, natural * 8);
                    }
                    bit_offset = bits;
                    offset = bits / unit * (unit / 8);
                    bits += w;
                    if named {
                        max_align = max_align.max(a);
                    }
                }
            }
            size_bits = size_bits.max(bits);
            let f = &mut self.records[id.0 as usize].fields[i];
            f.offset = offset;
            f.bit_offset = bit_offset;
        }
        let align = max_align.max(align.unwrap_or(1));
        let rec = &mut self.records[id.0 as usize];
        rec.align = align;
        rec.size = round_up(size_bits.div_ceil(8), align);
        rec.has_const = has_const;
        rec.variable = variable;
    }
}

fn round_up(n: u64, to: u64) -> u64 {
    n.checked_next_multiple_of(to.max(1)).unwrap_or(u64::MAX)
}
