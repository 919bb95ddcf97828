"""Exports an agent as a folder in the layout of the Hugging Face Hub."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from td3core.checkpoint import read_header
from td3core.config.value_text import plain_return
from td3core.envs.rendering import prepare_rendering
from td3core.errors import MessageError, RequestError, require_no_interrupt
from td3core.evaluation.bundled import bundled_evaluation
from td3core.evaluation.result import EvaluationResult
from td3core.exporters import numpy_file, video, weights
from td3core.exporters.actor.deployed import DeployedActor, deployed_actor
from td3core.exporters.film.files import partial_path
from td3core.system.files import write_atomically
from td3core.text import Text

CARD, CONFIG, MODEL, ACTOR, FILM = (
    "README.md",
    "config.json",
    "model.safetensors",
    "actor.py",
    "replay.mp4",
)
_CARD = """\
---
{metadata}
---

# {name} agent playing **{env}**

{usage}

{evaluation}

## Use

`{actor}` needs NumPy only:

```python
from actor import act

action = act(observation)
```

`{model}` holds the networks; TD3 Studio opens it, and `{config}` says how they are put together.
"""


def export(checkpoint: Path, target: Path) -> Text:
    """Write the folder: a card, the networks, the actor in NumPy, and a film if it can be rendered.

    A folder of an earlier export is replaced.

    Raises:
        RequestError: anything else of that name exists already.
    """
    if os.path.lexists(target) and not _is_export(target):
        raise RequestError(
            "{path} already exists, and is no folder of an earlier export; choose another name.",
            path=str(target),
        )
    folder = partial_path(target)
    # Left behind by a killed process.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        checked, film = _fill(folder, checkpoint)
        if target.exists():
            shutil.rmtree(target)
        folder.replace(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if film is not None:
        return Text("{checked}; no film: {reason}", checked=checked, reason=film)
    return checked


def _is_export(target: Path) -> bool:
    """Return whether a folder holds the files of an export, and nothing else."""
    if target.is_symlink() or not target.is_dir():
        return False
    names = {each.name for each in target.iterdir()}
    return {CARD, CONFIG, MODEL, ACTOR} <= names <= {CARD, CONFIG, MODEL, ACTOR, FILM}


def _fill(folder: Path, checkpoint: Path) -> tuple[Text, Text | None]:
    """Write the files; return the note on the parity check, and why a film is missing, if it is."""
    # Must come before the environment is first made.
    prepare_rendering(read_header(checkpoint).env.env_id)
    # Read once: a training run replaces its checkpoints.
    actor = deployed_actor(checkpoint)
    checked = numpy_file.write(actor, folder / ACTOR)
    weights.write(actor.source, folder / MODEL)
    write_atomically(folder / CONFIG, json.dumps(_config(actor), indent=2).encode())
    result = bundled_evaluation(checkpoint) or actor.source.header.evaluation
    write_atomically(folder / CARD, _card(actor, result).encode())
    try:
        video.record(actor.source, folder / FILM, episodes=1, seed=0)
    except MessageError as problem:
        require_no_interrupt(problem)
        return checked, problem.message
    return checked, None


def _name(actor: DeployedActor) -> str:
    origin = actor.imported
    return origin.kind if origin else actor.source.header.config.algorithm.upper()


def _config(actor: DeployedActor) -> dict[str, Any]:
    header = actor.source.header
    # SAC, for instance, is not among the algorithms of this program.
    algorithm = {} if actor.imported else {"algorithm": header.config.algorithm}
    return (
        actor.facts()
        | algorithm
        | {
            "hidden": list(header.config.actor_hidden),
            "activation": actor.activation,
        }
    )


def _card(actor: DeployedActor, result: EvaluationResult | None) -> str:
    env, sentence = actor.source.header.env.env_id, "It was not evaluated."
    if result is not None:
        mean, std = plain_return(result.mean, 2), plain_return(result.std, 2)
        sentence = (
            f"Return without noise: {mean} ± {std} (mean and standard"
            f" deviation over {len(result.returns)} episodes, seed {result.seed})."
        )
    return _CARD.format(
        metadata="\n".join(_metadata(actor, result)),
        name=_name(actor),
        env=env,
        usage="\n".join(f"- {line}" for line in actor.usage()),
        evaluation=sentence,
        actor=ACTOR,
        model=MODEL,
        config=CONFIG,
    )


def _metadata(actor: DeployedActor, result: EvaluationResult | None) -> list[str]:
    """Return lines of YAML; strings are quoted as in JSON, which YAML reads the same way."""
    env, name = json.dumps(actor.source.header.env.env_id), json.dumps(_name(actor))
    lines = ["library_name: td3-studio", "pipeline_tag: reinforcement-learning", "tags:"]
    lines += [f"- {tag}" for tag in (env, "deep-reinforcement-learning", "reinforcement-learning")]
    if result is None:
        return lines
    mean, std = (plain_return(each, 2, grouped=False) for each in (result.mean, result.std))
    return [
        *lines,
        "model-index:",
        f"- name: {name}",
        "  results:",
        "  - task:",
        "      type: reinforcement-learning",
        "      name: reinforcement-learning",
        "    dataset:",
        f"      name: {env}",
        f"      type: {env}",
        "    metrics:",
        "    - type: mean_reward",
        f'      value: "{mean} +/- {std}"',
        "      name: mean_reward",
        "      verified: false",
    ]
