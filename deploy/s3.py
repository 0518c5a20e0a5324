"""Publishes a built site to S3: only what changed, in an order that keeps every page whole.

Run it from the project's folder: python -m deploy.s3 site s3://bucket/prefix
"""

import argparse
import hashlib
import sys

if not __package__:
    sys.exit("run: python -m deploy.s3")

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from course.publish.hosting import NEVER, Stage, cache_control, content_type, stage
from course.publish.tree import (
    MANIFEST,
    File,
    Manifest,
    ManifestError,
    encode_manifest,
    read_manifest,
)
from deploy.bucket import Bucket, StoreError, lacks_credentials, parse_target

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
    """Options of the command line."""

    dry_run: bool = False
    delete: bool = False
    quiet: bool = False

    def say(self, line: str) -> None:
        """Print one line of progress."""
        if not self.quiet:
            print(line, flush=True)


class Plan(NamedTuple):
    """The difference between a built site and what a bucket holds."""

    changed: tuple[str, ...]  # paths to upload, in the order of their stages
    unchanged: int
    obsolete: tuple[str, ...]  # paths that only the old site lists


def make_plan(new: Manifest, old: Manifest, unsure: Manifest) -> Plan:
    """Compare two sites; a path in `unsure` may hold anything: it goes up again or is obsolete."""
    changed = [
        path
        for path, file in new.items()
        if path in unsure or path not in old or old[path].sha256 != file.sha256
    ]
    obsolete = tuple(sorted((set(old) | set(unsure)) - set(new)))
    in_order = sorted(changed, key=lambda path: (stage(path), path))
    return Plan(tuple(in_order), len(new) - len(changed), obsolete)


def publish(site: Path, bucket: Bucket, options: Options) -> Plan:
    """Bring the bucket to the state of the site and return what that took."""
    new = load_site(site)
    old, unsure = _remote(bucket, MANIFEST), _remote(bucket, PENDING)
    plan = make_plan(new, old, unsure)
    changed = {path: new[path] for path in plan.changed}
    for path, file in changed.items():
        read_listed(site, path, file)
    if options.dry_run:
        _describe(plan, options)
    elif plan.changed or unsure or (options.delete and plan.obsolete):
        _upload_file(bucket, PENDING, encode_manifest(changed | unsure), NEVER)
        _upload(site, bucket, changed, options)
        if options.delete:
            bucket.delete(plan.obsolete)
            for path in plan.obsolete:
                options.say(f"deleted {path}")
        listed = (site / MANIFEST).read_bytes()
        if plan.obsolete and not options.delete:  # what is left stays listed for a later --delete
            left = {path: file for path, file in (old | unsure).items() if path in plan.obsolete}
            listed = encode_manifest(left | new)
        _upload_file(bucket, MANIFEST, listed)
        bucket.delete([PENDING])
    return plan


def load_site(site: Path) -> dict[str, File]:
    """The manifest of a built site, by path."""
    try:
        return read_manifest((site / MANIFEST).read_bytes())
    except OSError as error:
        raise SiteError(f"{site / MANIFEST} cannot be read: run build.py build first") from error
    except ManifestError as error:
        raise SiteError(f"{site / MANIFEST}: {error}") from error


def read_listed(site: Path, path: str, file: File) -> bytes:
    """Read a file and check it against the manifest."""
    try:
        data = (site / path).read_bytes()
    except OSError as error:
        raise SiteError(f"{site / path} is listed in {MANIFEST} but cannot be read") from error
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise SiteError(f"{site / path} differs from {MANIFEST}: build again with --clean")
    return data


def _remote(bucket: Bucket, name: str) -> dict[str, File]:
    """Read a manifest of the bucket; empty if there is none or it is not ours."""
    data = bucket.get(name)
    try:
        return read_manifest(data) if data else {}
    except ManifestError:
        return {}


def _upload(site: Path, bucket: Bucket, files: Manifest, options: Options) -> None:
    """Upload stage by stage; the first failure cancels the pending uploads."""

    def send(path: str) -> None:
        _upload_file(bucket, path, read_listed(site, path, files[path]))
        options.say(f"uploaded {path}")

    with ThreadPoolExecutor(WORKERS) as pool:
        for step in Stage:
            futures = [pool.submit(send, path) for path in files if stage(path) is step]
            try:
                for future in futures:
                    future.result()
            finally:
                for future in futures:
                    future.cancel()


def _upload_file(bucket: Bucket, path: str, data: bytes, caching: str | None = None) -> None:
    """Upload a file with the headers for its name."""
    caching = caching or cache_control(path)
    bucket.put(path, data, content_type=content_type(path), cache_control=caching)


def _describe(plan: Plan, options: Options) -> None:
    """Print what a run would do."""
    for path in plan.changed:
        options.say(f"would upload {path}: {content_type(path)}")
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
    count = "to upload" if options.dry_run else "uploaded"
    left = "to delete" if options.dry_run else "deleted"
    gone = len(plan.obsolete) if options.delete else 0
    print(f"{len(plan.changed):,} {count}, {plan.unchanged:,} unchanged, {gone:,} {left}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
