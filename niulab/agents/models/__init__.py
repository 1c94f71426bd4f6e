"""Networks of torch, their weights in files, and Stable-Baselines3 around them."""
