# The types of C of the kernels' numbers; a name without a type here has that of its first value.

cimport cython

from cfgguide.engine.masks.views cimport TrieView, WorkspaceView

cdef int FIRST_CHILD, LIVE, N_SEGMENTS

@cython.locals(node=int, child=int)
cpdef void join_below(TrieView trie, WorkspaceView work) noexcept
@cython.locals(n_ranges=int, end=int, segment=int)
cpdef int join_live(WorkspaceView work) noexcept
@cython.locals(number=int, index=int, end=int, row=int, token_id=int)
cpdef void fill(
    TrieView trie, WorkspaceView work, int n_ranges, unsigned int[::1] bitmask
) noexcept
