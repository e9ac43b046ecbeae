"""What metro costs once per corpus, beside training a macro model."""
