"""A YAML file as data, with the place of everything in it: scalars, variables, problems → document → yamlfile."""
