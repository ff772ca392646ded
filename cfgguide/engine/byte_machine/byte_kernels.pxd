# The types of C of the kernels' numbers; a name without a type here has that of its first value.

cimport cython

from cfgguide.engine.masks.views cimport TrieView
from cfgguide.engine.byte_machine.byte_views cimport ArraysView, WorkView

cdef int ALLOWED, BELOW, BYTE, END, END_TOKEN, FIRST_CHILD, FIRST_TOKEN, FOLLOWS, IS_NAMED, MAP
cdef int NONE, NOT_MADE, N_WORDS, PUSH, ROW, SHARED, SHARED_TAG
cdef int COLLECT, DEPTH, DONE, INSPECTED, JUMP, NEEDED, NEEDED_TAG, NEED_FOLLOW, NEED_ROW
cdef int N_CELLS, N_EXCEPTIONS, N_JUMPS, N_SEGMENTS, SMALL, TOO_MANY
cdef int TOO_SHALLOW

cdef unsigned int ALL_BITS

cdef int _pushed(WorkView work, int frame, int parent) noexcept nogil
cdef bint _is_live(ArraysView arrays, WorkView work, int state, int cell) noexcept nogil
@cython.locals(
    is_popped=bint, known=bint, is_large=bint, state=int, cell=int, tag=int, named=int, target=int, row=int,
    kind=int, frame=int, follow=int, depth=int, n_segments=int, byte=int,
)
cdef int walk(
    ArraysView arrays, TrieView trie, WorkView work, int n_base, int mode, bint is_begun
) noexcept nogil
cpdef void fill(TrieView trie, WorkView work, unsigned int[::1] bitmask) noexcept
cpdef void fill_bounded(
    TrieView trie, WorkView work, unsigned int[::1] bitmask, const short[::1] n_characters, int least,
    int most
) noexcept
cpdef int run(
    ArraysView arrays, TrieView trie, WorkView work, int n_base, int mode, bint is_begun
) noexcept
@cython.locals(
    state=int, target=int, row=int, number=int, depth=int, node=int, end_node=int, first_child=int, end_child=int,
    end_own=int, index=int, token_id=int, first_token=int, n_segments=int,
)
cdef int walk_alone(
    ArraysView arrays, TrieView trie, const unsigned char[::1] letters, WorkView work, unsigned int[::1] bitmask,
    bint has_segments, bint is_begun
) noexcept nogil
cpdef int run_alone(
    ArraysView arrays, TrieView trie, const unsigned char[::1] letters, WorkView work, unsigned int[::1] bitmask,
    bint has_segments, bint is_begun
) noexcept
