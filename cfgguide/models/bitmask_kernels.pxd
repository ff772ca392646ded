# The types of C of the kernels' numbers; a name without a type here has that of its first value.

cimport cython

cdef int ALL_ALLOWED

ctypedef fused Bits:
    short
    int
    long long

@cython.locals(bits=cython.int[32], kept=Bits)
cpdef void mask_rows(
    Bits[:, ::1] logits, const int[:, ::1] bitmask, Bits minus_infinity
) noexcept
@cython.locals(is_allowed=bint)
cpdef void find_open_rows(
    const Bits[:, ::1] logits, const int[:, ::1] bitmask, Bits minus_infinity,
    unsigned char[::1] is_open
) noexcept
