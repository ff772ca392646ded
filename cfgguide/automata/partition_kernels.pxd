# The types of C of the kernels' numbers; a name without a type here has that of its first value.

cimport cython

cdef int CLASS, COUNTS, DEAD, ELEMENT, END, FIRST, IS_DEAD, IS_END, NOWHERE, N_CLASSES, N_MARKED
cdef int N_TOUCHED, OPEN, PLACE, TOUCHED

@cython.locals(number=int, element=int, first=int, place=int)
cdef void _part_by_class(int[:, ::1] parts, int n, int n_classes) noexcept nogil
@cython.locals(number=int, place=int, first=int, other=int)
cdef void _mark(int[:, ::1] parts, int element) noexcept nogil
@cython.locals(number=int, first=int, end=int, middle=int, new=int, place=int)
cdef void _split(int[:, ::1] parts) noexcept nogil
@cython.locals(state=int, move=int, total=int)
cdef void _find_before(
    const int[::1] targets, int n_states, int[::1] first_before, int[::1] before
) noexcept nogil
@cython.locals(
    n_moves=int, move=int, n_split=int, n_asked=int, place=int, state=int, index=int,
)
cpdef int refine(
    const int[::1] sources, const int[::1] columns, const int[::1] targets, int n_states,
    int n_labels, int n_columns, int[:, ::1] states, int[:, ::1] moves, int[::1] first_before,
    int[::1] before
) noexcept
@cython.locals(n_pending=int, state=int, index=int, earlier=int, move=int)
cpdef void leave_dead(
    int[::1] targets, int n_states, int[::1] labels, int[::1] first_before, int[::1] before,
    int[::1] pending
) noexcept
@cython.locals(number=int, n_columns=int, n_found=int, place=int, column=int, state=int)
cpdef int number_breadth_first(
    const int[::1] targets, int n_states, int start, const int[::1] classes, int[::1] numbers,
    int[::1] order
) noexcept
@cython.locals(
    state=int, head=int, n_queued=int, index=int, earlier=int, is_more=bint, place=int
)
cpdef void pass_back(
    const int[::1] sources, const int[::1] targets, int n_states, unsigned char[:, ::1] goals,
    int[::1] first_before, int[::1] before, int[::1] queue, unsigned char[::1] is_queued
) noexcept
