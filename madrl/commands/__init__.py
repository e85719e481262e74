"""The commands of ``madrl``, each one function of (parser, words); ``madrl.cli`` lists them."""
