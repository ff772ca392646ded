# The types of C of what is read for each byte.

cimport cython

cdef int DEAD, MAX_DROPPED

cdef class PlainReader:
    cdef const int[:, ::1] _transitions
    cdef const int[:, ::1] _starts
    cdef const int[:, ::1] _contexts
    cdef const int[::1] _byte_classes
    cdef const int[::1] _match
    cdef const int[::1] _longer
    cdef const int[::1] _groups
    cdef const unsigned char[::1] _is_assertion
    cdef const unsigned char[::1] _is_followed
    cdef const int[:, ::1] _action
    cdef const int[:, ::1] _goto
    cdef const int[::1] _lengths
    cdef const int[::1] _left_sides
    cdef const int[::1] _set_of_state
    cdef int _ignored
    cdef bint _has_texts
    cdef const unsigned char[::1] _is_asked
    cdef object _shift_of
    cdef bint _may_repeat
    cdef bint _is_general
    cdef bint _has_indentation
    cdef object _parse_table
    cdef object _short_stacks
    cdef object _indentation_reader
    cdef dict _reductions
    cdef dict _n_droppable

    @cython.locals(
        byte_class=int, target=int, start=int, terminal_id=int, end=int, is_followed=bint,
        n_alike=int, begin=int,
        text=cython.p_const_uchar,
    )
    cpdef tuple read(
        self, int state, object stack, object indentation, int context, bytes data, int n_read
    )
    cdef object _with_text(self, object stack, int state, bytes added)
    @cython.locals(action=int)
    cdef object _shift(self, object stack, int terminal_id)
    cdef object _reduced(self, object stack, int production)
    @cython.locals(production=int, n_droppable=int)
    cpdef object shortened(self, int group, object stack)
    cdef int _droppable(self, int group, object stack) except -1
