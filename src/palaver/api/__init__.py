"""The public library: conversations as typed objects, the archive, and helpers of the mapping specification."""
