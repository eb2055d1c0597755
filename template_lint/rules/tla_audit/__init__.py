"""TLA: recorded rollouts, found by ``template-lint audit``."""
