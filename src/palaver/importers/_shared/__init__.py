"""What importers of several platforms share: the contract, findings, and readers of common stores."""
