"""The cold pressure that gives a wanted hot pressure, by the gas law."""

AIR_BAR = 1.013  # a gauge shows the pressure above that of the air around it
ZERO_C = 273.15


def gas_celsius(cold_bar: float, cold_c: float, hot_bar: float) -> float:
    """Temperature of the gas in a tyre whose pressure has risen at constant volume."""
    ratio = (hot_bar + AIR_BAR) / (cold_bar + AIR_BAR)
    return (cold_c + ZERO_C) * ratio - ZERO_C


def cold_for(wanted_bar: float, gas_c: float, air_c: float) -> float:
    """Gauge pressure to set at air_c so that wanted_bar is reached at gas_c."""
    ratio = (air_c + ZERO_C) / (gas_c + ZERO_C)
    return (wanted_bar + AIR_BAR) * ratio - AIR_BAR


gas_c = gas_celsius(cold_bar=1.80, cold_c=18, hot_bar=2.25)
print(f"gas in the hot tyre: {gas_c:.0f} C")
print("air C   set cold for 2.10 bar hot")
for air_c in (8, 18, 28):
    print(f"{air_c:5}   {cold_for(2.10, gas_c, air_c):.2f} bar")
