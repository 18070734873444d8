"""Sample sizes for two equal groups or for an estimate, by normal approximation.

Usage:
    python sample_size.py means --difference D --sd S [--power P] [--alpha A]
    python sample_size.py proportions --p1 P --p2 P [--power P] [--alpha A]
    python sample_size.py precision --p P --margin M [--alpha A]
"""

from __future__ import annotations

import argparse
import math
import sys
from statistics import NormalDist


def z(probability: float) -> float:
    """Quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(probability)


def means(difference: float, sd: float, power: float, alpha: float) -> int:
    """Per group, two-sided test of two means with common standard deviation."""
    return math.ceil(2 * ((z(1 - alpha / 2) + z(power)) * sd / difference) ** 2)


def proportions(p1: float, p2: float, power: float, alpha: float) -> int:
    """Per group, two-sided test of two proportions, pooled variance under the null hypothesis."""
    pooled = (p1 + p2) / 2
    null = z(1 - alpha / 2) * math.sqrt(2 * pooled * (1 - pooled))
    alternative = z(power) * math.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
    return math.ceil(((null + alternative) / (p1 - p2)) ** 2)


def precision(p: float, margin: float, alpha: float) -> int:
    """Total, so that the confidence interval of a proportion is plus or minus `margin`."""
    return math.ceil(p * (1 - p) * (z(1 - alpha / 2) / margin) ** 2)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Sample sizes by normal approximation.")
    commands = parser.add_subparsers(dest="kind", required=True)
    options = {
        "means": ("difference", "sd"),
        "proportions": ("p1", "p2"),
        "precision": ("p", "margin"),
    }
    for kind, names in options.items():
        command = commands.add_parser(kind)
        for name in names:
            command.add_argument(f"--{name}", type=float, required=True)
        command.add_argument("--alpha", type=float, default=0.05)
        if kind != "precision":
            command.add_argument("--power", type=float, default=0.8)
    return parser


def main() -> int:
    args = build_parser().parse_args()
    if args.kind == "means":
        n = means(args.difference, args.sd, args.power, args.alpha)
    elif args.kind == "proportions":
        n = proportions(args.p1, args.p2, args.power, args.alpha)
    else:
        print(f"{precision(args.p, args.margin, args.alpha)} in total")
        return 0
    print(f"{n} per group, {2 * n} in total")
    return 0


if __name__ == "__main__":
    sys.exit(main())
