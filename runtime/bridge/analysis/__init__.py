"""Pure functions on a driven session, with NumPy, and pydantic for results stored as JSON.

A new analytic is a function of a `Drive` here that returns a frozen dataclass: its annotations give
units and decimals, and the texts below its fields are the descriptions in the API. A route in
`runtime.bridge.api` computes it for a `Subject` and answers with a model that contains it.
"""
