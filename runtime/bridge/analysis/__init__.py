"""Pure functions of a session that was driven: NumPy, and pydantic for what is kept as JSON.

A new analytic is a function of a `Drive` here, which returns a frozen dataclass: its annotations
say units and decimals, the texts below its fields are the descriptions in the API. A route in
`runtime.bridge.api` computes it for a `Subject` and answers with a model that holds it.
"""
