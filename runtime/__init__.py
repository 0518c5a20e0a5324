"""The two servers of Paddock and the plumbing that they share."""

from typing import Final

VERSION: Final = "1.0.0"
"""The version of the distribution, of both servers and of their OpenAPI documents."""
