"""Lists the USB devices that a CAN bus may be reached through."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from serial.tools import list_ports  # type: ignore[import-untyped]

Kind: TypeAlias = Literal["slcan", "pcan", "kvaser", "obd2", "unknown"]

KNOWN: Final[Mapping[tuple[int, int], tuple[Kind, str]]] = {
    (0x1D50, 0x606F): ("slcan", "CAN adapter"),
    (0x1D50, 0x604B): ("slcan", "CAN adapter"),
    (0x2341, 0x8051): ("slcan", "CAN adapter"),
    (0x0C72, 0x000C): ("pcan", "PCAN-USB"),
    (0x0BFD, 0x0117): ("kvaser", "Kvaser Leaf"),
    (0x0403, 0x6001): ("obd2", "serial bridge"),
    (0x1A86, 0x7523): ("slcan", "serial bridge"),
}
"""Kind and model by vendor and product id."""
SYSFS: Final = Path("/sys/bus/usb/devices")
_LONGEST: Final = 200


class UsbDevice(NamedTuple):
    """A device on USB."""

    device: str
    """What a reader is started with; for other than serial devices their place on the bus."""
    vid: str | None
    """Hexadecimal with prefix, four digits."""
    pid: str | None
    description: str
    manufacturer: str | None
    model: str | None
    kind: Kind
    is_known: bool


class Port(Protocol):
    """What pyserial says of a serial port."""

    device: str
    vid: int | None
    pid: int | None
    description: str
    manufacturer: str | None
    product: str | None


def usb_devices() -> tuple[UsbDevice, ...]:
    """What is plugged in; asks the operating system: for a thread, not for the event loop."""
    ports = serial_devices(list_ports.comports())
    others = other_devices(SYSFS) if sys.platform == "linux" else ()
    return (*ports, *others)


def serial_devices(ports: Iterable[Port]) -> tuple[UsbDevice, ...]:
    """The serial ports on USB, by name; built-in ones are no adapters."""
    found = []
    for port in ports:
        on_usb = port.vid is not None or any(word in port.device for word in ("ACM", "USB", "usb"))
        if on_usb:
            found.append(
                _device(
                    port.device,
                    port.vid,
                    port.pid,
                    port.description,
                    port.manufacturer,
                    port.product,
                )
            )
    return tuple(sorted(found))


def other_devices(folder: Path) -> tuple[UsbDevice, ...]:
    """Known adapters that are no serial ports, from the tree that Linux shows."""
    return tuple(sorted(_others(folder)))


def _others(folder: Path) -> Iterator[UsbDevice]:
    try:
        places = list(folder.iterdir())
    except OSError:
        return
    for place in places:
        try:
            ids = int(_line(place, "idVendor") or "", 16), int(_line(place, "idProduct") or "", 16)
        except ValueError:
            continue
        if ids in KNOWN and KNOWN[ids][0] in ("pcan", "kvaser"):
            product = _line(place, "product")
            yield _device(f"usb:{place.name}", *ids, product, _line(place, "manufacturer"), product)


def _device(
    device: str,
    vid: int | None,
    pid: int | None,
    description: str | None,
    manufacturer: str | None,
    product: str | None,
) -> UsbDevice:
    known = KNOWN.get((vid, pid)) if vid is not None and pid is not None else None
    kind, model = known or ("unknown", None)
    model = product or model
    if not description or description == "n/a":
        description = model or device
    return UsbDevice(
        device,
        None if vid is None else f"0x{vid:04x}",
        None if pid is None else f"0x{pid:04x}",
        description[:_LONGEST],
        manufacturer[:_LONGEST] if manufacturer else None,
        model[:_LONGEST] if model else None,
        kind,
        known is not None,
    )


def _line(place: Path, name: str) -> str | None:
    try:
        return (place / name).read_text(errors="replace").strip()[:_LONGEST] or None
    except OSError:
        return None
