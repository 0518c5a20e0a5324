"""The list of adapters on USB."""

from pathlib import Path

from serial.tools.list_ports_common import ListPortInfo  # type: ignore[import-untyped]

from runtime.bridge.can.devices import (
    UsbDevice,
    list_other_devices,
    list_serial_devices,
)


def port(device: str, vid: int | None = None, pid: int | None = None, **texts: str) -> ListPortInfo:
    info = ListPortInfo(device, skip_link_detection=True)
    info.vid, info.pid = vid, pid
    for name, value in texts.items():
        setattr(info, name, value)
    return info


def test_known_adapters_are_named_by_vendor_and_product() -> None:
    ports = [
        port("/dev/ttyACM1", 0x1D50, 0x606F, description="CANable", manufacturer="Openlight Labs"),
        port("/dev/ttyUSB0", 0x0403, 0x6001, description="FT232R", product="FT232R USB UART"),
    ]
    assert list_serial_devices(ports) == (
        UsbDevice("/dev/ttyACM1", "0x1d50", "0x606f", "CANable", "Openlight Labs", "CAN adapter",
                  "slcan", True),
        UsbDevice("/dev/ttyUSB0", "0x0403", "0x6001", "FT232R", None, "FT232R USB UART",
                  "obd2", True),
    )  # fmt: skip


def test_other_serial_ports_on_usb_are_listed_and_built_in_ones_are_not() -> None:
    ports = [port("/dev/ttyUSB9"), port("/dev/ttyS0"), port("COM3", 0x1234, 0x5678)]
    assert [(device.device, device.vid, device.kind, device.is_known, device.description)
            for device in list_serial_devices(ports)] == [
        ("/dev/ttyUSB9", None, "unknown", False, "/dev/ttyUSB9"),
        ("COM3", "0x1234", "unknown", False, "COM3"),
    ]  # fmt: skip


def test_adapters_that_are_no_serial_ports_are_found_in_the_tree_of_linux(tmp_path: Path) -> None:
    def plug(place: str, **files: str) -> None:
        (tmp_path / place).mkdir()
        for name, text in files.items():
            (tmp_path / place / name).write_text(text + "\n")

    plug("1-1", idVendor="0c72", idProduct="000c", product="PCAN-USB", manufacturer="PEAK")
    plug("1-2", idVendor="0bfd", idProduct="0117")
    plug("1-3", idVendor="1d50", idProduct="606f")  # a serial port: in the other list
    plug("1-4", idVendor="zzzz", idProduct="0001")
    plug("usb1")
    assert list_other_devices(tmp_path) == (
        UsbDevice("usb:1-1", "0x0c72", "0x000c", "PCAN-USB", "PEAK", "PCAN-USB", "pcan", True),
        UsbDevice(
            "usb:1-2", "0x0bfd", "0x0117", "Kvaser Leaf", None, "Kvaser Leaf", "kvaser", True
        ),
    )
    assert list_other_devices(tmp_path / "nowhere") == ()
