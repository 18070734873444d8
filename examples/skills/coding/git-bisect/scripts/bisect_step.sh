#!/usr/bin/env bash
# One step for "git bisect run": build, then check.
#   CHECK    command that exits 0 when the revision is good (required)
#   BUILD    command to prepare the revision; a failure skips it (exit 125)
#   REPEAT   run CHECK this many times; one failure makes the revision bad (default 1)
#   LIMIT    seconds allowed for each run of CHECK (default 600); running into it counts as bad
set -u

check="${CHECK:?set CHECK to the command that tells good from bad}"
build="${BUILD:-true}"
repeat="${REPEAT:-1}"
limit="${LIMIT:-600}"
revision="$(git rev-parse --short HEAD)"

if ! bash -c "$build" >/tmp/bisect-build.log 2>&1; then
    echo "$revision: build failed, skipped (see /tmp/bisect-build.log)"
    exit 125
fi

for run in $(seq "$repeat"); do
    if ! timeout "$limit" bash -c "$check"; then
        echo "$revision: bad (run $run of $repeat)"
        exit 1
    fi
done
echo "$revision: good ($repeat of $repeat)"
