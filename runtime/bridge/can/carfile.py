"""The shape of a car file, and the strict YAML that it is written in: every scalar stays text."""

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
"""In a binding: the value of the signal itself."""
_NUMBER: Final = re.compile(
    r"[-+]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][-+]?[0-9]{1,3})?"
)
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,18}|0[xX][0-9a-fA-F]{1,8}")
_SIGNAL: Final = re.compile(r"[A-Za-z0-9_.:/ %-]{1,128}")
_BOOLEANS: Final = ("true", "false", "yes", "no", "on", "off")

Binding: TypeAlias = str | float
"""A number is a constant, a text the name of a signal, `SELF` the signal itself."""


class CarError(ValueError):
    """A car file that cannot be used; the text names the place in it."""


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError("must be a text")
    if len(value) > 4000:
        raise ValueError("the text is too long")
    return value.strip()


def _number(value: object) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value) and math.isfinite(float(value)):
        return float(value)
    raise ValueError("must be a number")


def _integer(value: object) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value, 16 if value[:2] in ("0x", "0X") else 10)
    raise ValueError("must be a whole number")


def _signal(value: object) -> str:
    if isinstance(value, str) and _SIGNAL.fullmatch(value) and value.strip() == value:
        return value
    raise ValueError("must be the name of a signal")


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _flag(value: object) -> bool:
    if value in ("true", "false"):
        return value == "true"
    raise ValueError("must be true or false")


def _binding(value: object) -> Binding:
    if isinstance(value, str) and value.lower() in _BOOLEANS:
        raise ValueError("a boolean cannot be bound")
    if value == SELF:
        return SELF
    try:
        return _number(value)
    except ValueError:
        return _signal(value)


def _id(value: object) -> int:
    number = _integer(value)
    if not 0 <= number < 1 << 29:
        raise ValueError("must be a CAN id of 11 or 29 bits")
    return number


Text = Annotated[str, BeforeValidator(_text)]
Number = Annotated[float, BeforeValidator(_number)]
Integer = Annotated[int, BeforeValidator(_integer)]
Positive = Annotated[Number, Field(gt=0)]
Count = Annotated[Integer, Field(ge=0, le=1_000_000)]
Name = Annotated[str, BeforeValidator(_signal)]
Wheels = Annotated[tuple[Name, ...], BeforeValidator(_several), Field(min_length=1, max_length=8)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Bind = dict[Name, Annotated[Binding, BeforeValidator(_binding)]]
FrameId = Annotated[int, BeforeValidator(_id)]
Formula = Annotated[str, BeforeValidator(_text), Field(min_length=1)]
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
    """What connects the bus to this machine."""

    make: Text = ""
    model: Text = ""
    firmware: Text = ""
    port_settings: dict[str, Text] = {}
    slcan_frame_format: Text = ""


class PythonCan(_Block):
    """What the reader of the bus is started with where no flag says otherwise."""

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
    """What the two signs of a channel mean; to be verified on the first recording."""

    channel: Name
    positive: Text
    negative: Text


class Constraint(_Block):
    """What is known to be odd about a channel."""

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
    def _one(self) -> Self:
        if [self.sign_flip, self.bias is not None, self.formula is not None].count(True) != 1:
            raise ValueError("exactly one of sign_flip, bias and formula is needed")
        if self.bind and self.formula is None:
            raise ValueError("bind belongs to a formula")
        return self


class Derive(_Block):
    """A further signal, made of one signal."""

    name: Name
    formula: Formula
    bind: Bind


class Rule(_Block):
    """What happens to one signal of the bus."""

    apply: tuple[Apply, ...] = ()
    rename_to: Name | None = None
    canonical: Name | None = None
    derive: tuple[Derive, ...] = ()


class Derived(_Block):
    """A further signal, made of several."""

    formula: Formula
    bind: Bind


class GearInputs(_Block):
    """Signals that tell the gear."""

    rpm: Name
    wheels: Wheels
    """Speeds of driven wheels in km/h, whose mean counts."""


class GearParams(_Block):
    """What is between the engine and the road."""

    ratios: Annotated[tuple[Positive, ...], Field(min_length=1)]
    """From first gear up."""
    final_drive: Positive
    tyre_circumference_m: Positive
    min_speed_kmh: Positive = 5.0
    """A slower car is in neutral."""


class MethodUse(_Block):
    """The gear, from how fast the engine turns for each turn of the driven wheels."""

    method: Literal["rpm_over_wheel_speed_ratio"]
    inputs: GearInputs
    params: GearParams


class CarFile(_Block):
    """A whole car file."""

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
    """Read a car file; raises `CarError`, which names the place. Formulas are not compiled here."""
    tree: Tree = parse_yaml(data)
    try:
        return CarFile.model_validate({} if tree is None else tree)
    except ValidationError as error:
        raise CarError(first_fault(error)) from None


def first_fault(error: ValidationError) -> str:
    """The first problem in words, with its place as in ``a.b[0].c``."""
    problem = error.errors(include_url=False, include_input=False)[0]
    words = _WORDS.get(problem["type"])
    if words is None:
        words = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    where = ""
    for part in problem["loc"]:
        if isinstance(part, int):
            where += f"[{part}]"
        elif "[" not in part:  # what pydantic adds for keys and for the branches of a union
            where += f".{part}" if where else part
    return f"{where}: {words}" if where else words


def parse_yaml(data: bytes) -> Tree:
    """The data of one document: mappings, lists, texts, and None for a plain null.

    Numbers, dates and words such as ``no`` stay texts. Aliases, anchors, tags, directives, further
    documents, keys that come twice and nesting beyond `MAX_DEPTH` raise `CarError`, as does
    whatever is no YAML in UTF-8 of at most `MAX_BYTES`.
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
    return None if document is None else _tree(document)


def _check_events(text: str) -> None:
    depth = documents = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise _error(event, "aliases are not allowed")
        if isinstance(event, yaml.NodeEvent) and event.anchor:
            raise _error(event, "anchors are not allowed")
        if getattr(event, "tag", None):
            raise _error(event, "tags are not allowed")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1 or event.version or event.tags:
                raise _error(event, "one document without directives is allowed")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _error(event, f"nested deeper than {MAX_DEPTH}")


def _tree(node: yaml.Node) -> Tree:
    if isinstance(node, yaml.ScalarNode):
        return None if not node.style and node.value in _NULLS else str(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_tree(item) for item in node.value]
    entries: dict[str, Tree] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _error(key, "a key must be a text")
        if key.value in entries:
            raise _error(key, f"the key {key.value[:80]} comes twice")
        entries[key.value] = _tree(value)
    return entries


def _error(at: yaml.Event | yaml.Node, text: str) -> CarError:
    mark = at.start_mark
    return CarError(f"line {mark.line + 1}, column {mark.column + 1}: {text}" if mark else text)
