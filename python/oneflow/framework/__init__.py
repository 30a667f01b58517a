"""What lies below the public names: dtypes, tensors' Python methods, random state, files."""
