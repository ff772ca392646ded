"""The loss of SmolLM2 on JSON, over all tokens and over those that the grammar allows.

A model that will write under the mask only has to learn the second: the mask takes care of the
syntax.
"""

from __future__ import annotations

import torch

import cfgguide
from cfgguide.models import load_model

TEXTS = ['{"fruit": "apple", "count": 3}', '["red", "green", "blue"]', "[1, 2.5, null]"]


def main() -> None:
    model, tokenizer = load_model()
    index = cfgguide.compile(cfgguide.Grammar.bundled("json"), tokenizer)
    batch = cfgguide.evaluation.stack_masks(cfgguide.evaluation.masks_for(TEXTS, index, tokenizer))
    labels = torch.from_numpy(batch.token_ids)  # EOS last, then -100

    # What comes before each label: a start token, then all labels except the last.
    start = torch.full((len(TEXTS), 1), tokenizer.bos_token_id)
    input_ids = torch.cat([start, labels[:, :-1].clamp(min=0)], dim=1)
    logits = model(input_ids=input_ids).logits.float()

    allowed = cfgguide.integrations.bool_mask(torch.from_numpy(batch.bitmasks), logits.shape[-1])
    masked = logits.masked_fill(~allowed, float("-inf"))
    for name, values in (("all tokens", logits), ("allowed tokens", masked)):
        loss = torch.nn.functional.cross_entropy(values.flatten(0, 1), labels.flatten())
        print(f"cross-entropy over {name}: {loss.item():.3f}")
    loss.backward()  # no gradient for what the grammar rules out


if __name__ == "__main__":
    main()
