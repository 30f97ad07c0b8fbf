"""How requests are read and answers written: shapes → json_route (bodies), paths (names), etags → answers."""
