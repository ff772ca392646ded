# The types of C of the kernels' numbers; a name without a type here has that of its first value.

cimport cython

from cfgguide.engine.masks.views cimport BaseView, TablesView, TrieView, WorkspaceView

cdef int ASSERTION, AT_LINE_START, BREAK, BYTE, CLOSES, COLUMNS_READ, COLUMN_0, COLUMN_SHIFT
cdef int COUNTED, CPYTHON_TAB, DEAD_END, DIGIT, DONE, END_TOKEN, FED, FIRST_CHILD, FIRST_TOKEN
cdef int FORM_FEED, INLINE, IN_STRING, IS_SENTENCE, JOIN, LEVEL_READ, LIVE, LONGEST_REST, MATCHING
cdef int MAX_COLUMNS, MAX_COLUMN_CELLS, MAX_PAIRS, NARROW_BITS, NEWLINE, NONE, NOT_COMPUTED, N_CELLS
cdef int N_COLUMNS, N_OPEN, N_OUTCOMES, N_SEGMENTS, ONE_SPACE, OPEN, OPENS, OTHER, READS, REFUSED
cdef int TAB, TOO_MANY_CELLS, TOO_MANY_HYPOTHESES, TOO_MANY_OBLIGATIONS, TOO_MANY_OUTCOMES
cdef int TOO_SHALLOW, CONTEXT, N_BASE_COLUMNS, N_HYPOTHESES, LEAVING, SEVERAL, N_SEVERAL, N_SEARCHES, MAY_CUT
cdef int N_VISITED
cdef long long COLUMNS_SHIFT, COLUMN_BITS, LEVEL_BITS, LEVEL_SHIFT, ONE_LEVEL

cdef int _new_cell(WorkspaceView work, int state, int parent) noexcept nogil
cdef int _cell_after_goto(WorkspaceView work, int state, int parent) noexcept nogil
cdef int _read(WorkspaceView work, BaseView base, int cell) noexcept nogil
cdef int _reduced(
    TablesView tables, WorkspaceView work, BaseView base, int cell, int production
) noexcept nogil
cdef int _shift(
    TablesView tables, WorkspaceView work, BaseView base, int cell, int terminal_id
) noexcept nogil
cdef int _reduce_all(
    TablesView tables, WorkspaceView work, BaseView base, int top, int terminal_id, int n_tops
) noexcept nogil
cdef int _add_top(
    TablesView tables, WorkspaceView work, BaseView base, int top, int production, int n_tops
) noexcept nogil
cdef int _begin_search(WorkspaceView work, int cell) noexcept nogil
cdef int _shift_all(
    TablesView tables, WorkspaceView work, BaseView base, int cell, int terminal_id
) noexcept nogil
cdef int _of_several(WorkspaceView work, int shifted, int rank) noexcept nogil
cdef int _ends_any(TablesView tables, WorkspaceView work, BaseView base, int cell) noexcept nogil
cdef int _ends(TablesView tables, WorkspaceView work, BaseView base, int cell) noexcept nogil
cdef long long _moved(
    TablesView tables, long long indentation, int byte_class, int state
) noexcept nogil
@cython.locals(cell=longlong)
cdef long long _open_block(WorkspaceView work, long long indentation, int column) noexcept nogil
@cython.locals(is_clear=bint)
cdef (int, long long) _begin_line(
    TablesView tables, WorkspaceView work, BaseView base, int cell, long long indentation
) noexcept nogil
@cython.locals(is_refused=bint)
cdef (int, long long) _shift_lexeme(
    TablesView tables, WorkspaceView work, BaseView base, int cell, int terminal_id, long long
    indentation
) noexcept nogil
cdef int _put(WorkspaceView work, int possibility, int obligation) noexcept nogil
cdef int _fork(
    TablesView tables, WorkspaceView work, int possibility, int assertion, int sign
) noexcept nogil
cdef int _work_out(TablesView tables, WorkspaceView work, int possibility) noexcept nogil
cdef int _emit(
    TablesView tables, WorkspaceView work, int frame, int possibility, int cell, long long
    indentation
) noexcept nogil
cdef int _resolve(
    TablesView tables, WorkspaceView work, int frame, int cell, long long indentation
) noexcept nogil
cdef int _extend(
    TablesView tables, WorkspaceView work, int depth, int source, int index, int byte_class
) noexcept nogil
cdef bint _ends_before(
    TablesView tables, WorkspaceView work, int depth, int index, int byte_class
) noexcept nogil
cdef int _start(
    TablesView tables, WorkspaceView work, BaseView base, int depth, int cell
) noexcept nogil
cdef int _start_next(
    TablesView tables, WorkspaceView work, int depth, int index, int start, int cell, long long
    indentation
) noexcept nogil
cdef int _begin_lexeme(
    TablesView tables, WorkspaceView work, BaseView base, int depth, int index, int cell, long long
    indentation, int byte_class
) noexcept nogil
cdef int _step(
    TablesView tables, WorkspaceView work, BaseView base, int depth, int byte_class
) noexcept nogil
cdef bint _is_outcome(WorkspaceView work, int depth, int outcome) noexcept nogil
@cython.locals(slot=longlong, state=longlong, cell=longlong)
cdef int _outcome(WorkspaceView work, int depth) noexcept nogil
cdef int _cut(TrieView trie, WorkspaceView work, int node, int n_segments) noexcept nogil
cdef int _base(TablesView tables, WorkspaceView work, BaseView base) noexcept nogil
cdef int _base_ends(TablesView tables, WorkspaceView work, BaseView base) noexcept nogil
@cython.locals(forgets=bint, stays=ulonglong)
cdef unsigned long long _stays(TablesView tables, WorkspaceView work, int depth) noexcept nogil
@cython.locals(
    has_contexts=bint, last_cell=int, is_counting=bint, cell=int, is_line=bint, is_simple=bint,
    stays=ulonglong, is_whole=bint,
)
cdef int walk(TablesView tables, TrieView trie, WorkspaceView work, BaseView base) noexcept nogil
@cython.locals(is_after_newline=bint, is_full=bint)
cdef int _judge_end(
    TablesView tables, WorkspaceView work, BaseView base, int state, int cell, int end, long long
    indentation
) noexcept nogil
cdef int _judge_state(
    TablesView tables, WorkspaceView work, BaseView base, int state, int cell, long long indentation
) noexcept nogil
@cython.locals(states=int[64], looked_for_there=int[64])
cdef bint _is_doomed(TablesView tables, int state, int looked_for) noexcept nogil
cdef bint _resolves(
    TablesView tables, WorkspaceView work, int outcome, int index, int byte_class
) noexcept nogil
@cython.locals(
    state=int, looked_for=int, next_state=int, next_looked_for=int, target=int, after=int,
    is_resolved=bint, is_open=bint,
)
cdef bint _is_resolved_soon(
    TablesView tables, WorkspaceView work, BaseView base, int outcome, int index
) noexcept nogil
@cython.locals(is_live=bint)
cdef bint _is_live_after(
    TablesView tables, WorkspaceView work, BaseView base, int outcome, int index, int after
) noexcept nogil
cdef int _judge_next(
    TablesView tables, WorkspaceView work, BaseView base, int outcome, int index
) noexcept nogil
cdef int _judge(
    TablesView tables, WorkspaceView work, BaseView base, int outcome, int index
) noexcept nogil
cdef int _judge_all(TablesView tables, WorkspaceView work, BaseView base) noexcept nogil
cpdef int outcomes(TablesView tables, TrieView trie, WorkspaceView work, BaseView base) noexcept
