"""The models of a car file, and its strict YAML, in which every scalar stays text."""

import math
import re
from typing import Annotated, Final, Literal, Self, TypeAlias

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic import model_validator as validated

MAX_BYTES: Final = 256 << 10
MAX_DEPTH: Final = 20
_NULLS: Final = ("", "~", "null")

Tree: TypeAlias = str | list["Tree"] | dict[str, "Tree"] | None
_WORDS: Final = {
    "extra_forbidden": "unknown key",
    "missing": "is missing",
    "model_type": "must be a mapping",
    "dict_type": "must be a mapping",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
}
SELF: Final = "$self"
"""In a binding: the signal itself."""
_NUMBER: Final = re.compile(
    r"[-+]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][-+]?[0-9]{1,3})?"
)
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,18}|0[xX][0-9a-fA-F]{1,8}")
_SIGNAL: Final = re.compile(r"[A-Za-z0-9_.:/ %-]{1,128}")
_BOOLEANS: Final = ("true", "false", "yes", "no", "on", "off")

Binding: TypeAlias = str | float
"""A number is a constant, a text names a signal, `SELF` is the signal itself."""


class CarError(ValueError):
    """A car file that cannot be used; the text names the place of the error."""


def _read_text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError("must be a text")
    if len(value) > 4000:
        raise ValueError("the text is too long")
    return value.strip()


def _read_number(value: object) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value) and math.isfinite(float(value)):
        return float(value)
    raise ValueError("must be a number")


def _read_integer(value: object) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value, 16 if value[:2] in ("0x", "0X") else 10)
    raise ValueError("must be a whole number")


def _read_signal(value: object) -> str:
    if isinstance(value, str) and _SIGNAL.fullmatch(value) and value.strip() == value:
        return value
    raise ValueError("must be the name of a signal")


def _wrap_in_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _read_flag(value: object) -> bool:
    if value in ("true", "false"):
        return value == "true"
    raise ValueError("must be true or false")


def _read_binding(value: object) -> Binding:
    if isinstance(value, str) and value.lower() in _BOOLEANS:
        raise ValueError("a boolean cannot be bound")
    if value == SELF:
        return SELF
    try:
        return _read_number(value)
    except ValueError:
        return _read_signal(value)


def _read_id(value: object) -> int:
    number = _read_integer(value)
    if not 0 <= number < 1 << 29:
        raise ValueError("must be a CAN id of 11 or 29 bits")
    return number


Text = Annotated[str, BeforeValidator(_read_text)]
Number = Annotated[float, BeforeValidator(_read_number)]
Integer = Annotated[int, BeforeValidator(_read_integer)]
Positive = Annotated[Number, Field(gt=0)]
Count = Annotated[Integer, Field(ge=0, le=1_000_000)]
Name = Annotated[str, BeforeValidator(_read_signal)]
Wheels = Annotated[
    tuple[Name, ...], BeforeValidator(_wrap_in_list), Field(min_length=1, max_length=8)
]
Flag = Annotated[bool, BeforeValidator(_read_flag)]
Bind = dict[Name, Annotated[Binding, BeforeValidator(_read_binding)]]
FrameId = Annotated[int, BeforeValidator(_read_id)]
Formula = Annotated[str, BeforeValidator(_read_text), Field(min_length=1)]
Bitrate = Annotated[Integer, Field(gt=0, le=8_000_000)]
Rate = Annotated[Number, Field(gt=0, le=10_000)]


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Car(_Block):
    """The car itself."""

    make: Text = ""
    model: Text = ""
    chassis: Text = ""
    year: Annotated[Integer, Field(ge=1880, le=2200)] | None = None
    engine: Text = ""
    notes: Text = ""


class DashLogger(_Block):
    """The device that sends on the bus."""

    make: Text = ""
    model: Text = ""
    output_port: Text = ""
    protocol: Text = ""
    total_frames: Count = 0
    total_channels: Count = 0


class CanBus(_Block):
    """The bus that the logger sends on."""

    name: Text = ""
    bitrate_bps: Bitrate | None = None
    frame_format: Text = ""
    id_width: Annotated[Integer, Field(ge=11, le=29)] | None = None
    byte_order: Text = ""
    dlc: Annotated[Integer, Field(ge=0, le=64)] | None = None


class UsbAdapter(_Block):
    """The adapter between the bus and this machine."""

    make: Text = ""
    model: Text = ""
    firmware: Text = ""
    port_settings: dict[str, Text] = {}
    slcan_frame_format: Text = ""


class PythonCan(_Block):
    """Settings of the bus reader unless flags override them."""

    interface: Text = ""
    channel: Text = ""
    bitrate: Bitrate | None = None
    tty_baudrate: Annotated[Integer, Field(gt=0, le=20_000_000)] | None = Field(
        None, alias="ttyBaudrate"
    )


class Frame(_Block):
    """One message of the bus."""

    dbc_message: Text = ""
    rate_hz: Rate | None = None
    channels: tuple[Name, ...] = ()
    note: Text = ""
    source: Text = ""
    roles: dict[Name, Text] = {}


class SignedChannel(_Block):
    """The meaning of the signs of a channel, to be verified on the first recording."""

    channel: Name
    positive: Text
    negative: Text


class Constraint(_Block):
    """A known peculiarity of a channel."""

    status: Text = ""
    reason: Text = ""
    role: Text = ""
    caveat: Text = ""
    derived_replacement: Text = ""


class Apply(_Block):
    """One step that changes the value of a signal."""

    sign_flip: Flag = False
    bias: Number | None = None
    formula: Formula | None = None
    bind: Bind = {}

    @validated(mode="after")
    def _require_exactly_one(self) -> Self:
        if [self.sign_flip, self.bias is not None, self.formula is not None].count(True) != 1:
            raise ValueError("exactly one of sign_flip, bias and formula is needed")
        if self.bind and self.formula is None:
            raise ValueError("bind belongs to a formula")
        return self


class Derive(_Block):
    """A further signal derived from one signal."""

    name: Name
    formula: Formula
    bind: Bind


class Rule(_Block):
    """The processing of one signal of the bus."""

    apply: tuple[Apply, ...] = ()
    rename_to: Name | None = None
    canonical: Name | None = None
    derive: tuple[Derive, ...] = ()


class Derived(_Block):
    """A further signal derived from several."""

    formula: Formula
    bind: Bind


class GearInputs(_Block):
    """The signals that determine the gear."""

    rpm: Name
    wheels: Wheels
    """Speeds of the driven wheels in km/h; their mean counts."""


class GearParams(_Block):
    """The drivetrain between engine and road."""

    ratios: Annotated[tuple[Positive, ...], Field(min_length=1)]
    """From first gear up."""
    final_drive: Positive
    tyre_circumference_m: Positive
    min_speed_kmh: Positive = 5.0
    """A slower car counts as in neutral."""


class MethodUse(_Block):
    """The gear, from engine speed per turn of the driven wheels."""

    method: Literal["rpm_over_wheel_speed_ratio"]
    inputs: GearInputs
    params: GearParams


class CarFile(_Block):
    """A car file."""

    car: Car
    dash_logger: DashLogger = DashLogger()
    wiring: object = None
    """For people."""
    collision_registry: object = None
    """For people."""
    can_bus: CanBus = CanBus()
    usb_adapter: UsbAdapter = UsbAdapter()
    python_can: PythonCan = PythonCan()
    frames: dict[FrameId, Frame] = {}
    """By arbitration id, in the order of the file."""
    signed_channels_first_capture_verify: tuple[SignedChannel, ...] = ()
    known_constraints: dict[Name, Constraint] = {}
    signals: dict[Name, Rule] = {}
    derived: dict[Name, Derived] = {}
    methods: dict[Name, MethodUse] = {}


def parse_car(data: bytes) -> CarFile:
    """Parse a car file without compiling its formulas; raises `CarError` with the place."""
    tree: Tree = parse_yaml(data)
    try:
        return CarFile.model_validate({} if tree is None else tree)
    except ValidationError as error:
        raise CarError(describe_first_error(error)) from None


def describe_first_error(error: ValidationError) -> str:
    """Describe the first error with its place, such as ``a.b[0].c``."""
    problem = error.errors(include_url=False, include_input=False)[0]
    words = _WORDS.get(problem["type"])
    if words is None:
        words = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    where = ""
    for part in problem["loc"]:
        if isinstance(part, int):
            where += f"[{part}]"
        elif "[" not in part:  # added by pydantic for keys and union branches
            where += f".{part}" if where else part
    return f"{where}: {words}" if where else words


def parse_yaml(data: bytes) -> Tree:
    """Parse one document into mappings, lists, texts, and None for a plain null.

    Numbers, dates and words such as ``no`` stay texts. Aliases, anchors, tags, directives, further
    documents, duplicate keys and nesting beyond `MAX_DEPTH` raise `CarError`, as does anything but
    UTF-8 YAML of at most `MAX_BYTES`.
    """
    if len(data) > MAX_BYTES:
        raise CarError(f"the file is larger than {MAX_BYTES // 1024} KiB")
    try:
        text = data.decode("utf-8-sig")
        _check_events(text)
        document = yaml.compose(text, Loader=yaml.CSafeLoader)
    except UnicodeDecodeError:
        raise CarError("the file is not UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise CarError(f"{where}{error.problem or 'not readable as YAML'}") from None
    except yaml.YAMLError as error:
        raise CarError(f"not readable as YAML: {str(error).splitlines()[0]}") from None
    return None if document is None else _build_tree(document)


def _check_events(text: str) -> None:
    depth = documents = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise _locate_error(event, "aliases are not allowed")
        if isinstance(event, yaml.NodeEvent) and event.anchor:
            raise _locate_error(event, "anchors are not allowed")
        if getattr(event, "tag", None):
            raise _locate_error(event, "tags are not allowed")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1 or event.version or event.tags:
                raise _locate_error(event, "one document without directives is allowed")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _locate_error(event, f"nested deeper than {MAX_DEPTH}")


def _build_tree(node: yaml.Node) -> Tree:
    if isinstance(node, yaml.ScalarNode):
        return None if not node.style and node.value in _NULLS else str(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_build_tree(item) for item in node.value]
    entries: dict[str, Tree] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _locate_error(key, "a key must be a text")
        if key.value in entries:
            raise _locate_error(key, f"the key {key.value[:80]} comes twice")
        entries[key.value] = _build_tree(value)
    return entries


def _locate_error(at: yaml.Event | yaml.Node, text: str) -> CarError:
    mark = at.start_mark
    return CarError(f"line {mark.line + 1}, column {mark.column + 1}: {text}" if mark else text)
