"""The retry guard on the pipe between any MCP client and any MCP server."""
