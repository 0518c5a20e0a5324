"""The shape of a car file: what each block of it may hold, as written."""

import math
import re
from typing import Annotated, Final, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic import model_validator as validated

from runtime.bridge.can.faults import first_fault
from runtime.bridge.can.strictyaml import Tree, YamlError, parse_yaml

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
    if isinstance(value, float):
        return value
    if (
        isinstance(value, str)
        and _NUMBER.fullmatch(value)
        and math.isfinite(number := float(value))
    ):
        return number
    raise ValueError("must be a number")


def _integer(value: object) -> int:
    if isinstance(value, int):
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value, 16 if value[:2] in ("0x", "0X") else 10)
    raise ValueError("must be a whole number")


def _signal(value: object) -> str:
    if isinstance(value, str) and _SIGNAL.fullmatch(value) and value.strip() == value:
        return value
    raise ValueError("must be the name of a signal")


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


def _id(value: object) -> object:
    number = _integer(value)
    if not 0 <= number < 1 << 29:
        raise ValueError("must be a CAN id of 11 or 29 bits")
    return number


Text = Annotated[str, BeforeValidator(_text)]
Number = Annotated[float, BeforeValidator(_number)]
Integer = Annotated[int, BeforeValidator(_integer)]
Count = Annotated[Integer, Field(ge=0, le=1_000_000)]
Name = Annotated[str, BeforeValidator(_signal)]
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


class MethodUse(_Block):
    """A further signal, made by more than arithmetic."""

    method: Text
    inputs: dict[str, Name | tuple[Name, ...]]
    params: dict[str, Number | tuple[Number, ...]] = {}


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
    try:
        tree: Tree = parse_yaml(data)
        return CarFile.model_validate({} if tree is None else tree)
    except YamlError as error:
        raise CarError(str(error)) from None
    except ValidationError as error:
        raise CarError(first_fault(error)) from None
