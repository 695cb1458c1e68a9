"""Modelled seconds: a host and its devices, kept busy as the speeds of a model say."""
