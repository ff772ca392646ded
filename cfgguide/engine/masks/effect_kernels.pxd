# The types of C of the kernels' numbers; a name without a type here has that of its first value.

cimport cython

from cfgguide.engine.masks.views cimport EffectSpaceView, TablesView, TrieView

cdef int ALTERNATIVES, ANYWHERE, BREAK, BYTE, CHILD, COLUMN, CPYTHON_TAB, DIGIT, OTHER
cdef int CONTEXTS_OF, DEBT, DONE, EFFECT, EMPTY_REST, ENDED, FIRST_CHILD, FULL_EFFECTS, FULL_IDS
cdef int FULL_ITEMS, FULL_JOBS, FULL_KNOWN, FULL_SCRATCH, GROUPS, INSIDE, JOINED, MAY_END
cdef int END_TOKEN, FIRST_TOKEN, NEEDS_CARE, NONE, NOTHING, N_EFFECTS, N_IDS, N_ITEMS, N_JOBS, N_KNOWN, N_STEPS, OWED, PAIR
cdef int PARENT, PAUSED, SLOW, TARGET, POSSIBLE, READINGS, REST, STAMP, STATUS, STUCK, TOP, UNKNOWN
cdef unsigned long long FACTOR, WORD
cdef long long LETTER

cdef void _put(EffectSpaceView space, int number) noexcept nogil
cdef int _begin(EffectSpaceView space, int kind) noexcept nogil
@cython.locals(
    hashed=cython.ulonglong, other=cython.ulonglong, high=cython.ulonglong, short=int, slot=int,
    mask=int, differences=int, start=int, rank=int,
)
cdef int _item(EffectSpaceView space, int begin) noexcept nogil
cdef int _small(EffectSpaceView space, int kind, int first, int second) noexcept nogil
cdef int _start(EffectSpaceView space, int item) noexcept nogil
cdef int _end(EffectSpaceView space, int item) noexcept nogil
cdef int _kind(EffectSpaceView space, int item) noexcept nogil
@cython.locals(key=cython.longlong, slot=int, mask=int)
cdef int _known(EffectSpaceView space, long long item, long long letter) noexcept nogil
@cython.locals(key=cython.longlong, slot=int, mask=int)
cdef void _remember(
    EffectSpaceView space, long long item, long long letter, int value
) noexcept nogil
@cython.locals(key=cython.longlong, slot=int, mask=int, number=int, old=int)
cpdef void fill_again(EffectSpaceView space, EffectSpaceView smaller) noexcept
@cython.locals(block=int, end=int, byte_class=int, state=int, target=int, is_slow=bint)
cpdef void lay_out(
    const int[:, ::1] rows, const signed char[::1] acts, const int[::1] owed_as, int[:, ::1] moves
) noexcept
@cython.locals(
    hashed=cython.ulonglong, slot=int, mask=int, place=int, width=int, state=int, other=int,
    is_new=bint, n_found=int, index=int,
)
cpdef int tell_apart(
    const int[:, ::1] rows, const int[::1] states, const unsigned char[::1] is_followed,
    int[::1] slots, int[::1] firsts
) noexcept
cdef int _debt(EffectSpaceView space, int obligation) noexcept nogil
cdef int _both(EffectSpaceView space, int first, int second) noexcept nogil
cdef bint _is_false(EffectSpaceView space, int debt) noexcept nogil
cdef void _put_once(EffectSpaceView space, int begin, int number) noexcept nogil
cdef void _put_combined(EffectSpaceView space, int begin, int first, int second) noexcept nogil
@cython.locals(answer=int, is_held=int)
cdef int _under_which(
    TablesView tables, EffectSpaceView space, int state, int is_match
) noexcept nogil
@cython.locals(found=int)
cdef int _after(TablesView tables, EffectSpaceView space, int debt, int byte_class) noexcept nogil
cdef int _owing(
    TablesView tables, EffectSpaceView space, int alternatives, int byte_class
) noexcept nogil
@cython.locals(answer=int)
cdef int _possible(TablesView tables, EffectSpaceView space, int state) noexcept nogil
cdef void _put_possible(
    TablesView tables, EffectSpaceView space, int state, int debt
) noexcept nogil
@cython.locals(kind=int)
cdef int _moved(
    TablesView tables, EffectSpaceView space, int column, int state, int byte_class
) noexcept nogil
cdef int _inside(
    TablesView tables, EffectSpaceView space, int state, int debt, int column, bint is_fresh
) noexcept nogil
@cython.locals(state=int, debt=int, column=int)
cdef void _put_going_on(
    TablesView tables, EffectSpaceView space, int begin, int reading, int byte_class
) noexcept nogil
cdef void _put_goal(
    TablesView tables, EffectSpaceView space, int begin, int state, int debt, int column,
    int byte_class
) noexcept nogil
cdef int _rest_after(EffectSpaceView space, int rest, int byte_class) noexcept nogil
@cython.locals(state=int, debt=int, column=int)
cdef void _put_ended(
    TablesView tables, EffectSpaceView space, int begin, int reading, int contexts, int byte_class
) noexcept nogil
cdef int _ended(
    EffectSpaceView space, int terminal_id, int alternatives, int column, int contexts
) noexcept nogil
@cython.locals(after=int)
cdef int _still_ended(
    TablesView tables, EffectSpaceView space, int ended, int byte_class
) noexcept nogil
@cython.locals(of_state=int, obligation=int)
cdef int _owed(
    TablesView tables, EffectSpaceView space, int alternatives, int is_match
) noexcept nogil
cdef int _landed(
    TablesView tables, EffectSpaceView space, int state, int byte_class
) noexcept nogil
cdef int _one(EffectSpaceView space, int begin) noexcept nogil
cdef int _target(EffectSpaceView space, int state, int byte_class) noexcept nogil
cdef int _still_owed(
    TablesView tables, EffectSpaceView space, int reading, int byte_class
) noexcept nogil
cdef int _work_out(
    TablesView tables, EffectSpaceView space, int reading, int contexts, int byte_class
) noexcept nogil
@cython.locals(letter=cython.longlong, of_state=int, target=int, is_match=int)
cdef int _read(
    TablesView tables, EffectSpaceView space, int reading, int contexts, int byte_class
) noexcept nogil
cdef int _contexts_after(
    TablesView tables, EffectSpaceView space, int contexts, int byte_class
) noexcept nogil
cdef int _joined(EffectSpaceView space, int groups, int joined) noexcept nogil
@cython.locals(
    is_same=bint, group=int, found=int, n_found=int, rank=int, start=int, end=int, groups=int,
)
cdef void _step(TablesView tables, EffectSpaceView space, int vector, int byte_class) noexcept nogil
@cython.locals(n_found=int)
cdef int _first_vector(EffectSpaceView space, int kind, int readings) noexcept nogil
@cython.locals(is_fresh=bint)
cdef void _put_start(TablesView tables, EffectSpaceView space, int state) noexcept nogil
@cython.locals(place=int, context=int, column=int, is_fresh=bint)
cpdef int begin_strings(TablesView tables, EffectSpaceView space) noexcept
cdef int _numbered(EffectSpaceView space, int effect, int before, int byte) noexcept nogil
cdef int _finish_jobs(TablesView tables, EffectSpaceView space) noexcept nogil
@cython.locals(
    child=int, parent=int, n_nodes=int, before=int, number=int, after=int, first=int, below=int,
    end=int, place=int,
)
cpdef int run(TablesView tables, TrieView trie, EffectSpaceView space, int n_steps) noexcept
