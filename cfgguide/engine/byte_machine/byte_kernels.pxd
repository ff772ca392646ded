# The types of C of the kernels' numbers; a name without a type here has that of its first value.

cimport cython

from cfgguide.engine.masks.views cimport TrieView
from cfgguide.engine.byte_machine.byte_views cimport ArraysView, WorkView

cdef int ALLOWED, BELOW, BYTE, END, END_TOKEN, FIRST_CHILD, FIRST_TOKEN, FOLLOWS, IS_NAMED, MAP
cdef int EDGES, NONE, NOT_MADE, N_BELOW, N_EDGES, PUSH, QUOTE, ROW, SHARED_TAG
cdef int COLLECT, DEPTH, DONE, INSPECTED, NEEDED, NEEDED_TAG, NEED_FOLLOW, NEED_ROW
cdef int N_CELLS, N_ENDS, N_SEGMENTS, N_VISITED, TOO_MANY
cdef int TOO_SHALLOW, STAYS, VISIT, N_BITS

cdef unsigned int ALL_BITS
cdef unsigned long long KINDS

cdef int _pushed(WorkView work, int frame, int parent) noexcept nogil
@cython.locals(allowed=int, has=bint)
cpdef bint allows(ArraysView arrays, int frame, int tag) noexcept nogil
@cython.locals(below=int, index=int, tag=int)
cpdef bint is_allowed_in(ArraysView arrays, int state, int frame) noexcept nogil
@cython.locals(first=int, edge=int, found=int, place=int)
cpdef int operation(ArraysView arrays, int state, int byte) noexcept nogil
@cython.locals(n=int, frame=int, count=int)
cpdef void begin(TrieView trie, WorkView work, list frames, int state, bint is_known) noexcept
@cython.locals(last=int)
cdef int _noted(
    WorkView work, int n_segments, int first_token, int end_token, int state, int cell, int mode
) noexcept nogil
@cython.locals(
    is_popped=bint, has_ended=bint, known=bint, end=int, state=int, cell=int, tag=int, named=int, target=int,
    kind=int, frame=int, follow=int, depth=int, n_segments=int, byte=int, knows_kinds=bint, looks_back=int,
    stays=cython.ulonglong, met=cython.ulonglong, first_token=int, end_token=int, after=int,
)
cdef int walk(
    ArraysView arrays, TrieView trie, const unsigned long long[::1] kinds, const int[::1] near, WorkView work,
    int n_base, int mode, bint is_begun
) noexcept nogil
@cython.locals(n=int, segment=int)
cpdef int ranges(WorkView work, int[:, ::1] found) noexcept
@cython.locals(segment=int, index=int, token_id=int)
cpdef void fill(TrieView trie, const int[:, ::1] found, unsigned int[::1] bitmask, bint has) noexcept
cpdef int run(
    ArraysView arrays, TrieView trie, const unsigned long long[::1] kinds, const int[::1] near, WorkView work,
    int n_base, int mode, bint is_begun
) noexcept
@cython.locals(n=int, before=int, length_before=int, text=int, start=int, length=int, common=int)
cpdef int n_beginnings(const unsigned char[::1] data, const int[::1] starts) noexcept
@cython.locals(
    n_states=int, n_edges=int, state=int, text=int, end=int, length=int, first_edge=int, byte=int, first=int,
)
cpdef void make_beginnings(
    const unsigned char[::1] data, const int[::1] starts, const int[::1] operations, const int[::1] numbers,
    int[:, ::1] states, int[:, ::1] spans, int[:, ::1] edges
) noexcept
@cython.locals(target=int)
cpdef long long go_on(ArraysView arrays, const unsigned char[::1] data, long long place, long long state) noexcept
