"""Making every category reachable before training: ask for each by name, finetune without the names, select."""
