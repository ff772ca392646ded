# The types of C of the kernel's numbers; a name without a type here has that of its first value.

cimport cython

from cfgguide.mask.views cimport TrieView, WorkspaceView

cdef int LIVE, N_SEGMENTS

cpdef void fill(TrieView trie, WorkspaceView work, unsigned int[::1] bitmask) noexcept
