"""Lists the USB devices that may be CAN adapters."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from serial.tools import list_ports  # type: ignore[import-untyped]
from serial.tools.list_ports_common import ListPortInfo  # type: ignore[import-untyped]

Kind: TypeAlias = Literal["slcan", "pcan", "kvaser", "obd2", "unknown"]

KNOWN: Final[Mapping[tuple[int | None, int | None], tuple[Kind, str | None]]] = {
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
    """The channel for a reader; for other than serial devices their place on the USB."""
    vid: str | None
    """Hexadecimal with prefix, four digits."""
    pid: str | None
    description: str
    manufacturer: str | None
    model: str | None
    kind: Kind
    is_known: bool


def list_usb_devices() -> tuple[UsbDevice, ...]:
    """List the plugged-in devices; asks the operating system, so not for the event loop."""
    ports = list_serial_devices(list_ports.comports())
    others = list_other_devices(SYSFS) if sys.platform == "linux" else ()
    return (*ports, *others)


def list_serial_devices(ports: Iterable[ListPortInfo]) -> tuple[UsbDevice, ...]:
    """List the serial ports on USB by name; built-in ones are not adapters."""
    return tuple(
        sorted(
            _describe_device(port.device, (port.vid, port.pid), port.description, port.manufacturer,
                    port.product)
            for port in ports
            if port.vid is not None or any(word in port.device for word in ("ACM", "USB", "usb"))
        )
    )  # fmt: skip


def list_other_devices(folder: Path) -> tuple[UsbDevice, ...]:
    """List known adapters that are not serial ports, from sysfs."""
    devices = []
    for place in folder.iterdir() if folder.is_dir() else ():
        try:
            ids = (
                int(_read_line(place, "idVendor") or "", 16),
                int(_read_line(place, "idProduct") or "", 16),
            )
        except ValueError:
            continue
        if ids in KNOWN and KNOWN[ids][0] in ("pcan", "kvaser"):
            product, maker = _read_line(place, "product"), _read_line(place, "manufacturer")
            devices.append(_describe_device(f"usb:{place.name}", ids, product, maker, product))
    return tuple(sorted(devices))


def _describe_device(
    device: str,
    ids: tuple[int | None, int | None],
    description: str | None,
    manufacturer: str | None,
    product: str | None,
) -> UsbDevice:
    kind, usual = KNOWN.get(ids, ("unknown", None))
    model = product or usual
    if not description or description == "n/a":
        description = model or device
    vid, pid = (None if number is None else f"0x{number:04x}" for number in ids)
    return UsbDevice(
        device,
        vid,
        pid,
        description[:_LONGEST],
        manufacturer[:_LONGEST] if manufacturer else None,
        model[:_LONGEST] if model else None,
        kind,
        usual is not None,
    )


def _read_line(place: Path, name: str) -> str | None:
    try:
        return (place / name).read_text(errors="replace").strip()[:_LONGEST] or None
    except OSError:
        return None
