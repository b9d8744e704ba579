"""Roots of modules that are known, by what they do with a request. Others are not."""

LIBRARIES = frozenset(
    {
        "aiohappyeyeballs",
        "aiohttp",
        "anyio",
        "asyncio",
        "concurrent",
        "contextlib",
        "http",
        "httpcore",
        "httpcore2",
        "httpx",
        "httpx2",
        "queue",
        "requests",
        "socket",
        "ssl",
        "subprocess",
        "urllib",
        "urllib3",
        "yarl",
    }
)
"""Roots of modules that handle their own errors; what they caught was theirs."""

CLIENTS = frozenset(
    {"aiohttp", "http", "httpcore", "httpcore2", "httpx", "httpx2", "requests", "urllib", "urllib3"}
)
"""Those that make requests; code that they call is a hook, or overrides a method of theirs."""

ONCE = frozenset(
    {
        "exceptiongroup",
        "functools",
        "h11",
        "h2",
        "idna",
        "mcp",
        "outcome",
        "smtplib",
        "sniffio",
        "socks",
        "socksio",
        "trio",
        "truststore",
    }
)
"""Roots of other modules that are known not to send a call again."""

RETRIERS = frozenset(
    {
        "aiohttp_retry",
        "backoff",
        "failsafe",
        "google",
        "hyx",
        "httpx_retries",
        "opnieuw",
        "retry",
        "retry2",
        "retrying",
        "riprova",
        "stamina",
        "tenacity",
        "xmlrpc",
    }
)
"""Roots of packages that call again, wherever they lie; how often is not told."""
