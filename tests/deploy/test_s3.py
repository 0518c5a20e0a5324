"""The S3 deploy against a local store, over real HTTP."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import pytest
from botocore.exceptions import ClientError

from deploy.bucket import Bucket, StoreError, Target, parse_target
from deploy.s3 import PENDING, Options, main, publish

PREFIX = "course/"
FILES = {
    "404.html": "not here",
    "api/v1/catalog.json": '{"schemaVersion": 1}',
    "api/v1/lessons/read-a-lap.json": '{"id": "read-a-lap"}',
    "assets/site.0123456789ab.css": "body {}",
    "downloads/read-a-lap.ipynb": "{}",
    "index.html": '<link href="assets/site.0123456789ab.css">',
    "lessons/read-a-lap/index.html": "<h1>Read a lap</h1>",
    "lessons/read-a-lap/index.md": "# Read a lap",
}


def write_site(folder: Path, files: dict[str, str]) -> Path:
    """A small site with the manifest that a build would write."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    lines = [
        {"path": p, "bytes": len(t), "sha256": hashlib.sha256(t.encode()).hexdigest()}
        for p, t in sorted(files.items())
    ]
    manifest = {"schemaVersion": 1, "files": lines}
    (folder / "build-manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return write_site(tmp_path / "site", FILES)


def deploy(site: Path, endpoint: str, *flags: str) -> int:
    return main([str(site), "s3://paddock/course", "--endpoint-url", endpoint, *flags])


def keys(store: Any) -> set[str]:
    listed = store.list_objects_v2(Bucket="paddock").get("Contents", [])
    return {item["Key"].removeprefix(PREFIX) for item in listed}


def body(store: Any, path: str) -> str:
    data: bytes = store.get_object(Bucket="paddock", Key=PREFIX + path)["Body"].read()
    return data.decode()


class Watched:
    """A client that notes each write and refuses one of them."""

    def __init__(self, store: Any, refuse: str = "") -> None:
        self.store = store
        self.refuse = refuse
        self.writes: list[str] = []

    def get_object(self, **fields: Any) -> Any:
        return self.store.get_object(**fields)

    def put_object(self, **fields: Any) -> Any:
        path = fields["Key"].removeprefix(PREFIX)
        if path == self.refuse:
            raise ClientError({"Error": {"Code": "SlowDown", "Message": "later"}}, "PutObject")
        answer = self.store.put_object(**fields)
        self.writes.append(path)
        return answer

    def delete_objects(self, **fields: Any) -> Any:
        gone = [item["Key"].removeprefix(PREFIX) for item in fields["Delete"]["Objects"]]
        self.writes += [f"-{path}" for path in gone]
        return self.store.delete_objects(**fields)


def bucket(client: Any) -> Bucket:
    return Bucket(client, Target("paddock", PREFIX))


QUIET = Options(quiet=True)
PRUNE = Options(quiet=True, delete=True)


def test_a_deploy_uploads_what_changed_and_says_how_much(
    site: Path, endpoint: str, store: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy(site, endpoint) == 0
    assert keys(store) == {*FILES, "build-manifest.json"}
    assert capsys.readouterr().out.endswith("8 uploaded, 0 unchanged, 0 deleted\n")
    watched = Watched(store)
    publish(site, bucket(watched), PRUNE)
    assert watched.writes == []
    write_site(site, FILES | {"index.html": "changed"})
    assert deploy(site, endpoint) == 0
    assert capsys.readouterr().out == "uploaded index.html\n1 uploaded, 7 unchanged, 0 deleted\n"
    assert body(store, "index.html") == "changed"


def test_assets_go_first_and_pages_before_deletes_and_the_manifest(site: Path, store: Any) -> None:
    publish(write_site(site, FILES | {"old.html": "old"}), bucket(store), PRUNE)
    edited = {path: text + " " for path, text in FILES.items()}
    watched = Watched(store)
    publish(write_site(site, edited), bucket(watched), PRUNE)
    order = [w for w in watched.writes if w not in {PENDING, f"-{PENDING}"}]
    assert order[0] == "assets/site.0123456789ab.css"
    assert {w.endswith(".html") for w in order[1:5]} == {False}
    assert {w.endswith(".html") for w in order[5:8]} == {True}
    assert order[8:] == ["-old.html", "build-manifest.json"]
    assert (watched.writes[0], watched.writes[-1]) == (PENDING, f"-{PENDING}")


@pytest.mark.parametrize(
    ("path", "kind", "caching"),
    [
        ("index.html", "text/html; charset=utf-8", "public, max-age=0, must-revalidate"),
        (
            "assets/site.0123456789ab.css",
            "text/css; charset=utf-8",
            "public, max-age=31536000, immutable",
        ),
        (
            "downloads/read-a-lap.ipynb",
            "application/x-ipynb+json",
            "public, max-age=60, stale-while-revalidate=600",
        ),
    ],
)
def test_a_get_answers_with_the_headers_of_the_contract(
    site: Path, endpoint: str, store: Any, path: str, kind: str, caching: str
) -> None:
    deploy(site, endpoint)
    with urlopen(f"{endpoint}/paddock/{PREFIX}{path}") as answer:
        assert answer.headers["Content-Type"] == kind
        assert answer.headers["Cache-Control"] == caching
        assert answer.read().decode() == FILES[path]


def test_the_policy_lets_readers_get_objects_and_learn_that_one_is_missing(root: Path) -> None:
    text = (root / "deploy" / "s3-policy.json").read_text()
    rights = {s["Action"]: s["Resource"] for s in json.loads(text)["Statement"]}
    assert rights == {
        "s3:GetObject": "arn:aws:s3:::BUCKET/PREFIX/*",
        "s3:ListBucket": "arn:aws:s3:::BUCKET",
    }


def test_the_cors_rules_are_taken_and_only_allow_reading(root: Path, store: Any) -> None:
    rules = json.loads((root / "deploy" / "s3-cors.json").read_text())
    store.put_bucket_cors(Bucket="paddock", CORSConfiguration=rules)
    taken = store.get_bucket_cors(Bucket="paddock")["CORSRules"]
    assert [rule["AllowedMethods"] for rule in taken] == [["GET", "HEAD"]]


def test_files_that_the_site_no_longer_has_go_only_when_asked(
    site: Path, endpoint: str, store: Any
) -> None:
    store.put_object(Bucket="paddock", Key=f"{PREFIX}notes.txt", Body=b"not ours")
    deploy(write_site(site, FILES | {"gone/index.html": "bye"}), endpoint)
    write_site(site, FILES)
    assert deploy(site, endpoint) == 0
    write_site(site, FILES | {"index.html": "changed"})
    assert deploy(site, endpoint) == 0
    assert "gone/index.html" in keys(store)
    assert deploy(site, endpoint, "--delete") == 0
    assert keys(store) == {*FILES, "build-manifest.json", "notes.txt"}


@pytest.mark.parametrize("remote", [b"<html>", b'{"schemaVersion": 7, "files": []}'])
def test_a_foreign_manifest_means_upload_all_and_delete_nothing(
    site: Path, store: Any, remote: bytes
) -> None:
    store.put_object(Bucket="paddock", Key=f"{PREFIX}build-manifest.json", Body=remote)
    store.put_object(Bucket="paddock", Key=f"{PREFIX}other.txt", Body=b"other")
    plan = publish(site, bucket(store), PRUNE)
    assert (len(plan.changed), plan.obsolete) == (len(FILES), ())
    assert "other.txt" in keys(store)


def test_a_failure_in_the_middle_leaves_the_old_pages_whole(site: Path, store: Any) -> None:
    publish(site, bucket(store), QUIET)
    before = body(store, "build-manifest.json")
    edited = {p: "new" for p in FILES if not p.startswith("assets/")}
    write_site(site, edited | {"assets/site.ba9876543210.css": "new"})
    with pytest.raises(StoreError, match="later"):
        publish(site, bucket(Watched(store, refuse="api/v1/catalog.json")), PRUNE)
    assert body(store, "build-manifest.json") == before
    for path in FILES:
        if path.endswith(".html") or path.startswith("assets/"):
            assert body(store, path) == FILES[path]
    publish(site, bucket(store), PRUNE)
    assert {p: body(store, p) for p in edited} == edited
    assert keys(store) == {*edited, "assets/site.ba9876543210.css", "build-manifest.json"}


def test_older_pages_can_be_published_after_a_failure(site: Path, store: Any) -> None:
    publish(site, bucket(store), QUIET)
    write_site(site, dict.fromkeys(FILES, "new") | {"extra.json": "new"})
    with pytest.raises(StoreError):
        publish(site, bucket(Watched(store, refuse="index.html")), PRUNE)
    assert body(store, "api/v1/catalog.json") == "new"
    publish(write_site(site, FILES), bucket(store), PRUNE)
    assert {p: body(store, p) for p in FILES} == FILES
    assert keys(store) == {*FILES, "build-manifest.json"}


def test_a_dry_run_writes_nothing(
    site: Path, endpoint: str, store: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy(site, endpoint, "--dry-run") == 0
    out = capsys.readouterr().out
    assert "would upload index.html: text/html; charset=utf-8\n" in out
    assert out.endswith("8 to upload, 0 unchanged, 0 to delete\n")
    assert keys(store) == set()


def test_a_file_that_changed_after_the_build_is_refused(
    site: Path, endpoint: str, store: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "index.html").write_text("edited by hand")
    assert deploy(site, endpoint) == 2
    assert "differs from build-manifest.json: build again with --clean" in capsys.readouterr().err
    assert keys(store) == set()


def test_a_folder_that_is_no_site_is_refused(
    tmp_path: Path, endpoint: str, store: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy(tmp_path, endpoint) == 2
    assert "run build.py build first" in capsys.readouterr().err


def test_a_missing_bucket_is_reported_with_status_1(
    site: Path, endpoint: str, store: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(site), "s3://nowhere/course", "--endpoint-url", endpoint]) == 1
    assert "NoSuchBucket" in capsys.readouterr().err


def test_missing_credentials_are_named(
    site: Path, endpoint: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    assert deploy(site, endpoint) == 1
    said = capsys.readouterr().err
    assert "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in said
    assert "run the same command again" not in said
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    assert deploy(site, endpoint) == 1
    assert "or AWS_PROFILE to a configured profile" in capsys.readouterr().err


BUCKETS = ["ab", "a" * 64, "Paddock", "my_bucket", "-a-b", "a-b-", "a..b", "192.168.0.1", "xn--ab"]
TARGETS = [(f"s3://{name}/course", "S3 allows no bucket") for name in BUCKETS]
TARGETS += [
    (f"s3://paddock/{prefix}", "name folders only")
    for prefix in ("..", "a/../b", "a//b", "/a", "./a", "a/..", "a//")
]
TARGETS += [(f"s3://paddock/{prefix}", "must be printable") for prefix in ("ü" * 400, "a\tb")]
TARGETS += [(url, "s3://bucket/prefix") for url in ("paddock/course", "https://p/c", "s3:///x")]


@pytest.mark.parametrize(("url", "words"), TARGETS)
def test_a_bucket_or_prefix_that_s3_does_not_allow_is_refused(
    site: Path, url: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(site), url]) == 2
    assert words in capsys.readouterr().err


def test_the_script_called_by_its_file_says_how_to_run_it(root: Path) -> None:
    command = [sys.executable, str(root / "deploy/s3.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "run: python -m deploy.s3\n")


@pytest.mark.parametrize(
    ("url", "bucket", "prefix"),
    [
        ("s3://buc", "buc", ""),
        ("s3://my.bucket-1/", "my.bucket-1", ""),
        ("s3://1st--bucket/p", "1st--bucket", "p/"),
        (f"s3://{'a' * 63}/p/q/", "a" * 63, "p/q/"),
    ],
)
def test_an_allowed_target_is_taken_and_its_prefix_ends_with_a_slash(
    url: str, bucket: str, prefix: str
) -> None:
    assert parse_target(url) == Target(bucket, prefix)
