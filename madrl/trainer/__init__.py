"""The only folder that imports veRL: the plug-ins that its v1 trainer loads by configuration, and the launcher."""
