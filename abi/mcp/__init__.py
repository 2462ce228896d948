"""The workspace over the Model Context Protocol: agents, tools, prompts and what the graph holds, for any MCP client.

Everything is asked of the HTTP routes, in this process or in the one that serves the workspace, as whoever calls: so
what a key may do is decided in one place. The `mcp` package is an extra and is imported with the first client.
"""
