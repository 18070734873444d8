"""Match bank payments to open invoices, strict rules first.

Usage: python match_invoices.py invoices.csv payments.csv [--discount PERCENT]

invoices.csv: number,customer,amount        payments.csv: id,date,payer,text,amount
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path


@dataclass(frozen=True)
class Payment:
    id: str
    text: str
    payer: str
    amount: Decimal


@dataclass(frozen=True)
class Match:
    pile: str
    payment: Payment
    numbers: tuple[str, ...]
    note: str


def squeeze(text: str) -> str:
    """Upper case, letters and digits only: banks break references with blanks and hyphens."""
    return re.sub(r"[^A-Z0-9]", "", text.upper())


def read_invoices(path: Path) -> dict[str, Decimal]:
    with path.open(encoding="utf-8-sig", newline="") as handle:
        return {row["number"]: Decimal(row["amount"]) for row in csv.DictReader(handle)}


def read_payments(path: Path) -> list[Payment]:
    with path.open(encoding="utf-8-sig", newline="") as handle:
        return [
            Payment(row["id"], row["text"], row["payer"], Decimal(row["amount"]))
            for row in csv.DictReader(handle)
        ]


def named(payment: Payment, invoices: dict[str, Decimal]) -> tuple[str, ...]:
    """Invoices whose number stands in the text; longer numbers first, each place counts once."""
    text = squeeze(payment.text)
    hits = []
    for number in sorted(invoices, key=lambda n: (-len(squeeze(n)), n)):
        text, count = re.subn(rf"(?<!\d){re.escape(squeeze(number))}(?!\d)", " ", text)
        if count:
            hits.append(number)
    return tuple(sorted(hits))


def judge(total: Decimal, paid: Decimal, discount: Decimal) -> tuple[str, str]:
    """Pile and note for a payment that names its invoices."""
    short = total - paid
    if short == 0:
        return "matched", "reference and amount"
    if 0 < short <= (total * discount / 100).quantize(Decimal("0.01")):
        return "proposed", f"short by {short}, within the discount: check the date"
    return "proposed", f"part payment, {short} open" if short > 0 else f"overpaid by {-short}"


def match_references(
    left: dict[str, Decimal], payments: list[Payment], discount: Decimal
) -> tuple[list[Match], list[Payment]]:
    """Match by reference, removing what is paid from `left`; also the payments that remain."""
    pairs = [(payment, named(payment, left)) for payment in payments]
    # Exact amounts go first, so that a part payment cannot take the invoice of a full one.
    pairs.sort(key=lambda pair: sum((left[n] for n in pair[1]), Decimal(0)) != pair[0].amount)
    found, rest = [], []
    for payment, numbers in pairs:
        if not numbers or any(number not in left for number in numbers):
            rest.append(payment)
            continue
        total = sum((left.pop(number) for number in numbers), Decimal(0))
        pile, note = judge(total, payment.amount, discount)
        found.append(Match(pile, payment, numbers, note))
    return found, rest


def match_amounts(
    left: dict[str, Decimal], payments: list[Payment], known: dict[str, Decimal]
) -> tuple[list[Match], list[Payment]]:
    """Propose pairs by amount, where it is unique on both sides and no other invoice is named."""
    amounts = Counter(payment.amount for payment in payments)
    found, rest = [], []
    for payment in payments:
        fits = [number for number, amount in left.items() if amount == payment.amount]
        if len(fits) != 1 or amounts[payment.amount] != 1 or named(payment, known):
            rest.append(payment)
            continue
        left.pop(fits[0])
        note = f"amount only: is {payment.payer} the customer?"
        found.append(Match("proposed", payment, (fits[0],), note))
    return found, rest


def main() -> int:
    parser = argparse.ArgumentParser(description="Match bank payments to open invoices.")
    parser.add_argument("invoices", type=Path)
    parser.add_argument("payments", type=Path)
    parser.add_argument("--discount", type=Decimal, default=Decimal(0), help="in per cent")
    args = parser.parse_args()
    invoices = read_invoices(args.invoices)
    left = dict(invoices)
    found, rest = match_references(left, read_payments(args.payments), args.discount)
    by_amount, unmatched = match_amounts(left, rest, invoices)
    found += by_amount
    for pile in ("matched", "proposed"):
        lines = [m for m in found if m.pile == pile]
        print(f"{pile}: {len(lines)}, total {sum((m.payment.amount for m in lines), Decimal(0))}")
        for m in lines:
            print(f"  {m.payment.id}  {m.payment.amount}  {' + '.join(m.numbers)}  ({m.note})")
    print(f"open payments: {len(unmatched)}")
    for payment in unmatched:
        print(f"  {payment.id}  {payment.amount}  {payment.payer}: {payment.text}")
    print(f"open invoices: {len(left)}, total {sum(left.values(), Decimal(0))}")
    for number, amount in left.items():
        print(f"  {number}  {amount}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
