"""The fused masking kernel to compare with: one pass that writes only where a token is refused.

Triton compiles it when it runs, with a C compiler. So it is here and not in the package. Importing
this module raises an ImportError where there is no Triton.
"""

from typing import Any

import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]

_BLOCK = 4096  # columns of one program


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _mask_kernel(logits, words, n_columns, logits_stride, words_stride, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    row = tl.program_id(1)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_inside = columns < n_columns
    word = tl.load(words + row * words_stride + columns // 32, mask=is_inside, other=-1)
    is_refused = ((word >> (columns % 32)) & 1) == 0
    tl.store(logits + row * logits_stride + columns, float("-inf"), mask=is_inside & is_refused)


def mask_rows(logits: Any, words: Any) -> None:
    """Write minus infinity into logits wherever a bit is not set; both are on the device.

    Parameters
    ----------
    logits : torch.Tensor
        Floating, shape (n_rows, n_columns).
    words : torch.Tensor
        int32, shape (n_rows, n_words), with a bit for each column.
    """
    n_rows, n_columns = logits.shape
    grid = (triton.cdiv(n_columns, _BLOCK), n_rows)
    _mask_kernel[grid](logits, words, n_columns, logits.stride(0), words.stride(0), BLOCK=_BLOCK)
