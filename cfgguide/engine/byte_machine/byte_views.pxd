# The fields of the views as C reads them; those of the records, in the same order.

cdef class _View:
    pass


cdef class ArraysView(_View):
    cdef public const int[:, ::1] states
    cdef public const unsigned char[:, ::1] maps
    cdef public const int[::1] operations
    cdef public const int[:, ::1] actions
    cdef public const int[:, ::1] frames
    cdef public const int[::1] follows
    cdef public const unsigned long long[::1] words
    cdef public const int[::1] tags
    cdef public const int[:, ::1] edges


cdef class WorkView(_View):
    cdef public int[::1] cell_frame
    cdef public int[::1] cell_parent
    cdef public int[::1] first_child
    cdef public int[::1] next_sibling
    cdef public int[::1] next_node
    cdef public int[::1] end_node
    cdef public int[::1] at_state
    cdef public int[::1] at_cell
    cdef public int[::1] is_known
    cdef public int[:, ::1] segments
    cdef public int[:, ::1] ends
    cdef public int[::1] counts
