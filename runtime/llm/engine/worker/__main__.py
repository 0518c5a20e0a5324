"""Start a worker process: `python -m runtime.llm.engine.worker`."""

from runtime.llm.engine.worker.threads import main

if __name__ == "__main__":
    main()
