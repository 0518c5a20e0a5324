"""Publishes a built site to S3: only what changed, in an order that keeps every page whole.

Run it from the project's folder: python -m deploy.s3 site s3://bucket/prefix
"""

import argparse
import hashlib
import sys

if not __package__:
    sys.exit("run: python -m deploy.s3")

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from deploy.bucket import Bucket, StoreError, lacks_credentials, parse_target
from deploy.plan import (
    MANIFEST,
    NEVER,
    Entry,
    ManifestError,
    Plan,
    cache_control,
    content_type,
    make_plan,
    read_manifest,
    write_manifest,
)

# Lists what a run is about to touch and goes when the run is complete: after a run that broke off,
# the next one knows which objects the manifest no longer describes, even when it goes back in time.
PENDING: Final = "build-manifest.pending.json"
WORKERS: Final = 8
AGAIN: Final = "the bucket keeps its old manifest; run the same command again"
NO_CREDENTIALS: Final = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a configured profile"
)


class SiteError(Exception):
    """The folder is not a site as build.py wrote it."""


class Options(NamedTuple):
    """What the command line asks for."""

    dry_run: bool = False
    delete: bool = False
    quiet: bool = False

    def say(self, line: str) -> None:
        """Print one line of progress."""
        if not self.quiet:
            print(line, flush=True)


def publish(site: Path, bucket: Bucket, options: Options) -> Plan:
    """Bring the bucket to the state of the site and return what that took."""
    new = load_site(site)
    old, unsure = _remote(bucket, MANIFEST), _remote(bucket, PENDING)
    plan = make_plan(new, old, frozenset(unsure))
    for entry in plan.changed:
        read_listed(site, entry)
    if options.dry_run:
        _describe(plan, options)
    elif plan.changed or unsure or (options.delete and plan.obsolete):
        journal = {entry.path: entry for entry in plan.changed} | unsure
        _put(bucket, PENDING, write_manifest(journal), NEVER)
        _upload(site, bucket, plan, options)
        if options.delete:
            bucket.delete(plan.obsolete)
            for path in plan.obsolete:
                options.say(f"deleted {path}")
        _put(bucket, MANIFEST, _final_manifest(site, new, old | unsure, plan, options))
        bucket.delete([PENDING])
    return plan


def load_site(site: Path) -> dict[str, Entry]:
    """The manifest of a built site, by path."""
    try:
        return read_manifest((site / MANIFEST).read_bytes())
    except OSError as error:
        raise SiteError(f"{site / MANIFEST} cannot be read: run build.py build first") from error
    except ManifestError as error:
        raise SiteError(f"{site / MANIFEST}: {error}") from error


def read_listed(site: Path, entry: Entry) -> bytes:
    """The bytes of one file, which must be those that the manifest lists."""
    try:
        data = (site / entry.path).read_bytes()
    except OSError as error:
        raise SiteError(
            f"{site / entry.path} is listed in {MANIFEST} but cannot be read"
        ) from error
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise SiteError(f"{site / entry.path} differs from {MANIFEST}: build again with --clean")
    return data


def _remote(bucket: Bucket, name: str) -> dict[str, Entry]:
    """A manifest in the bucket; empty when there is none or it is not one of ours."""
    data = bucket.get(name)
    try:
        return read_manifest(data) if data else {}
    except ManifestError:
        return {}


def _upload(site: Path, bucket: Bucket, plan: Plan, options: Options) -> None:
    """Upload stage by stage; the first failure cancels what has not begun."""

    def send(entry: Entry) -> None:
        _put(bucket, entry.path, read_listed(site, entry))
        options.say(f"uploaded {entry.path}")

    with ThreadPoolExecutor(WORKERS) as pool:
        for entries in plan.stages:
            futures = [pool.submit(send, entry) for entry in entries]
            try:
                for future in futures:
                    future.result()
            finally:
                for future in futures:
                    future.cancel()


def _put(bucket: Bucket, path: str, data: bytes, caching: str | None = None) -> None:
    """Upload one path of the site with the headers that its name asks for."""
    caching = caching or cache_control(path)
    bucket.put(path, data, content_type=content_type(path), cache_control=caching)


def _final_manifest(
    site: Path, new: Mapping[str, Entry], old: Mapping[str, Entry], plan: Plan, options: Options
) -> bytes:
    """The site's own manifest; what was left in the bucket stays listed for a later --delete."""
    if options.delete or not plan.obsolete:
        return (site / MANIFEST).read_bytes()
    return write_manifest({path: old[path] for path in plan.obsolete} | dict(new))


def _describe(plan: Plan, options: Options) -> None:
    """Say what a run would do."""
    for entry in plan.changed:
        options.say(f"would upload {entry.path}: {content_type(entry.path)}")
    for path in plan.obsolete if options.delete else ():
        options.say(f"would delete {path}")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m deploy.s3", description=__doc__)
    parser.add_argument("site", type=Path, help="the folder that build.py wrote")
    parser.add_argument("target", help="s3://bucket/prefix")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would happen, write nothing"
    )
    parser.add_argument(
        "--delete", action="store_true", help="delete what only the earlier deploy published"
    )
    parser.add_argument("--endpoint-url", help="an S3-compatible store instead of AWS")
    parser.add_argument("--quiet", action="store_true", help="print the closing line only")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 published, 1 the store refused, 2 wrong call or not a built site."""
    arguments = _arguments(argv)
    options = Options(arguments.dry_run, arguments.delete, arguments.quiet)
    try:
        target = parse_target(arguments.target)
        client = boto3.client(
            "s3",
            endpoint_url=arguments.endpoint_url,
            config=Config(
                max_pool_connections=WORKERS, retries={"mode": "standard", "max_attempts": 4}
            ),
        )
        plan = publish(arguments.site, Bucket(client, target), options)
    except (SiteError, ValueError) as error:
        print(f"s3: {error}", file=sys.stderr)
        return 2
    except (StoreError, BotoCoreError) as error:
        print(f"s3: {error}", file=sys.stderr)
        print(f"s3: {NO_CREDENTIALS if lacks_credentials(error) else AGAIN}", file=sys.stderr)
        return 1
    done = "to upload" if options.dry_run else "uploaded"
    left = "to delete" if options.dry_run else "deleted"
    gone = len(plan.obsolete) if options.delete else 0
    print(f"{len(plan.changed):,} {done}, {plan.unchanged:,} unchanged, {gone:,} {left}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
