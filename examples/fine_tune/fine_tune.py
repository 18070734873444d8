"""Fine-tunes a small bi-encoder on the pairs of a skill library, on a CPU.

    pip install "skillcue[neural]"
    skillcue export-pairs --skills examples/skills --out pairs.jsonl
    python examples/fine_tune/fine_tune.py pairs.jsonl --model MODEL --out my-encoder
    skillcue search "fill in a form" --skills examples/skills --encoder st:my-encoder

MODEL is a folder or an id of sentence-transformers, such as all-MiniLM-L6-v2. The loss is InfoNCE
over the positives of a batch and all its hard negatives, temperature 0.05. A batch holds one request
of a skill at most, since two would be negatives of each other. A share of the *skills* is held out;
how many of their requests find them is printed before and after.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import torch
    from sentence_transformers import SentenceTransformer
except ModuleNotFoundError as missing:
    raise SystemExit(f'{missing}. Install what it needs: pip install "skillcue[neural]"') from None

TEMPERATURE = 0.05

Row = dict[str, Any]


def main() -> None:
    args = arguments()
    rows = read_pairs(args.pairs)
    train, test = split_by_skill(rows, args.held_out, args.seed)
    if not train:
        raise SystemExit("There are too few skills to hold some out.")
    torch.manual_seed(args.seed)
    model = SentenceTransformer(args.model, device="cpu")
    before = recall(model, test, rows)
    losses = fine_tune(model, train, args)
    model.save(str(args.out))
    print(f"{len(train)} requests to train on, loss {losses[0]:.3f} to {losses[-1]:.3f}")
    print(
        f"R@5 of {len(test)} requests of skills held out: {before:.3f} before, "
        f"{recall(model, test, rows):.3f} after"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path, help="what `skillcue export-pairs` wrote")
    parser.add_argument("--model", required=True, help="folder or id of the model to start from")
    parser.add_argument("--out", type=Path, required=True, help="folder of the trained model")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16, help="requests in a batch")
    parser.add_argument("--rate", type=float, default=2e-5, help="learning rate")
    parser.add_argument("--negatives", type=int, default=2, help="hard negatives of a request")
    parser.add_argument("--held-out", type=float, default=0.2, help="share of the skills")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def read_pairs(path: Path) -> list[Row]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def split_by_skill(rows: list[Row], held_out: float, seed: int) -> tuple[list[Row], list[Row]]:
    """Rows to train on, and rows of other skills to measure on."""
    skills = sorted({row["skill"] for row in rows})
    random.Random(seed).shuffle(skills)
    kept = set(skills[: max(1, round(held_out * len(skills)))])
    return (
        [row for row in rows if row["skill"] not in kept],
        [row for row in rows if row["skill"] in kept],
    )


def batches(rows: list[Row], size: int, chance: random.Random) -> Iterator[list[Row]]:
    """All rows once, in batches that hold no skill twice."""
    left: dict[str, list[Row]] = {}
    for row in chance.sample(rows, len(rows)):
        left.setdefault(row["skill"], []).append(row)
    while left:
        most = sorted(left, key=lambda skill: -len(left[skill]))[:size]
        yield [left[skill].pop() for skill in most]
        left = {skill: waiting for skill, waiting in left.items() if waiting}


def fine_tune(model: SentenceTransformer, rows: list[Row], args: argparse.Namespace) -> list[float]:
    """The mean loss of each epoch."""
    chance = random.Random(args.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.rate)
    means = []
    model.train()
    for _ in range(args.epochs):
        losses = []
        for batch in batches(rows, args.batch, chance):
            loss = info_nce(model, batch, args.negatives)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        means.append(sum(losses) / len(losses))
    model.eval()
    return means


def info_nce(model: SentenceTransformer, batch: list[Row], negatives: int) -> torch.Tensor:
    """Each request is to be nearest to its own skill, among all skills of the batch."""
    positives = [row["positive"] for row in batch]
    hard = [text for row in batch for text in row["negatives"][:negatives]]
    documents = list(dict.fromkeys([*positives, *hard]))
    scores = embed(model, [row["query"] for row in batch]) @ embed(model, documents).T
    wanted = torch.tensor([documents.index(positive) for positive in positives])
    return torch.nn.functional.cross_entropy(scores / TEMPERATURE, wanted)


def embed(model: SentenceTransformer, texts: list[str]) -> torch.Tensor:
    # Before sentence-transformers 6 it was called `tokenize`.
    prepare = getattr(model, "preprocess", None) or model.tokenize
    vectors = model(prepare(texts))["sentence_embedding"]
    return torch.nn.functional.normalize(vectors, dim=1)


def recall(model: SentenceTransformer, rows: list[Row], every: list[Row], k: int = 5) -> float:
    """Share of the requests whose skill is among the first `k` of all skills."""
    texts = {row["skill"]: row["positive"] for row in every}
    skills = sorted(texts)
    documents = model.encode([texts[skill] for skill in skills], normalize_embeddings=True)
    queries = model.encode([row["query"] for row in rows], normalize_embeddings=True)
    best = (-(queries @ documents.T)).argsort(axis=1)[:, :k]
    pairs = zip(rows, best, strict=True)
    return sum(row["skill"] in {skills[n] for n in first} for row, first in pairs) / len(rows)


if __name__ == "__main__":
    main()
