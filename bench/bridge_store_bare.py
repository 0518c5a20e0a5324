"""A server that only reads a body and answers a little JSON: what aiohttp itself costs."""

import asyncio
import json
import sys

from aiohttp import web


async def answer(request: web.Request) -> web.Response:
    """As long an answer as that to a frame."""
    await request.read()
    body = b'{"saved":true,"session_id":"load0","frame_idx":123456}'
    return web.Response(body=body, content_type="application/json")


async def main() -> None:
    """Serve on a free port, which is told, until the process is ended."""
    app = web.Application()
    app.router.add_post("/session/{sid}/frame", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    sys.stdout.write(json.dumps({"port": runner.addresses[0][1]}) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
