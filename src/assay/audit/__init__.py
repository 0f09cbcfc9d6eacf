"""The audit bundle, and the verification of a storage or a bundle."""
