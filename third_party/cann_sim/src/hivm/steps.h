// The instructions: what each one does at run time. Lowering asks for a step by operation and type.
#pragma once
#include "hivm/code.h"

namespace hivm {

// Slots a, b -> d. nullptr when there is none for this name and type. Names without dialect: "addi", "mulf",
// ...
Step integer_binary(std::string_view name, Element element);
Step float_binary(std::string_view name, Element element);
Step float_unary(std::string_view name, Element element);
// a, b -> d (i1).
Step integer_compare(std::string_view predicate, Element element);
Step float_compare(std::string_view predicate);
// a -> d. From and to as printed; the integer conversions that change nothing need no step.
Step float_to_float(Element to);
Step integer_to_float(Element to);
Step float_to_integer(Element to);

namespace step {

using Next = const Instruction*;

// Scalars.
Next select(Next, Frame&);    // a ? b : c -> d
Next wrap_i32(Next, Frame&);  // a -> d
Next wrap_i16(Next, Frame&);
Next wrap_i8(Next, Frame&);
Next wrap_i1(Next, Frame&);
Next mask(Next, Frame&);               // a & extra -> d
Next sign_of_bit(Next, Frame&);        // -a -> d: an i1 widened as a signed number
Next multiply_extended(Next, Frame&);  // a * b -> c (low), d (high) in i32 (extra 0: signed, 1: unsigned)
Next multiply_extended64(Next, Frame&);
Next floor_divide(Next, Frame&);  // affine: towards minus infinity
Next ceil_divide(Next, Frame&);
Next floor_mod(Next, Frame&);  // affine: never negative for a positive divisor

// Views: a source slot, d target slot, extra: index of a recipe.
Next select_view(Next, Frame&);   // scalar a ? view b : view c -> view d
Next pointer_cast(Next, Frame&);  // scalar a: address
Next reinterpret_cast_view(Next, Frame&);
Next subview(Next, Frame&);
Next collapse_shape(Next, Frame&);
Next expand_shape(Next, Frame&);
Next typed_view(Next, Frame&);  // memref.view
Next bitcast(Next, Frame&);     // extra: Element
Next metadata_base(Next, Frame&);
Next aligned_pointer(Next, Frame&);
Next dimension_size(Next, Frame&);
Next metadata_number(Next, Frame&);  // scalar d; extra: 0 offset, 1 + i size, 100 + i stride

// Elements: view a, recipe extra, scalar d.
Next load_integer(Next, Frame&);
Next load_float(Next, Frame&);
Next load_bit(Next, Frame&);
Next store_integer(Next, Frame&);
Next store_float(Next, Frame&);
Next store_bit(Next, Frame&);

// Control: extra is a distance in instructions.
Next jump(Next, Frame&);
Next jump_unless(Next, Frame&);  // scalar a
Next move_scalar(Next, Frame&);  // a -> d
Next move_view(Next, Frame&);
Next for_begin(Next, Frame&);  // a induction, b low, c high, d step
Next for_next(Next, Frame&);
Next loop_back(Next, Frame&);  // of scf.while
Next stop(Next, Frame&);

// The machine.
Next call(Next, Frame&);         // extra: call site
Next block_index(Next, Frame&);  // -> d
Next set_flag(Next, Frame&);     // a source pipe, b target pipe, scalar c event
Next wait_flag(Next, Frame&);
Next barrier(Next, Frame&);          // a pipe
Next sub_block_index(Next, Frame&);  // -> d
Next set_block_flag(Next, Frame&);   // a pipe that is done first, scalar c flag, extra: of all blocks
Next wait_block_flag(Next, Frame&);  // b pipe that is held, scalar c flag, extra: of all blocks

}  // namespace step
}  // namespace hivm
