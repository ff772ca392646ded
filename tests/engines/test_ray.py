"""Ray: a batch over two nodes, of which one is killed; every row comes once, and is right.

The killed node is replaced, as a cluster does: Ray starts its actor again there. Runs in an
environment that has Ray: `make serve-test`.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray", reason="`make serve-test` has it, this environment has not")

import httpx  # noqa: E402
import jsonschema  # noqa: E402
import openai  # noqa: E402
from ray import serve  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import ray_batch  # noqa: E402

import cfgguide  # noqa: E402
from cfgguide.models.load import prepare_smollm2  # noqa: E402

LOAD = 60.0  # seconds of asking, after a third of which a replica is killed
N_ASKING = 3  # clients of each kind: such that repeat what failed, that do not, and of streams
CITIES = [f"{name} {number}" for number in range(8) for name in ("Oslo", "Lima", "Kyoto", "Accra")]


def check(rows: list[dict[str, Any]]) -> None:
    assert sorted(row["id"] for row in rows) == list(range(len(CITIES)))
    for row in rows:
        jsonschema.validate(json.loads(row["review"]), ray_batch.SCHEMA)


def writer_that_tells(folder: Path) -> type:
    """A writer that tells with a file on which node it has begun to write.

    It is made in a function, so that Ray sends all of it to the nodes.
    """

    class Telling(ray_batch.Writer):
        def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
            (folder / ray.get_runtime_context().get_node_id()).touch()
            return super().__call__(batch)

    return Telling


def test_every_row_comes_once_though_a_node_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_batch, "Writer", writer_that_tells(tmp_path))
    index_path = tmp_path / "review.index"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        cluster.add_node(num_cpus=1)
        doomed = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        ray.init(
            address=cluster.address,
            runtime_env={"env_vars": {"PYTHONPATH": str(EXAMPLES), "OMP_NUM_THREADS": "1"}},
        )
        assert sum(node["Alive"] for node in ray.nodes()) == 3
        with ThreadPoolExecutor(1) as thread:  # nodes are Ray's main thread's
            rows = thread.submit(ray_batch.write, CITIES, index_path, n_actors=2)
            while not (tmp_path / doomed.node_id).exists():
                assert not rows.done(), "the rows came before the node was killed"
                time.sleep(0.05)
            cluster.remove_node(doomed, allow_graceful=False)
            assert not rows.done()
            cluster.add_node(num_cpus=1)
            check(rows.result())
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_vllm_in_ray_has_the_plug_in():
    pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")
    from ray.data.llm import build_processor, vLLMEngineProcessorConfig

    ray.init(num_cpus=2)
    try:
        config = vLLMEngineProcessorConfig(
            model_source=str(prepare_smollm2()),
            engine_kwargs={
                "max_model_len": 512,
                "enforce_eager": True,
                "distributed_executor_backend": "mp",
            },
            concurrency=1,
            accelerator_type=None,
            placement_group_config={"bundles": [{"CPU": 1}]},
            batch_size=8,
        )
        asked = {"grammar": 'cfgguide:\nstart: "yes" | "no" | /[0-9]{1,3}/'}
        processor = build_processor(
            config,
            preprocess=lambda row: {
                "messages": [{"role": "user", "content": f"Number {row['id']}?"}],
                "sampling_params": {"max_tokens": 20, "structured_outputs": asked},
            },
            postprocess=lambda row: {"text": row["generated_text"]},
        )
        rows = processor(ray.data.from_items([{"id": n} for n in range(12)])).take_all()
    finally:
        ray.shutdown()
    assert len(rows) == 12
    assert all(re.fullmatch("yes|no|[0-9]{1,3}", row["text"]) for row in rows), rows


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of two replicas, which are as docs/serving.md has them, on CPUs."""
    pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")
    from ray.serve.llm import LLMConfig, build_openai_app

    cache = tmp_path_factory.mktemp("shared") / "cache"
    config = LLMConfig(
        model_loading_config={"model_id": "smollm2", "model_source": str(prepare_smollm2())},
        engine_kwargs={
            "max_model_len": 512,
            "enforce_eager": True,
            "distributed_executor_backend": "mp",
        },
        deployment_config={"num_replicas": 2},
        accelerator_type=None,
        placement_group_config={"bundles": [{"CPU": 1}]},
        runtime_env={"env_vars": {"CFGGUIDE_VLLM": "all", "CFGGUIDE_CACHE": str(cache)}},
    )
    ray.init(num_cpus=8)  # each server takes two, and the ingress as many
    try:
        serve.run(build_openai_app({"llm_configs": [config]}))
        yield "http://127.0.0.1:8000/v1"
    finally:
        serve.shutdown()
        ray.shutdown()


def replicas() -> list[str]:
    """Return the names of the actors that run vLLM."""
    named = ray.util.list_named_actors(all_namespaces=True)
    return sorted(each["name"] for each in named if "LLMServer" in each["name"])


def ask(client: openai.OpenAI, said: str) -> str:
    answer = client.chat.completions.create(
        model="smollm2",
        messages=[{"role": "user", "content": said}],
        max_tokens=60,
        extra_body={"structured_outputs": {"json": ray_batch.SCHEMA}},
    )
    return answer.choices[0].message.content


def test_replicas_of_ray_serve_have_the_plug_in(address):
    client = openai.OpenAI(base_url=address, api_key="none", max_retries=0, timeout=300)
    with ThreadPoolExecutor(8) as threads:
        for text in threads.map(ask, [client] * 16, map("A review, number {}.".format, range(16))):
            jsonschema.validate(json.loads(text), ray_batch.SCHEMA)
    with pytest.raises(openai.BadRequestError, match="did you mean python"):
        client.chat.completions.create(
            model="smollm2",
            messages=[{"role": "user", "content": "Hi"}],
            extra_body={"structured_outputs": {"grammar": "cfgguide:pyton"}},
        )


def test_no_request_is_lost_though_a_replica_is_killed_under_load(address, record_property):
    """Those that the killed one had begun fail, and a client that repeats them gets its answers."""
    assert len(replicas()) == 2
    ours = cfgguide.client(address, "smollm2", timeout=300)
    assert ours.has_plugin
    bare = openai.OpenAI(base_url=address, api_key="none", max_retries=0, timeout=300)
    end, killed = time.monotonic() + LOAD, threading.Event()

    def repeating(said: str) -> str:
        chat = [{"role": "user", "content": said}]
        found = ours.generate(chat, ray_batch.SCHEMA, max_new_tokens=60)
        assert found.is_complete
        return found.text

    def streaming(said: str) -> str:
        stream = ours.stream(said, ray_batch.SCHEMA, max_new_tokens=60)
        assert all(part.text is not None for part in stream)
        return stream.result.text if stream.result.is_complete else "cut"

    def outcomes_of(asked: Callable[[str], str]) -> Counter[str]:
        outcomes: Counter[str] = Counter()
        while time.monotonic() < end:
            try:
                text = asked(f"A review, number {outcomes.total()}.")
            except (openai.APIError, httpx.HTTPError) as error:
                assert killed.is_set()
                outcomes[f"{getattr(error, 'status_code', None) or type(error).__name__}"] += 1
            else:
                if text != "cut":
                    jsonschema.validate(json.loads(text), ray_batch.SCHEMA)
                outcomes["cut" if text == "cut" else "right"] += 1
        return outcomes

    asking = {"repeated": repeating, "not repeated": partial(ask, bare), "streams": streaming}
    with ThreadPoolExecutor(len(asking) * N_ASKING) as threads:
        futures = {
            name: [threads.submit(outcomes_of, asked) for _ in range(N_ASKING)]
            for name, asked in asking.items()
        }
        time.sleep(LOAD / 3)
        killed.set()
        ray.kill(ray.get_actor(replicas()[0], namespace="serve"))
        found = {
            name: sum((each.result() for each in group), Counter())
            for name, group in futures.items()
        }
    record_property("under load", {name: dict(each) for name, each in found.items()})
    assert found["repeated"].keys() == {"right"}
    assert found["not repeated"].keys() <= {"right", "500", "503"}
    for outcomes in found.values():
        assert outcomes.total() - outcomes["right"] <= N_ASKING, "no more than it had begun"
