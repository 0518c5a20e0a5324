"""What the status tells about the machine: never null, never a secret."""

import pytest

from runtime.llm.hostinfo import HostInfo, describe_linux

XEON = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)  Processor\n"
PI = "processor\t: 0\n\nSerial\t\t: 10000000abcdef01\nModel\t\t: Raspberry Pi 5\n"
DELL = {"product_name": "XPS 13 9310\n", "sys_vendor": "Dell Inc.\n"}
BLANK = {"product_name": "To Be Filled By O.E.M.", "sys_vendor": "Default string"}


@pytest.mark.parametrize(
    ("cpuinfo", "dmi", "model", "compatible", "processor", "told"),
    [
        (
            XEON,
            DELL,
            "",
            "",
            "",
            HostInfo("Intel(R) Xeon(R) Processor", "XPS 13 9310", "Dell Inc."),
        ),
        (XEON, BLANK, "", "", "", HostInfo("Intel(R) Xeon(R) Processor")),
        (
            PI,
            {},
            "Raspberry Pi 5 Model B Rev 1.0\0",
            "raspberrypi,5-model-b\0brcm,bcm2712\0",
            "aarch64",
            HostInfo("bcm2712", "Raspberry Pi 5 Model B Rev 1.0", "raspberrypi"),
        ),
        (PI, {}, "", "nonsense\0", "aarch64", HostInfo("Raspberry Pi 5")),
        ("", {}, "", "", "x86_64", HostInfo("x86_64")),
        ("", {}, "", "", "", HostInfo()),
        (
            "\x00\xff:::\n: \n",
            {"product_name": "\x1b"},
            "\n",
            ",\0",
            "",
            HostInfo(),
        ),
    ],
)
def test_linux_tells_chip_device_and_maker(
    cpuinfo: str,
    dmi: dict[str, str],
    model: str,
    compatible: str,
    processor: str,
    told: HostInfo,
) -> None:
    assert describe_linux(cpuinfo, dmi, model, compatible, processor) == told


def test_a_serial_number_is_never_told() -> None:
    assert "abcdef01" not in str(describe_linux(PI, {}, "", "", ""))
