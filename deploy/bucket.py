"""The folder of a site in an S3 bucket, with one kind of error for all failures."""

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
)

DELETE_BATCH: Final = 1000  # the most keys that one DeleteObjects call takes
_LONGEST_PREFIX: Final = 700  # bytes
_BUCKET: Final = re.compile(r"(?=.{3,63}\Z)[a-z0-9]+(?:(?:-+|\.)[a-z0-9]+)*")
_ADDRESS: Final = re.compile(r"\d+\.\d+\.\d+\.\d+")
_RESERVED: Final = ("xn--", "sthree-", "amzn-s3-demo-")
_NO_CREDENTIALS: Final = (
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
)


class StoreError(Exception):
    """The store could not be reached or refused a request."""


class Target(NamedTuple):
    """A bucket and the folder in it; the prefix is empty or ends with a slash."""

    bucket: str
    prefix: str


def parse_target(url: str) -> Target:
    """Split `s3://bucket/prefix`; raise ValueError if S3 does not allow it."""
    scheme, _, rest = url.partition("://")
    bucket, _, prefix = rest.partition("/")
    if scheme != "s3" or not bucket:
        raise ValueError(f"the target must look like s3://bucket/prefix, got {url!r}")
    if not _is_bucket(bucket):
        raise ValueError(
            f"S3 allows no bucket called {bucket!r}: a name has 3 to 63 small letters, digits, "
            "dots and hyphens, begins and ends with a letter or digit, and is no IP address"
        )
    prefix = prefix.removesuffix("/")
    if prefix and {"", ".", ".."} & set(prefix.split("/")):
        raise ValueError(f"the prefix {prefix!r} has an empty part, '.' or '..': name folders only")
    if len(prefix.encode()) > _LONGEST_PREFIX or not prefix.isprintable():
        raise ValueError(
            f"the prefix must be printable and of {_LONGEST_PREFIX} bytes at most: S3 allows a key "
            "of 1,024, and the paths of the site come behind it"
        )
    return Target(bucket, f"{prefix}/" if prefix else "")


def _is_bucket(name: str) -> bool:
    """Whether S3 allows a bucket of that name."""
    return (
        _BUCKET.fullmatch(name) is not None
        and _ADDRESS.fullmatch(name) is None
        and not name.startswith(_RESERVED)
    )


def lacks_credentials(error: BaseException) -> bool:
    """Whether *error*, or what caused it, says that there are no usable credentials."""
    return isinstance(error, _NO_CREDENTIALS) or isinstance(error.__cause__, _NO_CREDENTIALS)


class Bucket:
    """Reads, writes and deletes paths of the site below the target's prefix."""

    def __init__(self, client: Any, target: Target) -> None:
        self._client = client
        self._target = target

    def get(self, path: str) -> bytes | None:
        """Return the bytes of an object, or None if it does not exist."""
        try:
            with _refusals(f"could not read {path}"):
                answer = self._client.get_object(Bucket=self._target.bucket, Key=self._key(path))
                data: bytes = answer["Body"].read()
                return data
        except StoreError as refused:
            if isinstance(refused.__cause__, ClientError) and _code(refused.__cause__) in _ABSENT:
                return None
            raise

    def put(self, path: str, data: bytes, *, content_type: str, cache_control: str) -> None:
        """Write one object; the store checks the bytes against their SHA-256."""
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode("ascii")
        with _refusals(f"could not upload {path}"):
            self._client.put_object(
                Bucket=self._target.bucket,
                Key=self._key(path),
                Body=data,
                ContentType=content_type,
                CacheControl=cache_control,
                ChecksumSHA256=digest,
            )

    def delete(self, paths: Sequence[str]) -> None:
        """Delete these objects; a missing one is not an error."""
        for first in range(0, len(paths), DELETE_BATCH):
            keys = [{"Key": self._key(path)} for path in paths[first : first + DELETE_BATCH]]
            with _refusals(f"could not delete {len(keys)} objects"):
                answer = self._client.delete_objects(
                    Bucket=self._target.bucket, Delete={"Objects": keys, "Quiet": True}
                )
            for failed in answer.get("Errors", ()):
                raise StoreError(f"could not delete {failed.get('Key')}: {failed.get('Message')}")

    def _key(self, path: str) -> str:
        return self._target.prefix + path


_ABSENT: Final = frozenset({"NoSuchKey", "404"})


def _code(error: ClientError) -> str:
    """Return the error code of the store."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    """Turn every error of the AWS library into StoreError, with the cause kept."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise StoreError(f"{what}: {error}") from error
