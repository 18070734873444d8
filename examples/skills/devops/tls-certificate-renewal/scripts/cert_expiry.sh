#!/usr/bin/env bash
# Days until TLS certificates expire.
# Usage: cert_expiry.sh TARGET...   TARGET is HOST, HOST:PORT or a PEM file.
# WARN_DAYS (default 21): exit status 1 if any certificate has fewer days left or cannot be read.
set -u

warn_days="${WARN_DAYS:-21}"
status=0

if [ "$#" -eq 0 ]; then
    echo "usage: $0 HOST[:PORT]|FILE..." >&2
    exit 2
fi

fetch() {
    if [ -f "$1" ]; then
        openssl x509 -in "$1" 2>/dev/null
        return
    fi
    local host="${1%%:*}" port=443
    case "$1" in *:*) port="${1##*:}" ;; esac
    timeout 10 openssl s_client -connect "$host:$port" -servername "$host" </dev/null 2>/dev/null |
        openssl x509 2>/dev/null
}

for target in "$@"; do
    if ! pem="$(fetch "$target")" || [ -z "$pem" ]; then
        printf '%-32s  no certificate\n' "$target"
        status=1
        continue
    fi
    end="$(openssl x509 -noout -enddate <<<"$pem" | cut -d= -f2)"
    subject="$(openssl x509 -noout -subject -nameopt RFC2253 <<<"$pem" | cut -d= -f2-)"
    issuer="$(openssl x509 -noout -issuer -nameopt RFC2253 <<<"$pem" | cut -d= -f2-)"
    days=$(($(($(date -d "$end" +%s) - $(date +%s))) / 86400))
    printf '%-32s  %5d days  until %s  %s  (issuer %s)\n' "$target" "$days" "$end" "$subject" "$issuer"
    if [ "$days" -lt "$warn_days" ]; then
        status=1
    fi
done
exit "$status"
